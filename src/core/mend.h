// After the store was repaired: builds every derived row (claims, due rows, counters, parents) anew
// from the leases that could be saved, so that the table is sound again. The queue is emptied: its
// waiters are told at their next look and ask again.
#pragma once

#include <string>
#include <vector>

#include "core/state.h"

namespace lockkeeper::core {

struct Mended {
  std::size_t leases = 0;  // kept
  std::size_t waiters_dropped = 0;
  std::size_t leases_damaged = 0;       // records that could not be read
  std::vector<std::string> locks_lost;  // resources whose lease is gone, from their claims
};

// One transaction for the whole table: for the embedded store, under `doctor --repair` alone.
// Leaves an event `repaired` in the history.
Result<Mended> mend(kv::Txn& txn, const Context& context);

}  // namespace lockkeeper::core
