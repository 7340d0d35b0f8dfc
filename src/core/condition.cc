#include "core/condition.h"

#include <algorithm>
#include <string>

#include "base/bytes.h"
#include "core/presence.h"

namespace lockkeeper::core {
namespace {

// Of two that keep a lease.
Alive better(Alive a, Alive b) {
  if (a == Alive::kAlive || b == Alive::kAlive) return Alive::kAlive;
  return a == Alive::kUnknown ? a : b;
}

// One of those that keep a lease. A session without a row is dead for everybody, also for the hub
// that hears it: others may have seen that. A hub that does not keep the session calls nobody dead:
// it may not hear the client any more.
Result<Alive> look_at(State& state, const Attachment& hold) {
  if (!hold.attached()) return Alive::kUnknown;
  const Alive seen = state.context().prober->probe(hold);
  if (!hold.has_session()) return seen;
  const kv::Read read = seen == Alive::kDead ? kv::Read::kGuarded : kv::Read::kPeek;
  LK_ASSIGN(const Keeper keeper, keeper_of(state, hold.session(), read));
  if (keeper == Keeper::kNobody) return Alive::kDead;
  return seen == Alive::kDead && keeper == Keeper::kAnother ? Alive::kUnknown : seen;
}

// So long an edit is kept after the last call on it.
std::int64_t kept_ms(const Edit& edit) {
  return edit.confirmed ? kUntouchedMs : kUnreportedMs;
}

// When an edit gives way, unless somebody reports something meanwhile. Of an earlier boot: at once,
// as nobody knows what has become of its client.
Result<std::int64_t> yields_at(State& state, const Lease& lease) {
  const Edit& edit = *lease.edit;
  const bool this_boot = lease.epoch == state.context().epoch.id;
  LK_ASSIGN(const Activity activity, state.activity(lease.owner));
  if (activity.idle) return 0;
  std::int64_t at = this_boot ? edit.touched_mono_ms + kept_ms(edit) : 0;
  at = std::max<std::int64_t>(at, 0);
  if (!edit.confirmed) return at;
  for (const RunningCall& call : activity.calls) {
    at = std::max(at, call.begun_mono_ms + kCallCountsMs);
  }
  return at;
}

}  // namespace

Alive alive_of(const Lease& lease, const Prober& prober) {
  Alive best = Alive::kDead;
  for (const Attachment& hold : lease.holds) {
    best = better(best, hold.attached() ? prober.probe(hold) : Alive::kUnknown);
  }
  return best;
}

Result<Alive> alive_of(State& state, const Lease& lease) {
  Alive best = Alive::kDead;
  for (const Attachment& hold : lease.holds) {
    LK_ASSIGN(const Alive seen, look_at(state, hold));
    best = better(best, seen);
  }
  return best;
}

bool is_confirmed(const Lease& lease) {
  return lease.confirm_by_mono_ms == 0;
}

bool is_orphan(const Lease& lease, const Condition& now) {
  return now.alive == Alive::kDead || (lease.orphaned_mono_ms != 0 && now.alive != Alive::kAlive);
}

bool can_come_back(const Owner& owner) {
  return !owner.session.empty();
}

bool may_reclaim(const Lease& orphan, const Attachment& attachment) {
  return orphan.terms.orphan_grace_ms > 0 && can_come_back(orphan.owner) && attachment.attached();
}

std::int64_t effective_deadline(const Lease& lease, const kv::Epoch& epoch) {
  if (lease.epoch == epoch.id || lease.terms.ttl_ms == kNoEnd) return lease.deadline_mono_ms;
  return epoch.start_mono_ms + lease.terms.ttl_ms;
}

Result<bool> parent_over(State& state, const Lease& child) {
  if (child.parent.empty()) return false;
  LK_ASSIGN(const Lease* parent, state.lease(child.parent));
  if (parent == nullptr) return true;
  LK_ASSIGN(const Condition above, condition(state, *parent));
  return above.over;
}

Result<Condition> condition(State& state, const Lease& lease) {
  const Context& context = state.context();
  const std::int64_t now = context.now.mono_ms;
  const bool this_boot = lease.epoch == context.epoch.id;
  LK_ASSIGN(const bool orphan_child, parent_over(state, lease));
  if (orphan_child) return Condition{true, "parent_ended", false, Alive::kUnknown};
  Condition result;
  if (!this_boot && lease.attached()) return Condition{true, "reboot", false, Alive::kDead};
  if (this_boot) {
    LK_ASSIGN(result.alive, alive_of(state, lease));
  }
  const auto over = [&](const char* cause) { return Condition{true, cause, false, result.alive}; };
  // Strictly later: the clock counts whole milliseconds, and a lease never ends early (I6).
  const bool unconfirmed = this_boot && lease.confirm_by_mono_ms != 0;
  if (unconfirmed && now > lease.confirm_by_mono_ms) return over("unconfirmed");
  const std::int64_t deadline = effective_deadline(lease, context.epoch);
  if (deadline != kNoEnd && now > deadline) return over("expired");
  // A handoff whose process died before confirming it has nobody to reclaim it.
  const std::int64_t grace = unconfirmed ? 0 : lease.terms.orphan_grace_ms;
  if (result.alive == Alive::kDead && grace == 0) return over("died");
  if (lease.orphaned_mono_ms != 0) {
    // Somebody who could see the process recorded its death; trust that where we cannot see it.
    const bool passed = now > lease.orphaned_mono_ms + grace;
    if (passed && result.alive != Alive::kAlive) return over("died");
  } else {
    result.newly_orphaned = result.alive == Alive::kDead;
  }
  // A handoff that is not confirmed yet is not an edit that its owner has left.
  if (lease.edit && !unconfirmed) {
    LK_ASSIGN(result.yields_mono_ms, yields_at(state, lease));
    result.yields = now > result.yields_mono_ms;
  }
  return result;
}

Result<Condition> condition_confirmed(State& state, const Lease& lease) {
  // After a reboot the process that waited is gone.
  const bool this_boot = lease.epoch == state.context().epoch.id;
  if (lease.confirm_by_mono_ms == 0 || !this_boot) return condition(state, lease);
  Lease bound = lease;
  bound.holds = {lease.then};
  return condition(state, bound);
}

Result<Condition> condition(State& state, const Waiter& waiter) {
  const Context& context = state.context();
  if (waiter.request.epoch != context.epoch.id) {
    return Condition{true, "reboot", false, Alive::kDead};
  }
  LK_ASSIGN(const bool orphan_child, parent_over(state, waiter.request));
  if (orphan_child) return Condition{true, "parent_ended", false, Alive::kUnknown};
  LK_ASSIGN(const Alive alive, alive_of(state, waiter.request));
  return Condition{alive == Alive::kDead, alive == Alive::kDead ? "died" : "", false, alive};
}

std::int64_t due_of(const Lease& lease) {
  std::int64_t due = lease.deadline_mono_ms;
  const auto sooner = [&](std::int64_t other) {
    if (due == kNoEnd || other < due) due = other;
  };
  if (lease.confirm_by_mono_ms != 0) sooner(lease.confirm_by_mono_ms);
  if (lease.orphaned_mono_ms != 0) {
    const std::int64_t over = lease.orphaned_mono_ms + lease.terms.orphan_grace_ms;
    sooner(std::max<std::int64_t>(over, 0));
  }
  return due;
}

// What means "none" is neither moved nor met by accident: then it is a millisecond later.
void move_times(Lease& lease, std::int64_t by_ms) {
  if (lease.deadline_mono_ms != kNoEnd) {
    lease.deadline_mono_ms = std::max<std::int64_t>(lease.deadline_mono_ms + by_ms, 0);
  }
  if (lease.confirm_by_mono_ms != 0) {
    lease.confirm_by_mono_ms = std::max<std::int64_t>(lease.confirm_by_mono_ms + by_ms, 1);
  }
  if (lease.orphaned_mono_ms != 0) {
    lease.orphaned_mono_ms += by_ms;
    if (lease.orphaned_mono_ms == 0) lease.orphaned_mono_ms = 1;
  }
  if (lease.edit) lease.edit->touched_mono_ms += by_ms;
}

void extend(Lease& lease, std::int64_t ttl_ms, const Context& context) {
  if (ttl_ms == kNoEnd) {
    lease.terms.ttl_ms = kNoEnd;
    lease.deadline_mono_ms = kNoEnd;
    lease.expires_wall_ms = kNoEnd;
  } else if (lease.deadline_mono_ms == kNoEnd ||
             lease.deadline_mono_ms < context.now.mono_ms + ttl_ms) {
    // Only if longer: a reboot starts the ttl over, and a shorter one would end it early (I6).
    lease.terms.ttl_ms = ttl_ms;
    lease.deadline_mono_ms = context.now.mono_ms + ttl_ms;
    lease.expires_wall_ms = context.now.wall_ms + ttl_ms;
  }
  lease.due_mono_ms = due_of(lease);
}

void hand_over(Lease& lease, const Context& context) {
  // A hub's client may have lost its connection, or its hub: it has a minute to come back.
  constexpr std::int64_t kRemoteMs = 60'000;
  const std::int64_t confirm_ms = lease.holds.front().is_remote()
                                      ? std::max(kRemoteMs, context.limits.confirm_ms)
                                      : context.limits.confirm_ms;
  lease.confirm_by_mono_ms = context.now.mono_ms + confirm_ms;
  if (lease.terms.ttl_ms != kNoEnd) {
    lease.deadline_mono_ms = context.now.mono_ms + std::max(lease.terms.ttl_ms, confirm_ms);
    lease.expires_wall_ms = context.now.wall_ms + lease.terms.ttl_ms;
  }
  lease.due_mono_ms = due_of(lease);
}

void keep_handoff(Lease& lease) {
  lease.confirm_by_mono_ms = 0;
  lease.holds = {lease.then};
  lease.due_mono_ms = due_of(lease);
}

void confirm_handoff(Lease& lease, const Context& context) {
  keep_handoff(lease);
  // The ttl counts from here: the handoff's own deadline only bridged the confirmation.
  lease.deadline_mono_ms = kNoEnd;
  extend(lease, lease.terms.ttl_ms, context);
}

void orphan(Lease& lease, const Context& context) {
  lease.orphaned_mono_ms = context.now.mono_ms;
  lease.due_mono_ms = due_of(lease);
}

void postpone(Lease& lease, const Context& context) {
  carry_over(lease, context);
  lease.orphaned_mono_ms = 0;
  lease.confirm_by_mono_ms = 0;
  lease.due_mono_ms = due_of(lease);
}

void reclaim(Lease& lease, const Attachment& attachment) {
  lease.holds = {attachment};
  lease.orphaned_mono_ms = 0;
  lease.due_mono_ms = due_of(lease);
}

Result<void> join(State& state, Lease& lease, const Attachment& attachment, std::int64_t grace_ms) {
  carry_over(lease, state.context());
  if (std::ranges::find(lease.holds, attachment) == lease.holds.end()) {
    Holds living;
    for (const Attachment& hold : lease.holds) {
      LK_ASSIGN(const Alive seen, look_at(state, hold));
      if (seen != Alive::kDead) living.push_back(hold);
    }
    lease.holds = std::move(living);
    if (lease.holds.size() >= kHoldsMax) {
      return fail(Code::kLimitExceeded,
                  std::to_string(lease.holds.size()) + " processes share lease " + lease.id.text() +
                      "; the limit is " + std::to_string(kHoldsMax),
                  "use a session of its own for each process");
    }
    lease.holds.push_back(attachment);
  }
  if (can_come_back(lease.owner)) {
    lease.terms.orphan_grace_ms = std::max(lease.terms.orphan_grace_ms, grace_ms);
  }
  lease.orphaned_mono_ms = 0;
  lease.due_mono_ms = due_of(lease);
  return {};
}

void carry_over(Lease& lease, const Context& context) {
  if (lease.epoch == context.epoch.id) return;
  lease.deadline_mono_ms = effective_deadline(lease, context.epoch);
  lease.epoch = context.epoch.id;
  lease.holds = {Attachment{}};  // the processes of the former boot are gone
  // So are their calls: it gives way at once.
  if (lease.edit) lease.edit->touched_mono_ms = -kept_ms(*lease.edit);
  if (lease.deadline_mono_ms != kNoEnd) {
    lease.expires_wall_ms = context.now.wall_ms + lease.deadline_mono_ms - context.now.mono_ms;
  }
  lease.due_mono_ms = due_of(lease);
}

// The clock runs on: attached leases keep their times, detached ones get their full ttl again.
void bring_along(Lease& lease, const Context& context) {
  if (!lease.attached()) {
    lease.deadline_mono_ms = effective_deadline(lease, context.epoch);
  }
  lease.epoch = context.epoch.id;
  lease.due_mono_ms = due_of(lease);
}

void end_at_wall(Lease& lease, std::int64_t wall_ms, const Context& context) {
  lease.terms.ttl_ms = kNoEnd;
  if (wall_ms != kNoEnd) {
    lease.terms.ttl_ms = std::max<std::int64_t>(0, wall_ms - context.now.wall_ms);
    lease.deadline_mono_ms = context.now.mono_ms + lease.terms.ttl_ms;
    lease.expires_wall_ms = wall_ms;
  }
  lease.due_mono_ms = due_of(lease);
}

std::int64_t remembered_until(const Context& context) {
  return context.now.mono_ms + context.limits.remember_ms;
}

std::int64_t refusal_until(const Context& context) {
  return context.now.mono_ms + kRefusalWindowMs;
}

kv::Range due_now(const Context& context) {
  return due_before(context.epoch.id, context.now.mono_ms);
}

kv::Range due_now_of_ours(const Context& context) {
  return due_of_clock(context.epoch.id, context.sightings->own_clock(), context.now.mono_ms);
}

// A lease and its due row are always written together, so one is seen with the other. Our own rows
// are found by their times.
bool is_due(const DueRow& due, const kv::Row& row, const Context& context) {
  if (due.epoch != context.epoch.id) return true;
  if (due.clock == context.sightings->own_clock()) return false;
  const std::string seen_as =
      due.what == Due::kLease ? lease_key(LeaseId{due.subject}) : std::string(row.key);
  const std::int64_t now = context.now.mono_ms;
  const std::int64_t seen = context.sightings->first_sight(seen_as, row.modified, now);
  if (due.mono_ms == INT64_MAX || row.value.size() < sizeof(std::uint64_t)) return false;
  return now - seen > due.mono_ms - static_cast<std::int64_t>(read_be64(row.value));
}

bool is_early(const Lease& lease, const Context& context) {
  return lease.epoch == context.epoch.id && context.now.mono_ms <= due_of(lease);
}

bool is_of_this_boot(const DueRow& due, const Context& context) {
  return due.epoch == context.epoch.id;
}

}  // namespace lockkeeper::core
