#include "core/deadlock.h"

#include <algorithm>
#include <deque>
#include <map>

namespace lockkeeper::core {
namespace {

using OwnerKey = std::pair<std::string, std::string>;
OwnerKey key_of(const Owner& owner) {
  return {owner.agent, owner.session};
}

// Of all its owners, each once.
std::vector<std::string> all_wholes(const Side& side) {
  std::vector<std::string> all;
  for (const Owner& owner : side.owners) {
    for (std::string& whole : wholes_of(owner)) {
      if (std::ranges::find(all, whole) == all.end()) all.push_back(std::move(whole));
    }
  }
  return all;
}

// Searches owners breadth first, so that it finds a shortest cycle.
class Walk {
 public:
  Walk(State& state, const Lease& request) : state_(state), request_(request) {}

  Result<std::optional<std::vector<CycleStep>>> run(const std::vector<Conflict>& conflicts) {
    LK_CHECK(find_goal());
    LK_ASSIGN(const bool awaited, anybody_can_wait_for_goal());
    if (!awaited) return std::nullopt;
    LK_CHECK(first_step(conflicts));
    while (!found_ && !frontier_.empty()) {
      const Owner next = frontier_.front();
      frontier_.pop_front();
      LK_CHECK(expand(next));
    }
    if (!found_) return std::nullopt;
    return trace();
  }

 private:
  struct Edge {
    Owner from;
    std::vector<std::string> resources;
    LeaseId through;
  };

  // The cycle is closed by the request's owner, by the holder of a lease that it works under, or by
  // whoever one of these is a part of.
  Result<void> find_goal() {
    LK_ASSIGN(goal_, side_of(state_, request_));
    wholes_ = all_wholes(goal_);
    return {};
  }

  // Most requests hold nothing while they wait: nobody can be waiting for them.
  Result<bool> anybody_can_wait_for_goal() {
    bool awaited = false;
    plain_ = request_.parent.empty();
    for (const std::string& whole : wholes_) {
      LK_ASSIGN(const bool has, whole_has_anything(whole));
      awaited |= has;
      plain_ = plain_ && !has;
    }
    for (const Owner& owner : goal_.owners) {
      LK_ASSIGN(const std::vector<LeaseId> leases, state_.leases_of(owner));
      LK_ASSIGN(const std::vector<LeaseId> waiters, state_.waiters_of(owner));
      awaited |= !leases.empty() || !waiters.empty();
      plain_ = plain_ && leases.empty() &&
               std::all_of(waiters.begin(), waiters.end(),
                           [&](const LeaseId& id) { return id == request_.id; });
    }
    return awaited;
  }

  // Where several may commit at once, every look is a guard: there we walk instead.
  Result<bool> whole_has_anything(const std::string& whole) {
    if (!state_.single_writer()) return true;
    const Owner owner = named_whole(whole);
    if (!owner.agent.empty()) {
      LK_ASSIGN(const std::vector<LeaseId> leases, state_.leases_of(owner));
      LK_ASSIGN(const std::vector<LeaseId> waiters, state_.waiters_of(owner));
      return !leases.empty() || !waiters.empty();
    }
    LK_ASSIGN(const bool holds, state_.session_has(Holding::kLease, whole));
    if (holds) return true;
    return state_.session_has(Holding::kWaiter, whole);
  }

  // In front of a request whose owner holds nothing, an owner with one waiter for exactly the same
  // claims waits for nobody that the request does not wait for itself. So a long line for one path
  // is walked once, not once for each waiter in it.
  bool adds_nothing(const Waiter& waiter) const {
    const Lease& its = waiter.request;
    return plain_ && its.parent.empty() && its.created < request_.created &&
           its.claims == request_.claims && its.terms.worktree == request_.terms.worktree;
  }

  // The guards of the search that found the request's own conflicts may be dropped. Here they are
  // the first edge of a cycle that somebody else may be closing, so they are read again, guarded.
  Result<void> first_step(const std::vector<Conflict>& conflicts) {
    if (state_.single_writer()) return step(request_, request_.owner, conflicts);
    const Queue queue{true, request_.created};
    LK_ASSIGN(const Findings findings, find_conflicts(state_, request_, queue));
    return step(request_, request_.owner, findings.conflicts);
  }

  bool is_goal(const Owner& owner) const {
    return std::ranges::find(goal_.owners, owner) != goal_.owners.end() || goal_.is_whole(owner);
  }

