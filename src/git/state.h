// What a repository is in the middle of, and its worktrees.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "git/reader.h"

namespace lockkeeper::git {

// The folder of one worktree's own HEAD and index: ".git", or that of `git worktree add`. Absolute.
// Git is not started. not_found: there is none.
Result<std::string> own_git_folder(const std::string& worktree);

// What git is doing, or was doing when it stopped.
enum class Operation { kNone, kMerge, kCherryPick, kRevert, kRebase, kAm };

// As git itself tells: by the files in the worktree's own git folder. Git is not started.
Operation current_operation(const std::string& own_git_folder);
std::string_view operation_name(Operation operation);  // "merge", "cherry-pick", …; "commit"

// The commit that HEAD is, read from git's files. nullopt: they do not tell, and git must be asked.
std::optional<std::string> head_in_files(const std::string& own_git_folder,
                                         const std::string& common_folder);

// The commits that a merge in progress brings in, in order. Empty: there is none.
std::vector<std::string> merge_heads(const std::string& own_git_folder);

// The worktrees that the files of a repository tell of, and where each has its HEAD. Git is not
// started. `common_folder`: of the repository.
struct HeadFolder {
  std::string worktree;  // absolute
  std::string own_git_folder;
};
std::vector<HeadFolder> head_folders(const std::string& common_folder);

struct Worktree {
  std::string path;    // absolute
  std::string head;    // empty: a bare repository, or no commit yet
  std::string branch;  // "refs/heads/main"; empty: detached or bare
  bool bare = false;
  bool prunable = false;  // its folder is gone
};

// All of the repository; the main one is first.
Result<std::vector<Worktree>> worktrees(const Reader& reader);

}  // namespace lockkeeper::git
