// Asking: from what was typed to a request.
#include "host/process.h"
#include "service/acquisition.h"
#include "service/locks.h"

namespace lockkeeper::service {
namespace {

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
    LK_CHECK(realm::check_allowed(table_.settings(), owner_.agent, resource));
    request.claims.push_back({std::move(resource), command.wanted.mode, 0});
  }
  request.terms = command.terms;
  LK_ASSIGN(request.terms.ttl_ms, realm::lease_ttl(table_.settings(), command.ttl_ms));
  request.attachment = command.attachment;
  if (command.attach_pid) {
    LK_ASSIGN(request.attachment, attachment_of(*command.attach_pid));
  }
  request.under = under_.lease;
  request.under_fence = under_.fence;
  return request;
}

Result<AcquireResult> Locks::acquire(const AcquireCommand& command) {
  Acquisition::Part part{command, {}, {}};
  LK_ASSIGN(part.request, request(command, part.result));
  if (part.request.claims.empty()) {
    return fail(Code::kUsage, "no resource was named", "name at least one path or key");
  }
  if (command.wait_ms) {
    part.request.wait = *command.wait_ms != 0;
    part.request.waiting_process = command.attachment;
    if (command.attachment.slot == 0) {
      LK_ASSIGN(part.request.waiting_process, table_.own_slot());
    }
    part.request.wake = command.wake != 0 ? command.wake : table_.new_ticket();
  }
  LK_ASSIGN(std::vector<AcquireResult> results,
            Acquisition(table_, writer(), {std::move(part)}).run());
  return std::move(results.front());
}

Result<std::vector<AcquireResult>> Locks::acquire_together(const std::vector<Member>& members) {
  std::vector<Acquisition::Part> parts;
  for (const Member& member : members) {
    Acquisition::Part part{member.command, {}, {}};
    LK_ASSIGN(part.request,
              Locks(table_, member.owner, under_).request(member.command, part.result));
    parts.push_back(std::move(part));
  }
  if (parts.empty()) return std::vector<AcquireResult>();
  return Acquisition(table_, writer(), std::move(parts)).run();
}

}  // namespace lockkeeper::service
