// What a shell remembers: folders, variables, and what the text has made.
#include <algorithm>
#include <utility>

#include "base/parse.h"
#include "base/text.h"
#include "enforce/shell/reader.h"
#include "enforce/shell/word.h"

namespace lockkeeper::enforce::shell {
namespace {

constexpr std::size_t kFolderBytesMax = 4096;
constexpr std::size_t kMadeMax = 256;

// "$T" and ${T} are the same.
std::string bare(const std::string& typed) {
  std::string text = typed;
  std::erase_if(text, [](char c) { return c == '"' || c == '{' || c == '}'; });
  return text;
}

bool has_above(const std::set<std::string, std::less<>>& paths, std::string_view path) {
  if (paths.empty()) return false;
  for (;;) {
    if (paths.contains(path)) return true;
    const std::size_t slash = path.rfind('/');
    if (slash == std::string_view::npos || slash == 0) return false;
    path = path.substr(0, slash);
  }
}

}  // namespace

void Memory::set(const std::string& name, Word&& value) {
  if (spoiled.contains(name)) return;
  if (!variables.try_emplace(name, std::move(value)).second) spoil(name);
}

void Memory::set_words(const std::string& name, const Words& words, bool appends) {
  Word value{.fields = true};
  const auto known = variables.find(name);
  if (appends && known != variables.end()) value = known->second;
  for (const Word& word : words) {
    value.text += (value.text.empty() ? std::string() : std::string(1, kFieldEnd)) + word.text;
    value.known = value.known && word.known;
  }
  const bool other = known != variables.end() && !appends;
  if (other || value.text.size() > kTextBytesMax) return spoil(name);
  if (!spoiled.contains(name)) variables.insert_or_assign(name, std::move(value));
}

void Memory::spoil(const std::string& name) {
  variables.erase(name);
  spoiled.insert(name);
}

void Memory::add_elsewhere(const Folder& one) {
  const bool here = !folder.known || one == folder;
  if (here || std::ranges::find(elsewhere, one) != elsewhere.end()) return;
  if (elsewhere.size() < kElsewhereMax) elsewhere.push_back(one);
}

bool Memory::is_made(const std::string& path) const {
  return has_above(made, path) || has_above(fresh, path);
}

Folder folder_below(const Folder& from, std::string_view path) {
  if (path.starts_with('/')) return {std::string(path), path.size() <= kFolderBytesMax};
  if (!from.known || from.path.size() + path.size() > kFolderBytesMax) return {{}, false};
  if (path.empty() || path == ".") return from;
  return {from.path.empty() ? std::string(path) : from.path + "/" + std::string(path), true};
}

// As `cd` goes: x/.. is where one was, whatever x is.
Folder logical(Folder folder) {
  if (!folder.known) return folder;
  std::vector<std::string> kept;
  const bool absolute = folder.path.starts_with('/');
  for (std::string& name : words_in(folder.path, "/")) {
    const bool up = name == "..";
    if (name == "." || (up && absolute && kept.empty())) continue;
    if (up && !kept.empty() && kept.back() != "..") {
      kept.pop_back();
    } else {
      kept.push_back(std::move(name));
    }
  }
  folder.path = (absolute ? "/" : "") + join(kept, "/");
  return folder;
}

Folder folder_at(const Folder& from, const Word& word, const Memory& memory) {
  if (!word.known || word.pattern || word.fields) {
    return {{}, false, memory.fresh.contains(bare(word.typed))};
  }
  Folder folder = folder_below(from, word.text);
  const bool below = !word.text.starts_with('/') && word.text.find("..") == std::string::npos;
  folder.fresh = folder.known ? has_above(memory.fresh, logical(folder).path) : from.fresh && below;
  if (folder.path.size() > kFolderBytesMax) return {{}, false};
  return folder;
}

void remember_made(const Word& word, bool repository, const Folder& from, const Reading& reading,
                   Memory& memory) {
  if (memory.made.size() + memory.fresh.size() >= kMadeMax) return;
  if (!word.known || word.pattern) {
    if (repository) memory.fresh.insert(bare(word.typed));
    return;
  }
  const Folder folder = logical(folder_below(from, word.text));
  // One that is there already may have others' work.
  if (!folder.known || reading.exists(folder.path.empty() ? ".git" : folder.path + "/.git")) return;
  if (!folder.path.empty()) memory.made.insert(folder.path);
  if (repository) memory.fresh.insert(folder.path);
  const bool inside = repository && memory.folder.known;
  if (inside && has_above(memory.fresh, memory.folder.path)) memory.folder.fresh = true;
}

std::optional<std::string> temporary_path(const Words& words, const Reading& reading) {
  std::string folder = reading.outer("TMPDIR").value_or("/tmp");
  std::string name;
  bool in_folder = false;
  for (std::size_t at = 1; at < words.size(); ++at) {
    const std::string& text = words[at].text;
    if (!words[at].known) return std::nullopt;
    if (text == "-p" && at + 1 < words.size()) {
      folder = words[++at].text;
    } else if (text.starts_with("--tmpdir=")) {
      folder = text.substr(text.find('=') + 1);
    } else if (!text.starts_with('-')) {
      name = text;
      continue;
    }
    const bool is_short = !text.starts_with("--");
    in_folder = in_folder || text == "-p" || text.starts_with("--tmpdir") ||
                (is_short && text.find('t') != std::string::npos);
  }
  if (name.starts_with('/') && !in_folder) return name;
  if (!folder.starts_with('/') || (!name.empty() && !in_folder)) return std::nullopt;
  return folder + "/" + (name.empty() ? "tmp.XXXXXXXXXX" : name);
}

}  // namespace lockkeeper::enforce::shell
