#include "service/wait.h"

#include <algorithm>

#include "layout/mirror.h"

namespace lockkeeper::service {
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

Waiting::Waiting(layout::LockTable& table, const AcquireCommand& command, core::AcquireReply queued,
                 std::uint64_t word, layout::Mirror* mirror)
    : table_(table),
      command_(command),
      reply_(std::move(queued)),
      id_(reply_.lease.id),
      word_(word),
      mirror_(mirror),
      began_ms_(now_ms()),
      looked_ms_(began_ms_) {}

Result<Waited> Waiting::run() {
  auto waker = table_.waker();
  if (!waker) {
    (void)leave(core::Outcome::kInterrupted);
    return fail(std::move(waker.error()));
  }
  for (;;) {
    // Read the word, look at the table, then sleep on what was read: no wake is lost between.
    const std::uint32_t seen = (*waker)->read(word_);
    LK_ASSIGN(const bool queued, look());
    if (!queued) return Waited{std::move(reply_), std::nullopt, now_ms() - began_ms_};
    LK_ASSIGN(const std::optional<core::Outcome> leaves, sleep(**waker, seen));
    if (leaves) return leave(*leaves);
  }
}

// A grant that this look found: in the same commit it is recorded how it is shown.
Result<void> Waiting::record(core::Table& table) const {
  if (reply_.outcome != core::Outcome::kGranted) return {};
  LK_CHECK(mirror_->discard_unrecorded(table.state()));
  return mirror_->record(table, id_);
}

bool Waiting::patient(const Error& error) const {
  return error.code == Code::kStoreBusy && now_ms() - looked_ms_ < kBusyPatienceMs;
}

// What other tools hold. If that cannot be told nothing may be granted. False: look again later.
Result<bool> Waiting::look_at_layouts() {
  auto looked = mirror_->tick();
  if (looked) return true;
  if (patient(looked.error())) return false;
  const auto left = leave(core::Outcome::kInterrupted);
  if (left && left->reply.outcome == core::Outcome::kGranted) {
    // Handed to it before it could leave: nobody would know of it.
    core::ForeignLock unknown;
    unknown.path = looked.error().message;
    unknown.owner.agent = "lockkeeper";
    static_cast<void>(mirror_->withdraw(id_, unknown));
    static_cast<void>(mirror_->clean());
  }
  return fail(std::move(looked.error()));
}

Result<bool> Waiting::look() {
  LK_ASSIGN(const bool looked, look_at_layouts());
  if (!looked) return true;
  auto version = table_.write([&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(reply_, table.poll(id_));
    LK_CHECK(record(table));
    return false;
  });
  if (version) {
    looked_ms_ = now_ms();
    reply_.stamp(*version);
    return reply_.outcome == core::Outcome::kQueued;
  }
  if (patient(version.error())) return true;
  // If it was granted meanwhile, leaving has confirmed that, and it is the answer (I9).
  auto left = leave(core::Outcome::kInterrupted);
  if (left && left->reply.outcome == core::Outcome::kGranted) {
    reply_ = std::move(left->reply);
    return false;
  }
  return fail(std::move(version.error()));
}

Result<Waited> Waiting::leave(core::Outcome why) {
  const char* const cause = why == core::Outcome::kTimeout ? "timeout" : "interrupted";
  LK_ASSIGN(const kv::Version version, table_.write([&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(reply_, table.cancel(id_, cause));
    LK_CHECK(record(table));
    return false;
  }));
  reply_.stamp(version);
  return Waited{std::move(reply_), why, now_ms() - began_ms_};
}

// Leases and the waiters before it; far back only the one right ahead. Looking at a thousand
// waiters would cost more than it tells; they look after each other.
Waiting::Vigil Waiting::vigil() const {
  const core::Conflict* ahead = nullptr;
  for (const core::Conflict& conflict : reply_.conflicts) {
    if (!conflict.waiting || conflict.alive == core::Alive::kDead) continue;
    if (ahead == nullptr || conflict.holder.created > ahead->holder.created) ahead = &conflict;
  }
  const bool rings = core::must_look_for_cycles(reply_.lease);
  if (ahead == nullptr || reply_.position <= kNear || rings) {
    const std::int64_t again_ms = mirror_->any() ? kLookAtLayoutsMs : kLookAgainMs;
    const std::int64_t look_ms = rings ? core::kCycleLookMs : again_ms;
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
std::int64_t Waiting::sleep_ms(const Vigil& vigil, std::int64_t now) const {
  std::int64_t sleep = kLookAgainMs;
  for (const core::Conflict& conflict : vigil.blockers) {
    const core::Lease& holder = conflict.holder;
    if (holder.attachment.attached()) sleep = std::min(sleep, vigil.probe_ms);
    // What is due by an earlier boot's clock is carried over by whoever sweeps.
    const bool this_boot = holder.epoch == reply_.lease.epoch;
    if (conflict.waiting || holder.due_mono_ms == kNoEnd || !this_boot) continue;
    // One millisecond more: a lease is over strictly after its end.
    sleep = std::min(sleep, std::max<std::int64_t>(1, holder.due_mono_ms + 1 - now));
  }
  return sleep;
}

bool Waiting::any_dead(const Vigil& vigil) const {
  return std::ranges::any_of(vigil.blockers, [&](const core::Conflict& conflict) {
    const core::Attachment& attachment = conflict.holder.attachment;
    return attachment.attached() && table_.probe(attachment) == core::Alive::kDead;
  });
}

// Both are in the queue still, and the one ahead lives: for the one behind nothing has changed. A
// read: a thousand who wait must not stand in the way of those who release.
bool Waiting::stands_behind(const core::LeaseId& ahead) {
  bool stands = false;
  const auto there = table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(const std::optional<core::Waiter> mine, table.state().waiter(id_));
    LK_ASSIGN(const std::optional<core::Waiter> other, table.state().waiter(ahead));
    if (!mine || !other) return {};
    LK_ASSIGN(const core::Condition ours, core::condition(table.state(), *mine));
    LK_ASSIGN(const core::Condition its, core::condition(table.state(), *other));
    stands = !ours.over && !its.over;
    return {};
  });
  return there && stands;
}

// Nothing: it is time to look. Otherwise why to leave.
Result<std::optional<core::Outcome>> Waiting::sleep(const host::Waker& waker, std::uint32_t seen) {
  const Vigil watched = vigil();
  std::int64_t look_by = now_ms() + watched.look_ms;
  for (;;) {
    const std::int64_t now = now_ms();
    const std::int64_t waited = now - began_ms_;
    if (command_.on_wait && !command_.on_wait({reply_.conflicts, reply_.position, waited})) {
      return core::Outcome::kInterrupted;
    }
    std::int64_t ms = std::min(sleep_ms(watched, now), look_by - now);
    if (*command_.wait_ms != kWaitForEver) {
      if (waited >= *command_.wait_ms) return core::Outcome::kTimeout;
      ms = std::min(ms, *command_.wait_ms - waited);
    }
    const host::Woken woken = waker.wait(word_, seen, std::max<std::int64_t>(1, ms));
    const std::int64_t then = now_ms();
    if (woken == host::Woken::kWake || any_dead(watched)) return std::nullopt;
    if (sleep_ms(watched, then) <= 1) return std::nullopt;
    if (then < look_by) continue;
    const bool in_full = watched.ahead.empty() || then >= looked_ms_ + watched.full_look_ms;
    if (in_full || !stands_behind(watched.ahead)) return std::nullopt;
    look_by = then + watched.look_ms;
  }
}

}  // namespace lockkeeper::service
