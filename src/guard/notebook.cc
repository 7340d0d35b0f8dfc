#include "guard/notebook.h"

#include <unistd.h>

#include "base/bytes.h"
#include "git/reader.h"

namespace lockkeeper::guard {
namespace {

constexpr const char* kFolderName = "git";
constexpr const char* kRefusedFile = "refused";
constexpr const char* kMarkedFile = "marked";
constexpr std::size_t kNotesBytesMax = 4U << 20;
// Old lines go: half of them, once there are so many bytes.
constexpr std::size_t kLinesBytesMax = 256U << 10;
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

std::string Notebook::head(const std::string& worktree) const {
  return text_of(of_worktree("head", worktree));
}

void Notebook::put_head(const std::string& worktree, const std::string& commit) const {
  put(of_worktree("head", worktree), commit);
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
