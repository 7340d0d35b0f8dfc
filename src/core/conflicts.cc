#include "core/conflicts.h"

#include <algorithm>

namespace lockkeeper::core {

Result<Side> side_of(State& state, const Lease& request) {
  Side side{{request.owner}, {}};
  LeaseId next = request.parent;
  while (!next.empty() && side.parents.insert(next).second) {
    LK_ASSIGN(const Lease* parent, state.lease(next));
    if (parent == nullptr) break;
    const bool known = std::ranges::find(side.owners, parent->owner) != side.owners.end();
    if (!known) side.owners.push_back(parent->owner);
    next = parent->parent;
  }
  return side;
}

bool Side::is_whole(const Owner& owner) const {
  return std::ranges::any_of(owners, [&](const Owner& one) { return is_part_of(one, owner); });
}

bool Side::has(const Lease& lease) const {
  if (lease.foreign) return false;
  return lease.owner == owners.front() || parents.contains(lease.id) || is_whole(lease.owner);
}

namespace {

// Does a lease like this, one that is not over, lie in the host?
template <typename Wanted>
Result<bool> any_inside(State& state, const LeaseId& host, const Wanted& wanted) {
  std::vector<LeaseId> hosts{host};
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    LK_ASSIGN(const std::vector<LeaseId> children, state.children_of(hosts[i], SIZE_MAX));
    for (const LeaseId& id : children) {
      LK_ASSIGN(const Lease* child, state.lease(id));
      if (child == nullptr) continue;  // it waits
      LK_ASSIGN(const Condition now, condition(state, *child));
      if (now.over) continue;
      if (wanted(*child)) return true;
      hosts.push_back(id);
    }
  }
  return false;
}

}  // namespace

Result<bool> works_under(State& state, const Owner& owner, const LeaseId& host) {
  return any_inside(state, host, [&](const Lease& child) {
    return child.owner == owner || is_part_of(owner, child.owner);
  });
}

namespace {

bool sufficient(Mode held, Mode asked) {
  return held == Mode::kExclusive || asked == Mode::kShared;
}

// One request's search, claim by claim.
class Search {
 public:
  Search(State& state, const Lease& request, Queue queue, Side side)
      : state_(state), request_(request), queue_(queue), side_(std::move(side)) {}

  Result<Findings> run() {
    for (const Claim& claim : request_.claims) {
      LK_ASSIGN(const bool covered, search_leases(claim));
      findings_.overtook |= covered;
      if (!covered && queue_.look) LK_CHECK(search_waiters(claim));
    }
    return std::move(findings_);
  }

 private:
  // Is this lease on the request's side: the owner's own, or one it works under?
  bool on_our_side(const Lease& lease) const { return !request_.foreign && side_.has(lease); }

  bool is_new() const { return queue_.look && queue_.before == 0; }

  // `limited`: a new request that would read too much is refused. A waiter must be decided whatever
  // has come since: an error there would stop everybody's handoff.
  Result<std::vector<State::Hit>> hits(const Claim& claim, Holding holding, bool limited) {
    std::vector<State::Hit> found;
    const auto collect = [&](State::Hit hit) { found.push_back(std::move(hit)); };
    State::Look look{.holding = holding, .limited = limited};
    // Nobody can enter the queue before a request that is in it. Only the earlier ones that are met
    // matter, and those are read with a guard of their own.
    if (holding == Holding::kWaiter && queue_.before != 0) look.read = kv::Read::kPeek;
    LK_CHECK(state_.overlapping(claim.resource, look, collect));
    look.mode = Mode::kShared;
    // Others' shared leases cannot matter to a shared request; the owner's own may cover it.
    if (claim.mode == Mode::kShared) look.only_of = &request_.owner;
    if (claim.mode == Mode::kExclusive || holding == Holding::kLease) {
      LK_CHECK(state_.overlapping(claim.resource, look, collect));
    }
    return found;
  }

