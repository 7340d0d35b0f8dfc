// `purge --remove-store`: takes a realm's store away as if it had never been, in one step that no
// other process can be in the middle of.
#pragma once

#include <vector>

#include "layout/lock_table.h"

namespace lockkeeper::layout {

struct RemovedStore {
  bool removed = false;
  std::vector<core::Lease> held;  // why not, if it was not
  std::vector<core::Waiter> waiters;
};

// Removes the store's folder (a local config.toml stays) and the epoch's copy, unless a lease is
// held or somebody waits; `force` removes it all the same. No store: removed. Fences go on growing
// in a later store: it waits until the clock alone guarantees that, a second at most, and fails
// where the clock was set back (I3).
// REQUIRES: no transaction of `table` is open; afterwards `table` must not be used.
Result<RemovedStore> remove_store(LockTable& table, bool force);

}  // namespace lockkeeper::layout
