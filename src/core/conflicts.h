// What conflicts with a request: leases and earlier waiters that are not on its side (rules 2, 11).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/condition.h"
#include "core/sessions.h"

namespace lockkeeper::core {

struct Conflict {
  Claim requested;
  Claim held;
  std::string witness;   // a name that both cover
  bool waiting = false;  // `holder` is an earlier request in the queue, not a lease
  Lease holder;          // its claims only in the first of its conflicts: see `held`
  Alive alive = Alive::kUnknown;
  std::int64_t yields_mono_ms = kNoEnd;  // an edit: when it gives way (rule 16)
  bool yields = false;                   // it does so now
};

// Which leases are on a request's side (rule 11): its owner's; the one it works under, and those
// that that one lies in; those of the sessions that its owner, or the holder of one of these, is a
// part of.
struct Side {
  std::vector<Owner> owners;  // the request's, then the holders of `parents`
  std::set<LeaseId> parents;  // what it works under
  bool has(const Lease& lease) const;
  bool is_whole(const Owner& owner) const;  // is one of `owners` a part of it?
};
Result<Side> side_of(State& state, const Lease& request);

struct Findings {
  std::vector<Conflict> conflicts;  // in the order found; holders may be over: see condition()
  std::vector<LeaseId> own;         // the owner's own leases that overlap the request
  std::vector<LeaseId> over;        // own leases that are over
  LeaseId host;           // in its way, but its own side already works under it: see works_under()
  bool overtook = false;  // earlier waiters were passed, or not looked at
  std::vector<Conflict> elsewhere;  // leases that only their worktree keeps from conflicting
};

// Which waiters to compare with: all, those created before a version, or none (when it is known
// that nobody stands before the request).
struct Queue {
  bool look = true;
  kv::Version before = 0;  // 0: all
};

// Does the owner, or a session it is a part of, hold a lease that lies in this one? Then whoever
// holds this one has let them in, and lets in this request as well.
Result<bool> works_under(State& state, const Owner& owner, const LeaseId& host);

// REQUIRES: request.owner, claims and parent are set.
Result<Findings> find_conflicts(State& state, const Lease& request, Queue queue);

// Rule 15: claims of different worktrees never conflict, and one of a worktree does not cover what
// is requested for all of them.
bool worktrees_meet(const Lease& a, const Lease& b);
bool worktree_suffices(const Lease& held, const Lease& request);

// Is everything in the way an edit that gives way (rule 16)?
bool all_give_way(const std::vector<Conflict>& conflicts);

// Would two requests conflict by their claims alone?
Result<bool> claims_conflict(const Lease& a, const Lease& b);

}  // namespace lockkeeper::core