  // True: leases on our side already cover the claim.
  Result<bool> search_leases(const Claim& claim) {
    LK_ASSIGN(const std::vector<State::Hit> found, hits(claim, Holding::kLease, is_new()));
    bool covered = false;
    for (const State::Hit& hit : found) {
      LK_ASSIGN(const Lease* lease, state_.lease(hit.id));
      if (lease == nullptr) {
        return fail(Code::kStoreCorrupt, "a claim on " + hit.resource.text() + " has no lease",
                    "run: lockkeeper doctor");
      }
      LK_ASSIGN(const Condition now, condition_of(*lease));
      if (!worktrees_meet(request_, *lease)) {
        if (!now.over && !on_our_side(*lease) && conflict(hit.mode, claim.mode)) {
          findings_.elsewhere.push_back(conflict_with(claim, hit, false, *lease, now));
        }
      } else if (on_our_side(*lease)) {
        remember_side(*lease, now);
        covered |= !now.over && !now.yields && sufficient(hit.mode, claim.mode) &&
                   worktree_suffices(*lease, request_) &&
                   key::subsumes(hit.resource, claim.resource);
      } else if (conflict(hit.mode, claim.mode)) {
        LK_CHECK(look_for_host(*lease));
        Conflict in_the_way = conflict_with(claim, hit, false, *lease, now);
        LK_ASSIGN(in_the_way.yields, gives_way_to_us(*lease, now));
        findings_.conflicts.push_back(std::move(in_the_way));
      }
    }
    return covered;
  }

  // What is ours inside would end with it, and what that lets us pass would then be before us.
  Result<bool> gives_way_to_us(const Lease& lease, const Condition& now) {
    if (!now.yields) return false;
    const auto ours = [&](const Lease& child) { return on_our_side(child); };
    LK_ASSIGN(const bool any, any_inside(state_, lease.id, ours));
    return !any;
  }

  // Only for a request that works under no lease. It can have one host: of those that lie in one
  // another the innermost, because what that lies in is on the request's side too.
  Result<void> look_for_host(const Lease& lease) {
    if (!request_.parent.empty() || lease.foreign || !is_new()) return {};
    const LeaseId& known = findings_.host;
    if (!known.empty()) {
      LK_ASSIGN(const Side above, side_of(state_, lease));
      if (!above.parents.contains(known)) return {};
    }
    LK_ASSIGN(const bool let_in, works_under(state_, request_.owner, lease.id));
    if (let_in) findings_.host = lease.id;
    return {};
  }

  void remember_side(const Lease& lease, const Condition& now) {
    const bool own = lease.owner == request_.owner;
    if (now.over) {
      add_once(findings_.over, lease.id);
    } else if (own) {
      add_once(findings_.own, lease.id);
    }
  }

  // Done once for each lease, however many of its claims are met.
  Result<Condition> condition_of(const Lease& lease) {
    const auto known = conditions_.find(lease.id);
    if (known != conditions_.end()) return known->second;
    LK_ASSIGN(Condition now, condition(state_, lease));
    return conditions_.emplace(lease.id, std::move(now)).first->second;
  }

  Result<const Waiter*> waiter_of(const State::Hit& hit) {
    const auto known = waiters_.find(hit.id);
    if (known != waiters_.end()) return &known->second;
    LK_ASSIGN(std::optional<Waiter> waiter, state_.waiter(hit.id));
    if (!waiter) {
      return fail(Code::kStoreCorrupt, "a claim on " + hit.resource.text() + " has no waiter",
                  "run: lockkeeper doctor");
    }
    return &waiters_.emplace(hit.id, std::move(*waiter)).first->second;
  }

  // A holder's claims are listed once: ten thousand conflicts with a lease of ten thousand claims
  // must not become their product.
  Conflict conflict_with(const Claim& claim, const State::Hit& hit, bool waiting,
                         const Lease& holder, const Condition& now) {
    Conflict found;
    found.requested = claim;
    found.held = {hit.resource, hit.mode};
    found.witness = hit.witness;
    found.waiting = waiting;
    found.alive = now.alive;
    found.yields_mono_ms = now.yields_mono_ms;
    found.yields = now.yields;
    const auto [place, fresh] = without_claims_.try_emplace(holder.id);
    if (fresh) {
      place->second = holder;
      place->second.claims.clear();
    }
    found.holder = fresh ? holder : place->second;
    return found;
  }

