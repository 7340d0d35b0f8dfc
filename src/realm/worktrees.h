// All worktrees of a repository. They share their locks, so a lock on a folder in one of them locks
// that folder in all.
#pragma once

#include <string>
#include <vector>

namespace lockkeeper::realm {

// Physical roots, the given one first. `common_dir` is the git folder that they share; empty: there
// is none. Unreadable ones are left out: git could not use them either. Without linked worktrees it
// costs one failed open.
std::vector<std::string> worktree_roots(const std::string& root, const std::string& common_dir);

}  // namespace lockkeeper::realm
