#include "core/settle.h"

#include <algorithm>
#include <deque>
#include <map>

#include "base/assert.h"

namespace lockkeeper::core {
namespace {

// What one end or one grant may cost besides its claims, on a store with a budget.
constexpr std::size_t kRowsPerStep = 12;
constexpr std::size_t kGuardsPerStep = 40;
constexpr std::size_t kGuardsPerFollower = 8;
// What a grant or a place in the queue still reads when it is decided, and whoever asked for it.
constexpr std::size_t kGuardsSpare = 4;
// Those that are woken to look for themselves, where a handoff is left to the next commit.
constexpr std::size_t kFollowersWoken = 4;
// Comparing costs claims times claims; beyond this the queue is searched instead.
constexpr std::size_t kClaimPairsCompared = 20'000;

}  // namespace

Result<Blocker> choose_blocker(const State& state, const std::vector<Conflict>& conflicts) {
  LOCKKEEPER_ASSERT(!conflicts.empty());
  // An edit that gives way stands in nobody's way for long: its end would come without a handoff.
  const auto firm = std::ranges::find(conflicts, false, &Conflict::yields);
  const Conflict* best = firm == conflicts.end() ? &conflicts.front() : &*firm;
  std::map<LeaseId, const Conflict*> waiters;
  for (const Conflict& conflict : conflicts) {
    if (conflict.waiting) waiters.emplace(conflict.holder.id, &conflict);
    const bool later =
        conflict.waiting && (!best->waiting || conflict.holder.created > best->holder.created);
    if (later) best = &conflict;
  }
  // Where others write meanwhile, somebody may have come in between, unseen.
  Blocker blocker{best->holder.id, state.single_writer()};
  if (!best->waiting || !blocker.alone) return blocker;
  std::size_t pairs = 0;
  for (const auto& [id, conflict] : waiters) {
    if (id == blocker.id) continue;
    pairs += conflict->holder.claims.size() * best->holder.claims.size();
    if (pairs > kClaimPairsCompared) return Blocker{blocker.id, false};
    LK_ASSIGN(const bool behind, claims_conflict(conflict->holder, best->holder));
    if (!behind) return Blocker{blocker.id, false};
  }
  return blocker;
}

bool Settler::room_left() const {
  const Limits& limits = state_.context().limits;
  const kv::Budget left = state_.txn().left();
  // Whatever is still on the list may have to be left to the next commit, by a row each.
  const std::size_t to_do = ended_.size() - settled_ + passing_.size();
  return grants_ < limits.grants_per_commit && ends_ < limits.ends_per_commit &&
         left.writes > 2 * kRowsPerStep + to_do && left.guards > kGuardsPerStep;
}

bool Settler::spare_left() const {
  return state_.txn().left().guards >= kGuardsSpare;
}

namespace {

LostLease lost_by(const Lease& lease, const EndedBy& how, const Context& context) {
  LostLease lost;
  lost.id = lost.filed = lease.id;
  lost.owner = lease.owner;
  lost.resources = resource_texts(lease);
  lost.cause = how.event == "broken" || how.cause.empty() ? how.event : how.cause;
  lost.reason = how.reason;
  lost.by = how.by;
  lost.fence = lease.created == 0 ? 0 : lease.fence();
  lost.at_wall_ms = context.now.wall_ms;
  return lost;
}

Result<void> file_lost(State& state, const LostLease& lost) {
  const Context& context = state.context();
  LK_CHECK(state.txn().put(lost_key(lost.filed), encode_lost(lost), context.limits.remember_ms));
  return state.file_due(remembered_until(context), Due::kLost, lost.filed.bytes);
}

}  // namespace

// A command that its session ran may be gone before anybody asks in its name: so the session is
// told as well.
Result<void> remember_lost(State& state, const Lease& lease, const EndedBy& how) {
  LostLease lost = lost_by(lease, how, state.context());
  LK_CHECK(file_lost(state, lost));
  const std::optional<Owner> whole = nearest_whole(lease.owner);
  if (!whole) return {};
  const std::string_view ticket = std::string_view(lease.id.bytes).substr(owner_tag(*whole).size());
  lost.filed = LeaseId{owner_tag(*whole).append(ticket)};
  return file_lost(state, lost);
}

Result<void> note_loss(State& state, const Lease& lease, const EndedBy& how) {
  LostLease lost = lost_by(lease, how, state.context());
  lost.told = true;
  return file_lost(state, lost);
}

Result<void> Settler::end(const Lease& ending, const EndedBy& how, bool lost) {
  // The caller's reference may point into what is removed.
  const Lease lease = ending;  // NOLINT(performance-unnecessary-copy-initialization)
  LK_CHECK(state_.remove_lease(lease));
  LK_CHECK(state_.append(Event::of(lease, how)));
  if (lost) LK_CHECK(remember_lost(state_, lease, how));
  if (!lease.terms.request_id.empty()) {
    const std::string key = request_key(lease.owner, lease.terms.request_id);
    LK_CHECK(
        state_.file_due(remembered_until(state_.context()), Due::kRequest, key.substr(1), true));
  }
  ++ends_;
  LK_ASSIGN(const bool nobody, state_.nobody_under(lease.id));
  if (!nobody) ended_.push_back({lease.id, !lease.overtook, false, {}});
  return end_children(lease.id);
}

// A due row older than any time: the next commit starts there, whoever makes it.
Result<void> Settler::continue_later(const Ended& ended) {
  return state_.txn().put(due_key(0, 0, Due::kHandoff, ended.id.bytes), ended.after.bytes);
}

Result<void> Settler::end_children(const LeaseId& parent) {
  for (;;) {
    LK_ASSIGN(const std::vector<LeaseId> children, state_.children_of(parent, 1));
    if (children.empty()) return {};
    // Children that do not fit into this commit already count as over (condition()). The parent's
    // handoff row brings somebody back to them.
    if (!room_left()) return continue_later({parent, false, false, {}});
    LK_ASSIGN(const Lease* lease, state_.lease(children.front()));
    if (lease != nullptr) {
      LK_CHECK(end(*lease, {"released", "parent_ended", "", {}}, true));
      continue;
    }
    LK_ASSIGN(const std::optional<Waiter> waiter, state_.waiter(children.front()));
    if (waiter) {
      LK_CHECK(drop(*waiter, "cancelled", "parent_ended"));
    } else {
      LK_CHECK(state_.txn().erase(child_key(parent, children.front())));
    }
  }
}

Result<void> Settler::end_over(const Lease& lease, const Condition& condition) {
  const bool by_time = condition.cause == "expired";
  return end(lease, {by_time ? "expired" : "ended", condition.cause, "", {}}, true);
}

Result<void> Settler::drop(const Waiter& waiter, const std::string& event,
                           const std::string& cause) {
  LK_CHECK(state_.remove_waiter(waiter));
  LK_CHECK(state_.append(Event::of_request(waiter.request, event, cause)));
  if (!waiter.request.terms.request_id.empty()) {
    LK_CHECK(
        state_.txn().erase(request_key(waiter.request.owner, waiter.request.terms.request_id)));
  }
  wake_.push_back(waiter.wake);
  ++ends_;
  ended_.push_back({waiter.request.id, false, false, {}});
  return {};
}

Result<bool> Settler::reap(const LeaseId& id) {
  const State::Mark before = state_.mark();
  LK_ASSIGN(const Lease* found, state_.lease(id));
  if (found == nullptr) return false;
  LK_ASSIGN(const Condition now, condition(state_, *found));
  if (!now.over && !now.newly_orphaned) {
    state_.forget_reads(before);  // nothing was decided
    return false;
  }
  const Lease lease = *found;
  if (now.over) {
    LK_CHECK(end_over(lease, now));
    return true;
  }
  Lease orphaned = lease;
  orphan(orphaned, state_.context());
  LK_CHECK(state_.change_lease(lease, orphaned));
  changed_ = true;
  LK_CHECK(state_.append(Event::of(lease, {"orphaned", "died", "", {}})));
  return true;
}

Result<bool> Settler::reap_waiter(const LeaseId& id) {
  const State::Mark before = state_.mark();
  LK_ASSIGN(const std::optional<Waiter> waiter, state_.waiter(id));
  if (!waiter) return false;
  LK_ASSIGN(const Condition now, condition(state_, *waiter));
  if (now.over) {
    LK_CHECK(drop(*waiter, "cancelled", now.cause));
  } else {
    state_.forget_reads(before);
  }
  return now.over;
}

Result<void> Settler::make_way(const std::vector<Conflict>& conflicts, const Owner& asker) {
  for (const Conflict& conflict : conflicts) {
    if (!room_left()) return {};
    LK_ASSIGN(const Lease* found, state_.lease(conflict.holder.id));
    if (found == nullptr) continue;  // it holds several of them
    LK_ASSIGN(const Condition now, condition(state_, *found));
    if (now.yields) LK_CHECK(end(*found, {"ended", "yielded", "", asker}, true));
  }
  return {};
}

Result<void> Settler::grant(const Waiter& waiter) {
  const Context& context = state_.context();
  LK_CHECK(state_.remove_waiter(waiter));
  Lease lease = waiter.request;
  lease.created = 0;
  lease.epoch = context.epoch.id;
  lease.fence_offset = context.epoch.fence_offset;
  lease.acquired_wall_ms = context.now.wall_ms;
  if (lease.edit) lease.edit->touched_mono_ms = context.now.mono_ms;
  hand_over(lease, context);
  LK_CHECK(state_.add_lease(lease));
  Event event = Event::granted(lease);
  event.cause = "handoff";
  LK_CHECK(state_.append(std::move(event)));
  wake_.push_back(waiter.wake);
  ++grants_;
  return wake_waiting(lease);
}

// A grant may draw an edge that no enqueueing request sees. A waiter for a lease now also waits for
// whoever was let in under it. A waiter under a lease now waits for what its host has taken. And
// the owner may now pass others in the queue. If the owner waits elsewhere, that can close a cycle,
// or hide one until this lease ends. What the owner holds also lets its session's parts pass. So
// all waiters through which the owner waits look now instead of within a second (L5). A wake is a
// hint, so peeks would do; but whoever joins the queue at this moment sees no cycle yet and would
// not be woken either. Where a commit has no room for that, he finds it within a second.
Result<void> Settler::wake_waiting(const Lease& granted) {
  const State::Mark before = state_.mark();
  const kv::Read read = granted.overtook ? kv::Read::kGuarded : kv::Read::kPeek;
  std::vector<LeaseId> waiting;
  const auto own = [&](const kv::Row& row) {
    waiting.push_back(LeaseId{row.key.substr(1)});
    return true;
  };
  const LeaseId all_of_owner{owner_tag(granted.owner)};
  kv::Txn& txn = state_.txn();
  LK_CHECK(txn.scan(kv::prefix_range(waiter_key(all_of_owner)), own, read));
  LK_ASSIGN(const std::vector<LeaseId> of_parts, state_.waiters_of_parts(granted.owner, read));
  waiting.insert(waiting.end(), of_parts.begin(), of_parts.end());
  // What lies under its leases, at any depth: a child's row begins with its parent's id.
  std::deque<LeaseId> parents;
  if (granted.overtook) parents.push_back(all_of_owner);
  for (; !parents.empty(); parents.pop_front()) {
    const auto child = [&](const kv::Row& row) {
      const LeaseId id{row.key.substr(row.key.size() - IdBytes::kMax)};
      if (row.value == "l") parents.push_back(id);
      if (row.value == "w") waiting.push_back(id);
      return true;
    };
    const kv::Range below = kv::prefix_range(child_key(parents.front(), {}));
    LK_CHECK(txn.scan(below, child, read));
  }
  if (txn.left().guards <= kGuardsPerStep) state_.forget_reads(before);
  for (const LeaseId& id : waiting) LK_CHECK(wake_waiter(id));
  return {};
}

Result<void> Settler::wake_waiter(const LeaseId& id) {
  LK_ASSIGN(const std::optional<kv::Row> row, state_.txn().get(waiter_key(id), kv::Read::kPeek));
  if (!row) return {};
  LK_ASSIGN(const Waiter waiter, decode_waiter(id, row->value, row->created));
  wake_.push_back(waiter.wake);
  return {};
}

Result<Considered> Settler::consider(const LeaseId& id, bool queue_matters) {
  for (;;) {
    const State::Mark before = state_.mark();
    // Read again each time: ending a lease may have dropped this very waiter with its parent, or
    // left that to the next commit.
    LK_ASSIGN(const std::optional<Waiter> waiter, state_.waiter(id));
    if (!waiter) return Considered::kStays;
    LK_ASSIGN(const bool orphaned, parent_over(state_, waiter->request));
    if (orphaned) {
      LK_CHECK(drop(*waiter, "cancelled", "parent_ended"));
      return Considered::kStays;
    }
    LK_ASSIGN(const Findings findings,
              find_conflicts(state_, waiter->request, {queue_matters, waiter->request.created}));
    Waiter filed = *waiter;
    filed.request.overtook |= findings.overtook;
    if (findings.conflicts.empty()) {
      // A grant depends on all that was looked at.
      if (!spare_left()) {
        state_.forget_reads(before);
        return Considered::kTooLarge;
      }
      LK_CHECK(grant(filed));
      return Considered::kGranted;
    }
    state_.forget_reads(before);
    bool reaped = false;
    for (const Conflict& conflict : findings.conflicts) {
      if (!room_left()) break;
      LK_ASSIGN(const bool gone,
                conflict.waiting ? reap_waiter(conflict.holder.id) : reap(conflict.holder.id));
      reaped |= gone;
    }
    if (reaped && filed.request.overtook) return Considered::kLater;
    if (reaped) continue;
    // What gives way to this one is not for others, so it is decided at once.
    if (all_give_way(findings.conflicts) && room_left()) {
      LK_CHECK(make_way(findings.conflicts, waiter->request.owner));
      continue;
    }
    LK_ASSIGN(const Blocker blocker, choose_blocker(state_, findings.conflicts));
    filed.blocker = blocker.id;
    filed.alone = blocker.alone && !filed.request.overtook;
    if (filed.blocker != waiter->blocker || filed.alone != waiter->alone ||
        filed.request.overtook != waiter->request.overtook) {
      LK_CHECK(state_.waiter(id));  // guarded, as is the blocker
      LK_CHECK(state_.guard(filed.blocker));
      LK_CHECK(state_.refile_waiter(*waiter, filed));
      changed_ = true;
    }
    return Considered::kStays;
  }
}

Result<void> Settler::hand_off(const Ended& ended) {
  // One page of followers at a time, so that a long queue does not use up a commit's guards. Those
  // that do not fit are filed elsewhere. If their blocker only lost a claim, or if their turn comes
  // later, they stay, and we remember how far we got.
  const std::size_t page =
      std::clamp<std::size_t>(state_.txn().left().guards / kGuardsPerFollower, 1,
                              state_.context().limits.grants_per_commit + 1);
  LK_ASSIGN(const std::vector<LeaseId> followers, state_.filed_under(ended.id, page, ended.after));
  Ended rest = ended;
  for (const LeaseId& id : followers) {
    if (!room_left()) return continue_later(rest);
    rest.after = id;
    LK_ASSIGN(const std::optional<Waiter> waiter, state_.waiter(id));
    if (!waiter || waiter->blocker != ended.id) {
      LK_CHECK(state_.txn().erase(blocked_key(ended.id, id)));
      continue;
    }
    LK_ASSIGN(const bool gone, reap_waiter(id));
    if (gone) continue;
    // A waiter filed `alone` under a lease granted in order has nobody before it any more.
    Considered outcome = Considered::kLater;
    if (!waiter->request.overtook) {
      LK_ASSIGN(outcome, consider(id, !(ended.in_order && waiter->alone)));
    }
    if (outcome == Considered::kLater) passing_.push_back({waiter->request.created, id, ended});
    if (outcome != Considered::kTooLarge) continue;
    // More to look at than this store's commit takes. With a commit of its own it may do; if even
    // that is too small it can never be decided, and must not stand in everybody's way.
    if (!worked()) LK_CHECK(drop(*waiter, "cancelled", "limit_exceeded"));
    return continue_later(ended);
  }
  if (followers.size() == page) ended_.push_back(rest);
  return {};
}

// Evaluates the first of them, or, if this commit is full, leaves all of them to the next.
Result<void> Settler::serve_passing() {
  const auto first = std::ranges::min_element(passing_, {}, &Passing::created);
  const Passing next = *first;
  Considered outcome = Considered::kTooLarge;
  if (room_left()) {
    LK_ASSIGN(const std::optional<Waiter> waiter, state_.waiter(next.id));
    passing_.erase(first);
    if (!waiter || waiter->blocker != next.under.id) return {};
    LK_ASSIGN(outcome, consider(next.id, true));
    if (outcome == Considered::kTooLarge && !worked()) {
      LK_CHECK(drop(*waiter, "cancelled", "limit_exceeded"));
    }
    if (outcome != Considered::kGranted && outcome != Considered::kStays) passing_.push_back(next);
  }
  if (outcome != Considered::kTooLarge) return {};
  for (const Passing& one : passing_) {
    LK_CHECK(continue_later({one.under.id, false, one.under.still_held, {}}));
  }
  passing_.clear();
  return {};
}

Result<void> Settler::leave_to_next() {
  const State::Mark before = state_.mark();
  for (; settled_ < ended_.size(); ++settled_) {
    LK_ASSIGN(const std::vector<LeaseId> followers,
              state_.filed_under(ended_[settled_].id, kFollowersWoken, {}));
    for (const LeaseId& id : followers) LK_CHECK(wake_waiter(id));
    LK_CHECK(continue_later(ended_[settled_]));
  }
  state_.forget_reads(before);  // nothing was decided
  ended_.clear();
  settled_ = 0;
  return {};
}

Result<void> Settler::settle() {
  for (;;) {
    while (settled_ < ended_.size()) {
      const Ended next = ended_[settled_++];
      if (room_left()) {
        LK_CHECK(hand_off(next));
      } else {
        LK_CHECK(continue_later(next));  // unread: there may be no guard left for it
      }
    }
    ended_.clear();
    settled_ = 0;
    if (passing_.empty()) return {};
    LK_CHECK(serve_passing());
  }
}

}  // namespace lockkeeper::core
