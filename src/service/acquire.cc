// Asking: from what was typed to the table's answer.
#include "base/text.h"
#include "host/process.h"
#include "service/locks.h"
#include "service/wait.h"

namespace lockkeeper::service {
namespace {

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
  request.agent_type = command.agent_type;
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
                                  core::AcquireReply queued, std::uint64_t word) {
  LK_ASSIGN(Waited waited, Waiting(table_, command, std::move(queued), word).run());
  take(result, std::move(waited.reply));
  if (result.outcome == Ended::kHeld && waited.left) result.outcome = *waited.left;
  result.waited_ms = waited.ms;
  return result;
}

}  // namespace lockkeeper::service
