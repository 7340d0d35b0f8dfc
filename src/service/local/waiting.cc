#include "service/local/waiting.h"

#include <algorithm>

#include "core/condition.h"
#include "layout/mirror.h"

namespace lockkeeper::service::local {
namespace {

constexpr std::int64_t kLookAgainMs = 1'000;    // wakes are hints
constexpr std::int64_t kLookAtLayoutsMs = 500;  // other tools wake nobody
// Attached blockers are tested without the gate, which costs a microsecond. Who stands behind
// nobody takes over from the dead and looks more often than those behind it.
constexpr std::int64_t kProbeEveryMs = 20;
constexpr std::int64_t kProbeFirstMs = 5;
// Farther back nothing can happen before the one ahead is gone: it is that one alone they look at.
// Their place in the queue, which costs as much as the queue is long, they look at seldom.
constexpr std::size_t kNear = 5;
constexpr std::int64_t kFarLookPerPlaceMs = 10;
constexpr std::int64_t kFarLookLeastMs = 100;
constexpr std::int64_t kFullLookPerPlaceMs = 200;
constexpr std::int64_t kFullLookMostMs = 60'000;
// Somebody stopped inside the store is no reason to lose one's place, unless he stays.
constexpr std::int64_t kBusyPatienceMs = 30'000;

}  // namespace

Waiting::Waiting(layout::LockTable& table, core::AcquireReply queued, std::uint64_t word,
                 layout::Mirror& mirror)
    : table_(table),
      reply_(std::move(queued)),
      id_(reply_.lease.id),
      word_(word),
      mirror_(mirror),
      looked_ms_(now_ms()) {}

Result<bool> Waiting::run(std::int64_t at_most_ms, bool looks) {
  const auto how = looks ? core::Table::Poll::kLooks : core::Table::Poll::kConfirms;
  auto waker = table_.waker();
  if (!waker) {
    LK_CHECK(leave_after_error());
    return fail(std::move(waker.error()));
  }
  std::int64_t left_ms = at_most_ms;
  for (bool looked = false;; looked = true) {
    if (must_look_) {
      // Read the word, look at the table, then sleep on what was read: no wake is lost between.
      seen_ = (*waker)->read(word_);
      const std::size_t position = reply_.position;
      LK_ASSIGN(const bool queued, look(how));
      if (!queued) return false;
      if (reply_.outcome == core::Outcome::kGranted) return true;  // and the next run looks again
      must_look_ = false;
      plan_ = plan_watch();
      look_by_ = now_ms() + plan_.look_ms;
      if (reply_.position != position) return true;
    }
    const Woken woken = at_most_ms <= 0 && !looked ? glance(**waker) : sleep(**waker, left_ms);
    if (woken == Woken::kToReturn) return true;
    must_look_ = true;
  }
}

// A grant that this look found: the same commit records how it is shown to other tools.
Result<void> Waiting::record_grant(core::Table& table) const {
  if (reply_.outcome != core::Outcome::kGranted || !core::is_confirmed(reply_.lease)) return {};
  LK_CHECK(mirror_.discard_unrecorded(table.state()));
  return mirror_.record(table, id_);
}

bool Waiting::may_retry(const Error& error) const {
  return error.code == Code::kStoreBusy && now_ms() - looked_ms_ < kBusyPatienceMs;
}

// An error that reaches the caller: a grant that came meanwhile is given back, because nobody would
// know of it.
Result<void> Waiting::leave_after_error() {
  const auto write = [this](const layout::LockTable::Work& work,
                            const std::function<void()>& done) { return table_.write(work, done); };
  return leave(core::Outcome::kInterrupted, write);
}

// What other tools hold. If that cannot be told, nothing may be granted. False: look again later.
Result<bool> Waiting::scan_layouts() {
  auto scanned = mirror_.tick();
  if (scanned) return true;
  if (may_retry(scanned.error())) return false;
  const auto left = leave_after_error();
  if (left && reply_.outcome == core::Outcome::kGranted) {
    core::ForeignLock unknown;
    unknown.path = scanned.error().message;
    unknown.owner.agent = "lockkeeper";
    static_cast<void>(mirror_.withdraw(id_, unknown));
    static_cast<void>(mirror_.clean());
  }
  return fail(std::move(scanned.error()));
}

Result<bool> Waiting::look(core::Table::Poll how) {
  LK_ASSIGN(const bool scanned, scan_layouts());
  if (!scanned) return true;
  auto version = table_.write([&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(reply_, table.poll(id_, how));
    LK_CHECK(record_grant(table));
    return reply_.again;
  });
  if (version) {
    looked_ms_ = now_ms();
    reply_.stamp(*version);
    return reply_.outcome == core::Outcome::kQueued ||
           core::is_handoff(reply_.outcome, reply_.lease);
  }
  if (may_retry(version.error())) return true;
  // If it was granted meanwhile, leaving has confirmed that, and it is the answer (I9).
  const auto left = leave_after_error();
  if (left && reply_.outcome == core::Outcome::kGranted) return false;
  return fail(std::move(version.error()));
}

Result<void> Waiting::leave(core::Outcome why, const layout::LockTable::Write& write) {
  const char* const cause = why == core::Outcome::kTimeout ? "timeout" : "interrupted";
  const auto cancel = [&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(reply_, table.cancel(id_, cause));
    LK_CHECK(record_grant(table));
    return false;
  };
  LK_ASSIGN(const kv::Version version, write(cancel, {}));
  reply_.stamp(version);
  return {};
}

// Leases and the waiters before it; far back only the one right ahead. Looking at a thousand
// waiters would cost more than it tells; they look after each other.
Waiting::WatchPlan Waiting::plan_watch() const {
  const core::Conflict* ahead = nullptr;
  for (const core::Conflict& conflict : reply_.conflicts) {
    if (!conflict.waiting || conflict.alive == core::Alive::kDead) continue;
    if (ahead == nullptr || conflict.holder.created > ahead->holder.created) ahead = &conflict;
  }
  const bool cycles = core::must_look_for_cycles(reply_.lease);
  if (ahead == nullptr || reply_.position <= kNear || cycles) {
    const std::int64_t again_ms = mirror_.any() ? kLookAtLayoutsMs : kLookAgainMs;
    const std::int64_t look_ms = cycles ? core::kCycleLookMs : again_ms;
    return {
        reply_.conflicts, {}, ahead == nullptr ? kProbeFirstMs : kProbeEveryMs, look_ms, look_ms};
  }
  const auto place = static_cast<std::int64_t>(reply_.position);
  const std::int64_t look_ms =
      std::clamp(place * kFarLookPerPlaceMs, kFarLookLeastMs, kLookAgainMs);
  return {{*ahead},
          ahead->holder.id,
          look_ms,
          look_ms,
          std::clamp(place * kFullLookPerPlaceMs, kLookAgainMs, kFullLookMostMs)};
}

// How long to sleep before anything could have changed without a wake.
std::int64_t Waiting::sleep_ms(std::int64_t now) const {
  std::int64_t sleep = kLookAgainMs;
  for (const core::Conflict& conflict : plan_.blockers) {
    const core::Lease& holder = conflict.holder;
    if (holder.attached()) sleep = std::min(sleep, plan_.probe_ms);
    // What is due by an earlier boot's clock is carried over by whoever sweeps.
    const bool this_boot = holder.epoch == reply_.lease.epoch;
    if (conflict.waiting || holder.due_mono_ms == kNoEnd || !this_boot) continue;
    // One millisecond more: a lease is over strictly after its end.
    sleep = std::min(sleep, std::max<std::int64_t>(1, holder.due_mono_ms + 1 - now));
  }
  return sleep;
}

bool Waiting::any_dead() const {
  return std::ranges::any_of(plan_.blockers, [&](const core::Conflict& conflict) {
    return table_.alive(conflict.holder) == core::Alive::kDead;
  });
}

// Both are in the queue still, and the one ahead lives: for the one behind nothing has changed. A
// read: a thousand who wait must not stand in the way of those who release.
bool Waiting::still_behind(const core::LeaseId& ahead) {
  bool still = false;
  const auto there = table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(const std::optional<core::Waiter> mine, table.state().waiter(id_));
    LK_ASSIGN(const std::optional<core::Waiter> other, table.state().waiter(ahead));
    if (!mine || !other) return {};
    LK_ASSIGN(const core::Condition ours, core::condition(table.state(), *mine));
    LK_ASSIGN(const core::Condition its, core::condition(table.state(), *other));
    still = !ours.over && !its.over;
    return {};
  });
  return there && still;
}

