// Would waiting never end? Looked at before a request joins the queue, in the same transaction.
//
// A session is one run of an agent, so an owner that waits is taken to wait as a whole. An owner
// waits for the owners of everything in the way of its waiters: leases, and earlier requests. It
// also waits for whoever works under one of its leases (rule 11): that lease lasts until they are
// done. A cycle can only be closed by its last edge, and the last edge is drawn by the request that
// joins the queue last; it looks from itself along all edges, so it sees the cycle (L5).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/conflicts.h"

namespace lockkeeper::core {

struct CycleStep {
  Owner owner;
  std::vector<std::string> waits_for;  // resources, as held
};

// The waiters through which an owner waits: its own, and those made under its leases, or under a
// lease inside one of those.
Result<std::vector<LeaseId>> waits_through(State& state, const Owner& owner);

// The cycle that `request` would close by waiting for `conflicts`, beginning with its owner;
// nullopt if there is none. Exact for cycles of owners, whatever their length.
Result<std::optional<std::vector<CycleStep>>> find_cycle(State& state, const Lease& request,
                                                         const std::vector<Conflict>& conflicts);

// A waiter that passed another one is behind it again when what let it pass ends, and that can
// close a ring which no new request and no wake tells of; what lets a subagent pass may be its
// session's. Such a waiter polls every kRingLookMs (L5), the others every second.
inline constexpr std::int64_t kRingLookMs = 50;
bool must_look_for_rings(const Lease& waiting);

}  // namespace lockkeeper::core
