// Asking: from what was typed to the table's answer.
#include <algorithm>

#include "base/text.h"
#include "host/process.h"
#include "layout/mirror.h"
#include "service/locks.h"
#include "service/wait.h"

namespace lockkeeper::service {
namespace {

constexpr int kForeignFirstMax = 16;  // grants taken back before we give up
constexpr int kVerifiedTriesMax = 4;  // looks at what refused it

core::ForeignLock nobody(std::string why) {
  core::ForeignLock lock;
  lock.path = std::move(why);
  lock.owner.agent = "lockkeeper";
  return lock;
}

void add_lost(std::vector<core::LostLease>& to, std::vector<core::LostLease> from) {
  for (core::LostLease& lost : from) to.push_back(std::move(lost));
}

void take(AcquireResult& result, core::AcquireReply reply) {
  result.stood = reply.stood || reply.outcome == core::Outcome::kRenewed;
  result.outcome = reply.outcome;
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
    LK_CHECK(realm::check_allowed(table_.settings(), owner_.agent, resource));
    request.claims.push_back({std::move(resource), command.wanted.mode, 0});
  }
  request.terms = command.terms;
  LK_ASSIGN(request.terms.ttl_ms, realm::lease_length(table_.settings(), command.ttl_ms));
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
  layout::Mirror mirror(table_);
  LK_CHECK(mirror.open_to_write());
  AcquireCommand left = command;
  for (int tries = 0; tries < kForeignFirstMax; ++tries) {
    auto decided = acquire_once(left, request, result, &mirror);
    if (!decided) mirror.discard_unrecorded();
    LK_ASSIGN(AcquireResult once, std::move(decided));
    const std::int64_t waited = result.waited_ms + once.waited_ms;
    LK_ASSIGN(const bool stands, show(mirror, once));
    result.lost = once.lost;
    result.waited_ms = waited;
    if (stands) {
      once.waited_ms = waited;
      return once;
    }
    // Another tool was there first; it is in the table now, so asking again names it.
    if (left.wait_ms && *left.wait_ms != kWaitForEver) {
      left.wait_ms = std::max<std::int64_t>(0, *command.wait_ms - waited);
      request.wait = *left.wait_ms != 0;
    }
  }
  return fail(Code::kStoreBusy,
              "other tools took and left it " + std::to_string(kForeignFirstMax) +
                  " times while this was being decided",
              "try again");
}

// One decision of the table, with the queue if the command waits.
Result<AcquireResult> Locks::acquire_once(const AcquireCommand& command,
                                          core::AcquireRequest request, AcquireResult result,
                                          layout::Mirror* mirror) {
  LK_ASSIGN(core::AcquireReply reply, decide(command, request, result, mirror));
  if (reply.outcome == core::Outcome::kQueued) {
    return wait(command, std::move(result), std::move(reply), request.wake, mirror);
  }
  const bool timed_out = command.wait_ms == 0 && reply.outcome == core::Outcome::kHeld;
  take(result, std::move(reply));
  if (timed_out) result.outcome = core::Outcome::kTimeout;
  return result;
}

Result<core::AcquireReply> Locks::decide(const AcquireCommand& command,
                                         const core::AcquireRequest& request, AcquireResult& result,
                                         layout::Mirror* mirror) {
  core::AcquireReply reply;
  std::vector<core::LostLease> lost;
  const auto ask = [&](core::Table& table) -> Result<bool> {
    LK_CHECK(mirror->discard_unrecorded(table.state()));
    LK_ASSIGN(const bool more, mirror->apply(table));
    if (more) return true;
    LK_ASSIGN(reply, table.acquire(request));
    if (reply.again) return true;
    LK_CHECK(granted_in(table, command, reply, mirror));
    LK_ASSIGN(lost, table.take_lost_notices(owner_));
    return false;
  };
  const auto committed = [&] { add_lost(result.lost, std::move(lost)); };
  LK_CHECK(mirror->look(request.claims, true));
  for (int tries = 0;; ++tries) {
    auto version = write(ask, committed);
    if (!version) {
      mirror->discard_unrecorded();
      return fail(std::move(version.error()));
    }
    reply.stamp(*version);
    if (!mirror->any() || reply.conflicts.empty() || tries == kVerifiedTriesMax) return reply;
    // What refuses it may be gone from the disk already.
    const bool queued = reply.outcome == core::Outcome::kQueued;
    const auto changed = look_again(*mirror, reply.conflicts);
    if (queued) return reply;  // who waits looks for itself, and knows how to leave
    if (!changed) return fail(changed.error());
    if (!*changed) return reply;
  }
}

// True: what stood in the way has changed, and the table knows.
Result<bool> Locks::look_again(layout::Mirror& mirror,
                               const std::vector<core::Conflict>& conflicts) {
  LK_ASSIGN(const bool changed, mirror.verify(conflicts));
  if (!changed) return false;
  LK_CHECK(table_.write([&](core::Table& table) { return mirror.apply(table); }));
  LK_CHECK(mirror.settle_missing());
  return true;
}

// In the granting commit: what it replaces ends, and how it is shown is recorded.
Result<void> Locks::granted_in(core::Table& table, const AcquireCommand& command,
                               const core::AcquireReply& reply, layout::Mirror* mirror) const {
  const bool granted =
      reply.outcome == core::Outcome::kGranted || reply.outcome == core::Outcome::kRenewed;
  if (!granted) return {};
  std::vector<core::LeaseId> replaced = command.replaces;
  std::erase(replaced, reply.lease.id);
  if (!replaced.empty()) LK_CHECK(table.release_leases(reply.lease.owner, replaced));
  return mirror->record(table, reply.lease.id);
}

// After the commit. False: the grant was taken back, because another tool was there first.
Result<bool> Locks::show(layout::Mirror& mirror, AcquireResult& result) {
  if (result.outcome == core::Outcome::kGranted || result.outcome == core::Outcome::kRenewed) {
    auto first = mirror.publish(result.lease, !result.stood);
    const bool stands = first && !*first;
    if (stands && !mirror.any()) return true;
    // What its holder was told before is not taken back: that another tool came later is on record.
    if (!stands && !result.stood) {
      const core::ForeignLock by = first ? **first : nobody(first.error().message);
      if (const auto taken_back = mirror.withdraw(result.lease.id, by); !taken_back) {
        // It stands in the table, and nobody can say for how long: neither yes nor no (I9).
        return fail(Code::kUnknown,
                    "it was granted, then " + (first ? by.path : first.error().message) +
                        ", and could not be taken back: " + taken_back.error().message,
                    "see whether you hold it: lockkeeper list");
      }
      static_cast<void>(mirror.settle_missing());
      static_cast<void>(mirror.clean());
      if (!first) return fail(std::move(first.error()));
      return false;
    }
    result.unmirrored = mirror.unmirrored(result.lease);
    // The lease stands whatever comes of the rest, which whoever comes next tries again.
    if (result.stood) static_cast<void>(mirror.refresh({result.lease}));
    static_cast<void>(mirror.settle_missing());
    static_cast<void>(mirror.clean());
    return true;
  }
  if (!mirror.any()) return true;
  LK_CHECK(mirror.settle_missing());
  LK_CHECK(mirror.clean());
  return true;
}

Result<AcquireResult> Locks::wait(const AcquireCommand& command, AcquireResult result,
                                  core::AcquireReply queued, std::uint64_t word,
                                  layout::Mirror* mirror) {
  LK_ASSIGN(Waited waited, Waiting(table_, command, std::move(queued), word, mirror).run());
  take(result, std::move(waited.reply));
  if (result.outcome == core::Outcome::kHeld && waited.left) result.outcome = *waited.left;
  result.waited_ms = waited.ms;
  return result;
}

Result<std::vector<AcquireResult>> Locks::acquire_together(const std::vector<Member>& members) {
  std::vector<AcquireResult> results(members.size());
  std::vector<core::AcquireRequest> requests;
  std::vector<core::Claim> wanted;
  for (std::size_t i = 0; i < members.size(); ++i) {
    Locks member(table_, members[i].owner, under_);
    LK_ASSIGN(core::AcquireRequest request, member.request(members[i].command, results[i]));
    wanted.insert(wanted.end(), request.claims.begin(), request.claims.end());
    requests.push_back(std::move(request));
  }
  layout::Mirror mirror(table_);
  LK_CHECK(mirror.open_to_write());
  int verified = 0;
  for (int tries = 0; tries < kForeignFirstMax; ++tries) {
    // What is due is cleared first, so that the one commit below has room for all.
    LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> { return table.maintain(100); }));
    if (mirror.any()) {
      LK_CHECK(mirror.look(wanted, true));
      LK_CHECK(table_.write([&](core::Table& table) { return mirror.apply(table); }));
      LK_CHECK(mirror.settle_missing());
    }
    LK_ASSIGN(const bool all, decide_together(members, requests, results, mirror));
    if (!all) {
      std::vector<core::Conflict> conflicts;
      for (const AcquireResult& result : results) {
        conflicts.insert(conflicts.end(), result.conflicts.begin(), result.conflicts.end());
      }
      LK_ASSIGN(const bool changed, mirror.verify(conflicts));
      // What refuses it may come and go for ever, or hang between two of our own: it is held.
      if (!changed || ++verified > kVerifiedTriesMax) return results;
      continue;
    }
    LK_ASSIGN(const bool stand, show_together(mirror, results));
    if (stand) return results;
  }
  return fail(Code::kStoreBusy, "other tools took and left it while this was being decided",
              "try again");
}

