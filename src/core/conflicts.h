// What conflicts with a request: leases and earlier waiters of other owners (rule 2). And what is
// on its side: the leases that its owner has or that it may work under (rule 11).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/condition.h"

namespace lockkeeper::core {

struct Conflict {
  Claim requested;
  Claim held;
  std::string witness;   // a name that both cover
  bool waiting = false;  // `holder` is an earlier request in the queue, not a lease
  Lease holder;          // its claims only in the first of its conflicts: see `held`
  Alive alive = Alive::kUnknown;
};

// Is `owner` a subagent of `holder`: a session "S/x" of the session "S"? Is it anybody's subagent?
bool is_subagent(const Owner& owner, const Owner& holder);
bool is_subagent(const Owner& owner);

// The leases a request works under: the one it presents (request.parent) and that one's parents.
Result<std::set<LeaseId>> parents_of(State& state, const Lease& request);
// Is this lease on the side of a request of `owner` (rules 2 and 11)?
bool on_side_of(const Owner& owner, const std::set<LeaseId>& parents, const Lease& lease);

struct Findings {
  std::vector<Conflict> conflicts;  // in the order found; holders may be over: see condition()
  std::vector<LeaseId> own;         // the owner's own leases that overlap the request
  std::vector<LeaseId> over;        // own leases that are over
  LeaseId parent_by_session;        // a lease of the parent session that the request lies in
  bool overtook = false;            // earlier waiters were passed, or not looked at
};

// Which waiters to compare with: all, those created before a version, or none (when it is known
// that nobody stands before the request).
struct Queue {
  bool look = true;
  kv::Version before = 0;  // 0: all
};

// REQUIRES: request.owner, claims and parent are set.
Result<Findings> find_conflicts(State& state, const Lease& request, Queue queue);

// Would two requests conflict by their claims alone?
Result<bool> claims_conflict(const Lease& a, const Lease& b);

}  // namespace lockkeeper::core
