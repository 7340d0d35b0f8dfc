#include "guard/notebook.h"

#include <unistd.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/parse.h"
#include "git/reader.h"

namespace lockkeeper::guard {
namespace {

constexpr const char* kFolderName = "git";
constexpr const char* kRefusedFile = "refused";
constexpr const char* kMarkedFile = "marked";
constexpr std::size_t kNotesBytesMax = 4U << 20;
// Old lines go: half of them, once there are so many bytes.
constexpr std::size_t kLinesBytesMax = 256U << 10;
constexpr std::size_t kCommittedMax = 2'000;
constexpr std::int64_t kLockWaitMs = 500;

std::string of_worktree(const char* what, const std::string& worktree) {
  std::string bytes;
  append_be64(bytes, hash64(worktree));
  return std::string(what) + "-" + to_hex(bytes);
}

std::string passed_text(int git_pid, std::uint64_t index_stamp) {
  return std::to_string(git_pid) + " " + std::to_string(index_stamp);
}

// Two fields and a NUL after each: a path may have any other byte.
std::vector<std::pair<std::string, std::string>> pairs_of(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> found;
  const std::vector<std::string> parts = git::split_at_nul(text);
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) found.emplace_back(parts[i], parts[i + 1]);
  return found;
}

std::string pair_text(const std::string& first, const std::string& second) {
  std::string text = first;
  return text.append(1, '\0').append(second).append(1, '\0');
}

}  // namespace

std::optional<Notebook> Notebook::open(const realm::Realm& realm) {
  const auto store = Folder::open(realm.store_folder, "", Folder::Kind::kPrivate);
  if (!store) return std::nullopt;
  auto folder = store->folder(kFolderName);
  if (!folder) return std::nullopt;
  return Notebook(std::move(*folder));
}

std::string Notebook::text_of(const std::string& name) const {
  auto text = folder_.read(name, kNotesBytesMax);
  return text && *text ? std::move(**text) : std::string();
}

// Not durable: after a crash the old text, or none, does no harm.
void Notebook::put(const std::string& name, const std::string& text) const {
  // Hooks of two worktrees write the same note at the same time.
  const std::string fresh = name + ".new-" + std::to_string(::getpid());
  static_cast<void>(folder_.remove(fresh));
  if (folder_.create_file(fresh, text)) static_cast<void>(folder_.rename(fresh, folder_, name));
}

KnownHead Notebook::head(const std::string& worktree) const {
  const std::vector<std::string> words = words_in(text_of(of_worktree("head", worktree)), " ");
  if (words.empty()) return {};
  const auto bytes = number_in<std::uint64_t>(words.back());
  return {words.front(), words.size() == 2 && bytes ? *bytes : 0};
}

void Notebook::put_head(const std::string& worktree, const KnownHead& known) const {
  put(of_worktree("head", worktree), known.commit + " " + std::to_string(known.log_bytes));
}

void Notebook::add_committed(const std::string& worktree,
                             const std::vector<Committed>& added) const {
  if (added.empty()) return;
  const auto lock = folder_.lock("lock", kLockWaitMs);
  std::vector<Committed> all = committed(worktree);
  for (const Committed& one : added) {
    std::erase_if(all, [&](const Committed& known) {
      return known.path == one.path && known.owner == one.owner;
    });
    all.push_back(one);
  }
  std::string text;
  const std::size_t first = all.size() - std::min(all.size(), kCommittedMax);
  for (std::size_t i = first; i < all.size(); ++i) {
    const Committed& one = all[i];
    text += pair_text(one.commit, one.path) + pair_text(one.content, one.owner.agent) +
            pair_text(one.owner.session, std::to_string(one.at_wall_ms));
  }
  put(of_worktree("committed", worktree), text);
}

std::vector<Committed> Notebook::committed(const std::string& worktree) const {
  std::vector<Committed> found;
  const auto pairs = pairs_of(text_of(of_worktree("committed", worktree)));
  for (std::size_t i = 0; i + 2 < pairs.size(); i += 3) {
    const auto at = number_in<std::int64_t>(pairs[i + 2].second);
    if (!at) break;
    found.push_back({.commit = pairs[i].first,
                     .path = pairs[i].second,
                     .content = pairs[i + 1].first,
                     .owner = {pairs[i + 1].second, pairs[i + 2].first},
                     .at_wall_ms = *at});
  }
  return found;
}

void Notebook::put_passed(const std::string& worktree, int git_pid,
                          std::uint64_t index_stamp) const {
  put(of_worktree("passed", worktree), passed_text(git_pid, index_stamp));
}

bool Notebook::has_passed(const std::string& worktree, int git_pid,
                          std::uint64_t index_stamp) const {
  return text_of(of_worktree("passed", worktree)) == passed_text(git_pid, index_stamp);
}

void Notebook::append_lines(const std::string& name, const std::string& lines) const {
  const auto lock = folder_.lock("lock", kLockWaitMs);
  std::string text = text_of(name);
  if (text.size() > kLinesBytesMax) {
    const auto pairs = pairs_of(text);
    text.clear();
    for (std::size_t i = pairs.size() / 2; i < pairs.size(); ++i) {
      text += pair_text(pairs[i].first, pairs[i].second);
    }
  }
  put(name, text + lines);
}

void Notebook::add_refused(const std::vector<Refused>& refused) const {
  std::string lines;
  for (const Refused& one : refused) lines += pair_text(one.path, one.id);
  if (!lines.empty()) append_lines(kRefusedFile, lines);
}

std::vector<Refused> Notebook::refused() const {
  std::vector<Refused> found;
  for (auto& [path, id] : pairs_of(text_of(kRefusedFile))) {
    found.push_back({std::move(path), std::move(id)});
  }
  return found;
}

void Notebook::mark(const Marked& marked) const {
  append_lines(kMarkedFile, pair_text(marked.commit, marked.why));
}

std::vector<Marked> Notebook::marked() const {
  std::vector<Marked> found;
  for (auto& [commit, why] : pairs_of(text_of(kMarkedFile))) {
    found.push_back({std::move(commit), std::move(why)});
  }
  return found;
}

}  // namespace lockkeeper::guard
