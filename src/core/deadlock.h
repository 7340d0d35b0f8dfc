// Would waiting never end? Checked before a request joins the queue, in the same transaction.
//
// A session is one run of an agent, so an owner that waits is assumed to wait as a whole. An owner
// waits for the owners of everything that conflicts with its waiters: leases and earlier requests.
// It also waits for the parts of its session, and for whoever works under one of its leases
// (rule 11), because it goes on, or lets go, only when they are done. The request that joins the
// queue last draws the last edge of a cycle. It follows all edges from itself, so it sees the cycle
// (L5). README.md has the full argument.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/conflicts.h"

namespace lockkeeper::core {

struct CycleStep {
  Owner owner;
  std::vector<std::string> waits_for;  // resources, as held
  LeaseId through = {};                // its waiter
};

// The waiters through which an owner waits: its own, those of its session's parts, and those made
// under its leases at any depth.
Result<std::vector<LeaseId>> waits_through(State& state, const Owner& owner);

// The sessions for whose sake a request waits (Waiter::wholes).
Result<std::vector<std::string>> wholes_behind(State& state, const Lease& request);

// The cycle that `request` would close by waiting for `conflicts`, beginning with its owner;
// nullopt: none. Finds cycles of any length, and never a false one.
Result<std::optional<std::vector<CycleStep>>> find_cycle(State& state, const Lease& request,
                                                         const std::vector<Conflict>& conflicts);

// Whoever leaves the queue because of a cycle depends on the other waiters in it. Nothing else that
// the walk has read needs a guard: a lease that ends is handed to its waiter.
Result<void> guard_cycle(State& state, const std::vector<CycleStep>& cycle);

// A waiter that passed another one is behind it again when what let it pass ends, and that can
// close a cycle which no new request and no wake tells of. Such a waiter polls every kCycleLookMs
// (L5), the others every second.
inline constexpr std::int64_t kCycleLookMs = 50;
bool must_look_for_cycles(const Lease& waiting);

}  // namespace lockkeeper::core
