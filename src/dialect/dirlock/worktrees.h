// All worktrees of a realm's repository: one set of locks, so a lock on a folder in any of them is
// one on that folder.
#pragma once

#include <string>
#include <vector>

#include "realm/realm.h"

namespace lockkeeper::dialect::dirlock {

// Physical roots, the realm's own first. Those that cannot be found out are left out: git itself
// could not use them. One failed open where there are no linked worktrees.
std::vector<std::string> worktree_roots(const realm::Realm& realm);

}  // namespace lockkeeper::dialect::dirlock
