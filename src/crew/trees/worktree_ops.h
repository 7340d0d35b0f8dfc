// What agents' worktrees and the one for merges have in common.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "git/writer.h"

namespace lockkeeper::crew {

// Removes a worktree of ours in which nobody has worked, also half-made or half-removed, and
// whatever is at its folder. `checkout`: another worktree of the repository.
Result<void> clear_worktree(const git::Writer& checkout, const std::string& folder);

// `git worktree add` with these words. It fails where it meets another worktree that somebody is
// just making; then it is tried again. `clear` removes what one that failed has left.
Result<void> add_worktree(const git::Writer& checkout, const std::vector<std::string>& words,
                          const std::function<Result<void>()>& clear);

// Removes the lock files that git leaves in a worktree and at its branch when it is killed; as long
// as they are there, git refuses to work. REQUIRES: no git works there any more.
Result<void> clear_git_locks(const std::string& checkout, const std::string& folder,
                             const std::string& branch);

struct Merged {
  bool done = false;
  std::vector<std::string> conflicts;  // files
  std::string why;                     // not done
};

// Merges the commit into what is checked out. Where that fails, the worktree is as before.
// REQUIRES: the worktree is ours and clean.
Result<Merged> merge_into(const git::Writer& worktree, const std::string& commit,
                          const std::string& message, bool fast_forward);

// Does `descendant` contain `commit`?
Result<bool> contains(const std::string& root, const std::string& descendant,
                      const std::string& commit);

// "refs/heads/main"; empty: HEAD is detached.
Result<std::string> branch_of(const std::string& worktree);

// The commit of a branch ("lk/RUN/AGENT"); nullopt: there is no such branch.
Result<std::optional<std::string>> tip_of(const std::string& root, const std::string& branch);

// The commit at HEAD. failed: there is none.
Result<std::string> head_of(const std::string& worktree);

// "3 files: a, b, …": for messages.
std::string files_text(const std::vector<std::string>& paths);

}  // namespace lockkeeper::crew
