// Asking, and waiting in the queue: the loop around the table's rules.
#include <algorithm>

#include "base/text.h"
#include "host/process.h"
#include "service/locks.h"

namespace lockkeeper::service {
namespace {

constexpr std::int64_t kLookAgainMs = 1'000;  // wakes are hints
// Attached blockers are tested without the gate, which costs a microsecond. Who stands behind
// nobody takes over from the dead and looks more often than those behind it.
constexpr std::int64_t kProbeEveryMs = 20;
constexpr std::int64_t kProbeFirstMs = 5;

void add_lost(std::vector<core::LostLease>& to, std::vector<core::LostLease> from) {
  for (core::LostLease& lost : from) to.push_back(std::move(lost));
}

Ended ended(core::Outcome outcome) {
  switch (outcome) {
    case core::Outcome::kGranted:
      return Ended::kGranted;
    case core::Outcome::kRenewed:
      return Ended::kRenewed;
    case core::Outcome::kDeadlock:
      return Ended::kDeadlock;
    case core::Outcome::kHeld:
    case core::Outcome::kQueued:
      return Ended::kHeld;
  }
  return Ended::kHeld;
}

void take(AcquireResult& result, core::AcquireReply reply) {
  result.outcome = ended(reply.outcome);
  result.lease = std::move(reply.lease);
  result.conflicts = std::move(reply.conflicts);
  result.cycle = std::move(reply.cycle);
  result.position = reply.position;
}

Result<core::Attachment> attachment_of(int pid) {
  auto process = host::identify(pid);
  if (!process) {
    Error error = process.error();
    if (error.code == Code::kNotFound) {
      error.code = Code::kInvalidInput;
      error.hint = "give the pid of a process that is running";
    }
    return fail(std::move(error));
  }
  core::Attachment attachment;
  attachment.pid_namespace = process->pid_namespace;
  attachment.pid = process->pid;
  attachment.start_ticks = process->start_ticks;
  return attachment;
}

// How long to sleep before anything could have changed without a wake.
std::int64_t next_look_ms(const std::vector<core::Conflict>& blockers, std::int64_t now_mono) {
  std::int64_t sleep = kLookAgainMs;
  const bool first = std::none_of(blockers.begin(), blockers.end(),
                                  [](const core::Conflict& conflict) { return conflict.waiting; });
  const std::int64_t probe_ms = first ? kProbeFirstMs : kProbeEveryMs;
  for (const core::Conflict& conflict : blockers) {
    const core::Lease& holder = conflict.holder;
    if (holder.attachment.attached()) sleep = std::min(sleep, probe_ms);
    if (conflict.waiting || holder.due_mono_ms == kNoEnd) continue;
    // One millisecond more: a lease is over strictly after its end.
    sleep = std::min(sleep, std::max<std::int64_t>(1, holder.due_mono_ms + 1 - now_mono));
  }
  return sleep;
}

bool any_dead(const LockTable& table, const std::vector<core::Conflict>& blockers) {
  return std::any_of(blockers.begin(), blockers.end(), [&](const core::Conflict& conflict) {
    const core::Attachment& attachment = conflict.holder.attachment;
    return attachment.attached() && table.probe(attachment) == core::Alive::kDead;
  });
}

// Those whose end this waiter can notice itself: leases, and the waiters right before it. Looking
// at a thousand waiters every 20 ms would cost more than it tells; they look after each other.
std::vector<core::Conflict> watched(const std::vector<core::Conflict>& conflicts) {
  constexpr std::size_t kWaitersWatched = 4;
  std::vector<core::Conflict> list;
  std::vector<const core::Conflict*> waiters;
  for (const core::Conflict& conflict : conflicts) {
    if (conflict.waiting) {
      waiters.push_back(&conflict);
    } else {
      list.push_back(conflict);
    }
  }
  std::sort(waiters.begin(), waiters.end(), [](const core::Conflict* a, const core::Conflict* b) {
    return a->holder.created > b->holder.created;
  });
  if (waiters.size() > kWaitersWatched) waiters.resize(kWaitersWatched);
  for (const core::Conflict* waiter : waiters) list.push_back(*waiter);
  return list;
}

}  // namespace

Result<core::AcquireRequest> Locks::request(const AcquireCommand& command,
                                            AcquireResult& result) const {
  core::AcquireRequest request;
  request.owner = owner_;
  LK_ASSIGN(Resolved resolved, resolve(command.wanted));
  result.warnings = std::move(resolved.warnings);
  for (key::Resource& resource : resolved.resources) {
    LK_CHECK(check_allowed(table_.settings(), owner_.agent, resource));
    request.claims.push_back({std::move(resource), command.wanted.mode, 0});
  }
  LK_ASSIGN(request.ttl_ms, lease_length(table_.settings(), command.ttl_ms));
  request.reason = command.reason;
  request.task = command.task;
  request.request_id = command.request_id;
  request.orphan_grace_ms = command.orphan_grace_ms;
  request.attachment = command.attachment;
  if (command.attach_pid) {
    LK_ASSIGN(request.attachment, attachment_of(*command.attach_pid));
  }
  request.under = under_.lease;
  request.under_fence = under_.fence;
  return request;
}

Result<AcquireResult> Locks::acquire(const AcquireCommand& command) {
  AcquireResult result;
  LK_ASSIGN(core::AcquireRequest request, this->request(command, result));
  if (request.claims.empty()) {
    return fail(Code::kUsage, "no resource was named", "name at least one path or key");
  }
  if (command.wait_ms) {
    request.wait = *command.wait_ms != 0;
    request.waiting_process = command.attachment;
    if (command.attachment.slot == 0) {
      LK_ASSIGN(request.waiting_process, table_.own_slot());
    }
    request.wake = command.wake != 0 ? command.wake : table_.new_ticket();
  }
  core::AcquireReply reply;
  std::vector<core::LostLease> lost;
  const auto ask = [&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(reply, table.acquire(request));
    LK_ASSIGN(lost, table.take_lost_notices(owner_));
    return reply.again;
  };
  const auto committed = [&] { add_lost(result.lost, std::move(lost)); };
  LK_ASSIGN(const kv::Version version, table_.write(ask, committed));
  reply.stamp(version);
  if (reply.outcome == core::Outcome::kQueued) {
    return wait(command, std::move(result), std::move(reply), request.wake);
  }
  const bool timed_out = command.wait_ms == 0 && reply.outcome == core::Outcome::kHeld;
  take(result, std::move(reply));
  if (timed_out) result.outcome = Ended::kTimeout;
  return result;
}

Result<AcquireResult> Locks::wait(const AcquireCommand& command, AcquireResult result,
                                  core::AcquireReply reply, std::uint64_t word) {
  const Clock& clock = *table_.runtime().clock;
  const std::int64_t began = clock.now().mono_ms;
  const core::LeaseId id = reply.lease.id;
  LK_ASSIGN(host::WakeBoard* const board, table_.board());
  const auto leave = [&](const char* cause, Ended how) -> Result<AcquireResult> {
    LK_ASSIGN(const kv::Version version, table_.write([&](core::Table& table) -> Result<bool> {
      LK_ASSIGN(reply, table.cancel(id, cause));
      return false;
    }));
    reply.stamp(version);
    take(result, std::move(reply));
    if (result.outcome == Ended::kHeld) result.outcome = how;
    result.waited_ms = clock.now().mono_ms - began;
    return std::move(result);
  };
  for (;;) {
    const bool rings = core::must_look_for_rings(reply.lease);
    const std::int64_t look_ms = rings ? core::kRingLookMs : kLookAgainMs;
    const std::int64_t look_by = clock.now().mono_ms + look_ms;
    // Read the word, look at the table, then sleep on what was read: no wake is lost between.
    const std::uint32_t seen = board->read(word);
    LK_ASSIGN(const kv::Version version, table_.write([&](core::Table& table) -> Result<bool> {
      LK_ASSIGN(reply, table.poll(id));
      return false;
    }));
    reply.stamp(version);
    if (reply.outcome != core::Outcome::kQueued) {
      take(result, std::move(reply));
      result.waited_ms = clock.now().mono_ms - began;
      return result;
    }
    const std::vector<core::Conflict> watching = watched(reply.conflicts);
    for (bool asleep = true; asleep;) {
      const std::int64_t now = clock.now().mono_ms;
      const std::int64_t waited = now - began;
      const bool stop =
          command.on_wait && !command.on_wait({reply.conflicts, reply.position, waited});
      if (stop) return leave("interrupted", Ended::kInterrupted);
      std::int64_t sleep = std::min(next_look_ms(watching, now), look_by - now);
      if (*command.wait_ms != kWaitForEver) {
        const std::int64_t left = *command.wait_ms - waited;
        if (left <= 0) return leave("timeout", Ended::kTimeout);
        sleep = std::min(sleep, left);
      }
      const host::Woken woken = board->wait(word, seen, std::max<std::int64_t>(1, sleep));
      asleep = woken != host::Woken::kWake && clock.now().mono_ms < look_by &&
               !any_dead(table_, watching) && next_look_ms(watching, clock.now().mono_ms) > 1;
    }
  }
}

}  // namespace lockkeeper::service