  static void add_once(std::vector<LeaseId>& ids, const LeaseId& id) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }

  Result<void> search_waiters(const Claim& claim) {
    LK_ASSIGN(const bool any, state_.any_waiters());
    if (!any) return {};
    LK_ASSIGN(const std::vector<State::Hit> found, hits(claim, Holding::kWaiter, is_new()));
    for (const State::Hit& hit : found) {
      if (queue_.before != 0 && hit.created >= queue_.before) continue;
      if (hit.id == request_.id || !conflict(hit.mode, claim.mode)) continue;
      LK_ASSIGN(const Waiter* waiter, waiter_of(hit));
      if (!worktrees_meet(request_, waiter->request)) continue;
      // Once a whole is granted it, its parts are let in anyway.
      const Owner& other = waiter->request.owner;
      if (other == request_.owner || side_.is_whole(other)) {
        findings_.overtook = true;
        continue;
      }
      LK_ASSIGN(const bool passes, waits_for_us(waiter->request));
      findings_.overtook |= passes;
      if (passes) continue;
      LK_ASSIGN(const Condition now, condition(state_, *waiter));
      findings_.conflicts.push_back(conflict_with(claim, hit, true, waiter->request, now));
    }
    return {};
  }

  // A waiter that conflicts with a lease on our side cannot be granted before we are done. To stand
  // behind it would be to wait for ourselves.
  Result<bool> waits_for_us(const Lease& waiting) {
    const auto known = passes_.find(waiting.id);
    if (known != passes_.end()) return known->second;
    bool waits = false;
    for (const Claim& claim : waiting.claims) {
      LK_ASSIGN(const std::vector<State::Hit> found, hits(claim, Holding::kLease, false));
      for (const State::Hit& hit : found) {
        if (!conflict(hit.mode, claim.mode)) continue;
        LK_ASSIGN(const Lease* lease, state_.lease(hit.id));
        if (lease == nullptr || !on_our_side(*lease)) continue;
        if (!worktrees_meet(waiting, *lease)) continue;
        LK_ASSIGN(const Condition now, condition_of(*lease));
        waits |= !now.over && !now.yields;
      }
    }
    passes_[waiting.id] = waits;
    return waits;
  }

  State& state_;
  const Lease& request_;
  const Queue queue_;
  const Side side_;
  Findings findings_;
  std::map<LeaseId, bool> passes_;
  std::map<LeaseId, Condition> conditions_;
  std::map<LeaseId, Waiter> waiters_;
  std::map<LeaseId, Lease> without_claims_;
};

}  // namespace

Result<Findings> find_conflicts(State& state, const Lease& request, Queue queue) {
  LK_ASSIGN(Side side, side_of(state, request));
  return Search(state, request, queue, std::move(side)).run();
}

bool worktrees_meet(const Lease& a, const Lease& b) {
  const std::string& one = a.terms.worktree;
  const std::string& other = b.terms.worktree;
  return one.empty() || other.empty() || one == other;
}

bool worktree_suffices(const Lease& held, const Lease& request) {
  return held.terms.worktree.empty() || held.terms.worktree == request.terms.worktree;
}

bool all_give_way(const std::vector<Conflict>& conflicts) {
  return std::ranges::all_of(conflicts, &Conflict::yields);
}

Result<bool> claims_conflict(const Lease& a, const Lease& b) {
  if (!worktrees_meet(a, b)) return false;
  for (const Claim& first : a.claims) {
    for (const Claim& second : b.claims) {
      if (!conflict(first.mode, second.mode)) continue;
      LK_ASSIGN(const std::optional<std::string> common,
                key::overlap(first.resource, second.resource));
      if (common) return true;
    }
  }
  return false;
}

}  // namespace lockkeeper::core
