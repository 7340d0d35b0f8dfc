// All worktrees of a realm's repository. They share their locks, so a lock on a folder in one of
// them locks that folder in all.
#pragma once

#include <string>
#include <vector>

#include "realm/realm.h"

namespace lockkeeper::dialect::dirlock {

// Physical roots, the realm's own first. Unreadable ones are left out: git could not use them
// either. Without linked worktrees it costs one failed open.
std::vector<std::string> worktree_roots(const realm::Realm& realm);

}  // namespace lockkeeper::dialect::dirlock