// Is there a reason to look? For callers that watch many requests and cannot sleep on each.
Waiting::Woken Waiting::glance(const host::Waker& waker) {
  const std::int64_t now = now_ms();
  if (waker.read(word_) != seen_ || any_dead() || sleep_ms(now) <= 1) return Woken::kToLook;
  return now < look_by_ ? Woken::kToReturn : due(now);
}

// The time to look has come: at everything, or only at the one ahead.
Waiting::Woken Waiting::due(std::int64_t now) {
  const bool in_full = plan_.ahead.empty() || now >= looked_ms_ + plan_.full_look_ms;
  if (in_full || !still_behind(plan_.ahead)) return Woken::kToLook;
  look_by_ = now + plan_.look_ms;
  return Woken::kToReturn;
}

// `left_ms` counts what was slept and what passed on the clock, whichever is more: a test's clock
// may stand still.
Waiting::Woken Waiting::sleep(const host::Waker& waker, std::int64_t& left_ms) {
  for (;;) {
    if (left_ms <= 0) return Woken::kToReturn;
    const std::int64_t now = now_ms();
    const std::int64_t ms =
        std::max<std::int64_t>(1, std::min({sleep_ms(now), look_by_ - now, left_ms}));
    const host::Woken woken = waker.wait(word_, seen_, ms);
    const std::int64_t then = now_ms();
    left_ms -= std::max(then - now, woken == host::Woken::kTimeout ? ms : 0);
    if (woken == host::Woken::kInterrupted) return Woken::kToReturn;
    if (woken == host::Woken::kWake) {
      left_ms = 0;  // after the look: whoever woke it may want its caller to do something
      return Woken::kToLook;
    }
    if (any_dead() || sleep_ms(then) <= 1) return Woken::kToLook;
    if (then < look_by_) continue;
    if (due(then) == Woken::kToLook) return Woken::kToLook;
  }
}

}  // namespace lockkeeper::service::local