// All of them, or what this batch was granted is taken back.
Result<bool> Locks::show_together(layout::Mirror& mirror, std::vector<AcquireResult>& results) {
  bool stand = true;
  std::optional<Error> trouble;
  for (AcquireResult& result : results) {
    if (!stand) break;
    const auto stands = show(mirror, result);
    if (!stands) trouble = stands.error();
    stand = stands && *stands;
  }
  if (stand) return true;
  for (const AcquireResult& result : results) {
    if (!result.stood) LK_CHECK(mirror.withdraw(result.lease.id, nobody("another of the batch")));
  }
  static_cast<void>(mirror.clean());
  if (trouble) return fail(std::move(*trouble));
  return false;
}

// True: all are granted. False: none is, and the results say what stands in the way.
Result<bool> Locks::decide_together(const std::vector<Member>& members,
                                    const std::vector<core::AcquireRequest>& requests,
                                    std::vector<AcquireResult>& results, layout::Mirror& mirror) {
  std::vector<core::AcquireReply> replies;
  bool all = true;
  const auto version = table_.write([&](core::Table& table) -> Result<bool> {
    LK_CHECK(mirror.discard_unrecorded(table.state()));
    replies.clear();
    all = true;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      LK_ASSIGN(core::AcquireReply reply, table.acquire(requests[i]));
      if (reply.again)
        return fail(Code::kStoreBusy, "the table has too much to clear", "try again");
      LK_CHECK(granted_in(table, members[i].command, reply, &mirror));
      all &= reply.outcome == core::Outcome::kGranted || reply.outcome == core::Outcome::kRenewed;
      replies.push_back(std::move(reply));
    }
    // An error drops the transaction: nothing of it was granted.
    if (!all) return fail(Code::kHeld, "");
    return false;
  });
  if (!version) mirror.discard_unrecorded();
  if (!version && version.error().code != Code::kHeld) return fail(version.error());
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (version) replies[i].stamp(*version);
    take(results[i], std::move(replies[i]));
    if (!version) results[i].outcome = core::Outcome::kHeld;
  }
  return all;
}

}  // namespace lockkeeper::service