  // Follows the edges from an owner that waits through `waiting`. What is over blocks nobody.
  Result<void> step(const Lease& waiting, const Owner& from,
                    const std::vector<Conflict>& conflicts) {
    for (const Conflict& conflict : conflicts) {
      LK_ASSIGN(const bool over, is_over(conflict));
      if (over) continue;
      const Owner& to = conflict.holder.owner;
      if (is_goal(to)) {
        if (!found_) found_ = Edge{from, {}, waiting.id};
        if (found_->from == from) add_once(found_->resources, conflict.held.resource.text());
        continue;
      }
      const auto [place, fresh] = reached_.try_emplace(key_of(to), Edge{from, {}, waiting.id});
      if (fresh) frontier_.push_back(to);
      if (place->second.from == from) {
        add_once(place->second.resources, conflict.held.resource.text());
      }
    }
    return {};
  }

  Result<bool> is_over(const Conflict& conflict) {
    if (!conflict.waiting) {
      LK_ASSIGN(const Condition now, condition(state_, conflict.holder));
      return now.over || conflict.yields;
    }
    LK_ASSIGN(const Condition now, condition(state_, Waiter{conflict.holder, {}, false, 0}));
    return now.over;
  }

  static void add_once(std::vector<std::string>& list, const std::string& text) {
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(text);
  }

  Result<void> expand(const Owner& owner) {
    LK_ASSIGN(const std::vector<LeaseId> waiting, waits_through(state_, owner));
    for (const LeaseId& id : waiting) {
      LK_ASSIGN(const std::optional<Waiter> waiter, state_.waiter(id));
      if (!waiter) continue;
      LK_ASSIGN(const Condition now, condition(state_, *waiter));
      if (now.over) continue;
      if (waiting.size() == 1 && adds_nothing(*waiter)) continue;
      LK_ASSIGN(const Findings findings,
                find_conflicts(state_, waiter->request, {true, waiter->request.created}));
      LK_CHECK(step(waiter->request, owner, findings.conflicts));
    }
    return {};
  }

  std::vector<CycleStep> trace() const {
    std::vector<CycleStep> steps;
    steps.push_back({found_->from, found_->resources, found_->through});
    while (!is_goal(steps.back().owner)) {
      const Edge& edge = reached_.at(key_of(steps.back().owner));
      steps.push_back({edge.from, edge.resources, edge.through});
    }
    std::reverse(steps.begin(), steps.end());
    return steps;
  }

  State& state_;
  const Lease& request_;
  Side goal_;  // its owners, and whoever these are parts of
  std::vector<std::string> wholes_;
  bool plain_ = false;  // the request is all that its owner has, and it works under no lease
  std::map<OwnerKey, Edge> reached_;
  std::deque<Owner> frontier_;
  std::optional<Edge> found_;
};

}  // namespace

bool must_look_for_cycles(const Lease& waiting) {
  return waiting.overtook;
}

Result<std::vector<std::string>> wholes_behind(State& state, const Lease& request) {
  LK_ASSIGN(const Side side, side_of(state, request));
  return all_wholes(side);
}

Result<std::vector<LeaseId>> waits_through(State& state, const Owner& owner) {
  LK_ASSIGN(std::vector<LeaseId> waiting, state.waiters_of(owner));
  LK_ASSIGN(const std::vector<LeaseId> of_parts, state.waiters_of_parts(owner));
  waiting.insert(waiting.end(), of_parts.begin(), of_parts.end());
  LK_ASSIGN(std::vector<LeaseId> leases, state.leases_of(owner));
  for (std::size_t i = 0; i < leases.size(); ++i) {
    LK_ASSIGN(const std::vector<LeaseId> children, state.children_of(leases[i], SIZE_MAX));
    for (const LeaseId& child : children) {
      LK_ASSIGN(const Lease* lease, state.lease(child));
      (lease == nullptr ? waiting : leases).push_back(child);
    }
  }
  return waiting;
}

Result<std::optional<std::vector<CycleStep>>> find_cycle(State& state, const Lease& request,
                                                         const std::vector<Conflict>& conflicts) {
  return Walk(state, request).run(conflicts);
}

Result<void> guard_cycle(State& state, const std::vector<CycleStep>& cycle) {
  for (const CycleStep& step : cycle) LK_CHECK(state.waiter(step.through));
  return {};
}

}  // namespace lockkeeper::core
