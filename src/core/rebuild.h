// After the store was repaired: rebuilds every derived row (claims, due rows, counters, parents)
// from the leases that could be saved, so that the table is consistent again. A waiter whose rows
// are whole keeps its place in the queue. Others learn at their next poll that they must ask again.
#pragma once

#include <string>
#include <vector>

#include "core/state.h"

namespace lockkeeper::core {

struct RebuildReport {
  std::size_t leases = 0;   // kept
  std::size_t waiters = 0;  // kept
  std::size_t waiters_dropped = 0;
  std::size_t leases_damaged = 0;       // records that could not be read
  std::vector<std::string> locks_lost;  // resources whose lease is gone, from their claims
};

// Uses one transaction for the whole table: only for the embedded store, under `doctor --repair`.
// Adds an event `repaired` to the history.
Result<RebuildReport> rebuild(kv::Txn& txn, const Context& context);

}  // namespace lockkeeper::core
