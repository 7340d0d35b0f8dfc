#include "git/state.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/fd.h"
#include "base/parse.h"
#include "base/text.h"
#include "realm/disk_path.h"

namespace lockkeeper::git {
namespace {

constexpr std::size_t kPointerBytesMax = 64U << 10;

bool is_there(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0;
}

}  // namespace

Result<std::string> own_git_folder(const std::string& worktree) {
  std::string path = realm::join_path(worktree, ".git");
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    return fail(Code::kNotFound, shown(worktree) + " is not a worktree: it has no .git");
  }
  if (S_ISDIR(info.st_mode)) return path;
  LK_ASSIGN(const std::string text, read_file(path, kPointerBytesMax));
  constexpr std::string_view kWord = "gitdir: ";
  const std::size_t end = std::min(text.find_last_not_of("\r\n") + 1, text.size());
  if (!text.starts_with(kWord) || end <= kWord.size()) {
    return fail(Code::kNotFound, shown(path) + " does not name a git folder");
  }
  const std::string named = text.substr(kWord.size(), end - kWord.size());
  return named.starts_with('/') ? named : realm::join_path(worktree, named);
}

Operation current_operation(const std::string& own_git_folder) {
  const auto has = [&](const char* name) {
    return is_there(realm::join_path(own_git_folder, name));
  };
  // A pick or an am in a rebase is the rebase's.
  if (has("rebase-merge")) return Operation::kRebase;
  if (has("rebase-apply")) {
    return has("rebase-apply/applying") ? Operation::kAm : Operation::kRebase;
  }
  if (has("MERGE_HEAD")) return Operation::kMerge;
  if (has("CHERRY_PICK_HEAD")) return Operation::kCherryPick;
  // A revert without a conflict leaves nothing but its message.
  const auto message = read_file(realm::join_path(own_git_folder, "MERGE_MSG"), kPointerBytesMax);
  const bool reverts = message && message->contains("This reverts commit ");
  if (reverts || has("REVERT_HEAD")) return Operation::kRevert;
  return Operation::kNone;
}

std::string_view operation_name(Operation operation) {
  switch (operation) {
    case Operation::kNone:
      return "commit";
    case Operation::kMerge:
      return "merge";
    case Operation::kCherryPick:
      return "cherry-pick";
    case Operation::kRevert:
      return "revert";
    case Operation::kRebase:
      return "rebase";
    case Operation::kAm:
      return "am";
  }
  return "commit";
}

std::optional<std::string> head_in_files(const std::string& own_git_folder,
                                         const std::string& common_folder) {
  auto text = read_file(realm::join_path(own_git_folder, "HEAD"), kPointerBytesMax);
  constexpr std::string_view kRef = "ref: refs/heads/";
  if (text && text->starts_with(kRef)) {
    const std::string name = text->substr(5, text->find_last_not_of("\r\n") - 4);
    text = read_file(realm::join_path(common_folder, name), kPointerBytesMax);
  }
  if (!text || !text->ends_with('\n')) return std::nullopt;
  text->pop_back();
  const bool id = (text->size() == 40 || text->size() == 64) &&
                  text->find_first_not_of("0123456789abcdef") == std::string::npos;
  return id ? std::optional(std::move(*text)) : std::nullopt;
}

std::vector<std::string> merge_heads(const std::string& own_git_folder) {
  const auto text = read_file(realm::join_path(own_git_folder, "MERGE_HEAD"), kPointerBytesMax);
  return text ? words_in(*text, "\n") : std::vector<std::string>();
}

std::vector<HeadFolder> head_folders(const std::string& common_folder) {
  std::vector<HeadFolder> found;
  constexpr std::string_view kGit = "/.git";
  if (common_folder.ends_with(kGit)) {
    found.push_back({common_folder.substr(0, common_folder.size() - kGit.size()), common_folder});
  }
  std::error_code failed;
  const std::filesystem::path folder = realm::join_path(common_folder, "worktrees");
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const std::string own = entry.path().string();
    const auto text = read_file(realm::join_path(own, "gitdir"), kPointerBytesMax);
    const std::string named = text ? text->substr(0, text->find_last_not_of("\r\n") + 1) : "";
    if (!named.starts_with('/') || !named.ends_with(kGit)) continue;
    found.push_back({named.substr(0, named.size() - kGit.size()), own});
  }
  return found;
}

Result<std::vector<Worktree>> worktrees(const Reader& reader) {
  LK_ASSIGN(const std::string answer, reader.ask({"worktree", "list", "--porcelain", "-z"}));
  std::vector<Worktree> found;
  for (const std::string& line : split_at_nul(answer)) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string word = line.substr(0, blank);
    const std::string rest = line.substr(std::min(blank + 1, line.size()));
    if (word == "worktree") {
      found.push_back({.path = rest, .head = {}, .branch = {}});
    } else if (found.empty()) {
      return fail(Code::kFailed, "git's list of worktrees was not understood: " + shown(line));
    } else if (word == "HEAD") {
      const bool none = rest.find_first_not_of('0') == std::string::npos;
      if (!none) found.back().head = rest;
    } else if (word == "branch") {
      found.back().branch = rest;
    } else if (word == "bare") {
      found.back().bare = true;
    } else if (word == "prunable") {
      found.back().prunable = true;
    }
  }
  return found;
}

}  // namespace lockkeeper::git
