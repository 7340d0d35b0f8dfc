#include "service/locks.h"

#include <algorithm>

#include "base/text.h"
#include "core/condition.h"
#include "host/process.h"
#include "layout/mirror.h"
#include "service/questions.h"
#include "service/report.h"

namespace lockkeeper::service {
namespace {

constexpr std::int64_t kAwaitMs = 1'000;  // so often a command's on_wait is called

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

Result<std::vector<core::LeaseId>> parse_ids(const std::vector<std::string>& texts) {
  std::vector<core::LeaseId> ids;
  for (const std::string& text : texts) {
    const std::optional<core::LeaseId> id = core::LeaseId::from_text(text);
    if (!id) {
      return fail(Code::kNotFound, quote(text) + " is not the id of a lease",
                  "ids are 32 hexadecimal digits; see: lockkeeper list");
    }
    ids.push_back(*id);
  }
  return ids;
}

}  // namespace

Result<Locks::Resolved> Locks::resolve(const Wanted& wanted) const {
  Resolved resolved;
  const key::Rules rules = site_->key_rules();
  realm::Resolver resolver(site_->realm(), rules, wanted.base, site_->runtime().env,
                           {wanted.convert_backslash});
  for (const std::string& text : wanted.texts) {
    LK_ASSIGN(key::Parsed parsed, resolver.resolve(text, wanted.syntax));
    resolved.resources.push_back(std::move(parsed.resource));
    for (std::string& warning : parsed.warnings) resolved.warnings.push_back(std::move(warning));
  }
  resolved.resources.insert(resolved.resources.end(), wanted.resources.begin(),
                            wanted.resources.end());
  return resolved;
}

std::vector<core::Claim> Locks::Resolved::claims(core::Mode mode) const {
  std::vector<core::Claim> claims;
  for (const key::Resource& resource : resources) claims.push_back({resource, mode, 0});
  return claims;
}

Caller Locks::caller() const {
  return {owner_, parent_, {.losses = false, .messages = tell_messages_, .waiting = false}, {}};
}

template <typename T, typename Call>
Result<T> Locks::ask(Result<Reply<T>> (Service::*method)(const Call&), const Call& call) {
  LK_ASSIGN(Service* const service, site_->service());
  auto reply = (service->*method)(call);
  failed_ = !reply;
  if (!reply) return fail(std::move(reply.error()));
  notices_.add(std::move(reply->notices));
  return std::move(reply->value);
}

Result<AcquireCall> Locks::call(const AcquireCommand& command,
                                std::vector<std::string>& warnings) const {
  AcquireCall call;
  call.caller = caller();
  call.caller.request_id = command.terms.request_id;
  LK_ASSIGN(Resolved resolved, resolve(command.wanted));
  warnings = std::move(resolved.warnings);
  call.claims = resolved.claims(command.wanted.mode);
  call.terms = command.terms;
  call.ttl_ms = command.ttl_ms;
  call.attachment = command.attachment;
  if (command.attach_pid) {
    LK_ASSIGN(call.attachment, attachment_of(*command.attach_pid));
  }
  call.wake = command.wake;
  call.replaces = command.replaces;
  return call;
}

Result<AcquireResult> Locks::acquire(const AcquireCommand& command) {
  std::vector<std::string> warnings;
  LK_ASSIGN(AcquireCall call, this->call(command, warnings));
  call.caller.tell.losses = true;
  call.wait = command.wait_ms.value_or(0) != 0;
  LK_ASSIGN(Service* const service, site_->service());
  auto reply = service->acquire(call);
  failed_ = !reply;
  if (!reply) return fail(std::move(reply.error()));
  LK_ASSIGN(AcquireResult result, wait(*service, command, std::move(*reply)));
  result.warnings = std::move(warnings);
  if (command.wait_ms && result.outcome == core::Outcome::kHeld) {
    result.outcome = core::Outcome::kTimeout;
  }
  return result;
}

// While the request is in the queue.
Result<AcquireResult> Locks::wait(Service& service, const AcquireCommand& command,
                                  Reply<AcquireResult> reply) {
  const std::int64_t began_ms = site_->now().mono_ms;
  std::int64_t waited_ms = 0;
  for (;;) {
    notices_.add(std::move(reply.notices));
    AcquireResult& result = reply.value;
    if (result.outcome != core::Outcome::kQueued) break;
    waited_ms = site_->now().mono_ms - began_ms;
    const bool endless = *command.wait_ms == kWaitForever;
    const std::int64_t left_ms = endless ? kAwaitMs : *command.wait_ms - waited_ms;
    const bool interrupted =
        command.on_wait && !command.on_wait({result.conflicts, result.position, waited_ms});
    auto next =
        !interrupted && left_ms > 0
            ? service.await({caller(), result.lease.id, std::min(kAwaitMs, left_ms)})
            : service.leave({caller(), result.lease.id,
                             interrupted ? core::Outcome::kInterrupted : core::Outcome::kTimeout});
    failed_ = !next;
    if (!next) return fail(std::move(next.error()));
    reply = std::move(*next);
    waited_ms = site_->now().mono_ms - began_ms;
  }
  reply.value.waited_ms = waited_ms;
  reply.value.lost = std::exchange(notices_.lost, {});
  return std::move(reply.value);
}

Result<std::vector<AcquireResult>> Locks::acquire_together(const std::vector<Member>& members) {
  std::vector<AcquireCall> calls;
  std::vector<std::vector<std::string>> warnings(members.size());
  for (const Member& member : members) {
    Locks locks(*site_, member.owner, parent_);
    LK_ASSIGN(AcquireCall call, locks.call(member.command, warnings[calls.size()]));
    calls.push_back(std::move(call));
  }
  if (!calls.empty()) calls.front().caller.tell.messages = tell_messages_;
  LK_ASSIGN(std::vector<AcquireResult> results, ask(&Service::acquire_together, calls));
  for (std::size_t i = 0; i < results.size(); ++i) results[i].warnings = std::move(warnings[i]);
  return results;
}

Result<core::ReleaseReply> Locks::release(const ReleaseCommand& command) {
  LK_ASSIGN(Resolved resolved, resolve(command.wanted));
  LK_ASSIGN(std::vector<core::LeaseId> named, parse_ids(command.lease_ids));
  ReleaseCall by_id{caller(), {}, std::move(named), command.task, command.all};
  ReleaseCall by_name{caller(), std::move(resolved.resources), {}, {}, false};
  const bool any_ids = !by_id.leases.empty() || !by_id.task.empty() || by_id.all;
  if (!any_ids && by_name.resources.empty()) return nothing_named("release");
  core::ReleaseReply total;
  if (any_ids) {
    LK_ASSIGN(total, ask(&Service::release, by_id));
  }
  if (!by_name.resources.empty()) {
    LK_ASSIGN(const core::ReleaseReply named_reply, ask(&Service::release, by_name));
    add(total, named_reply);
  }
  return total;
}

Result<std::vector<core::Lease>> Locks::renew(const RenewCommand& command) {
  RenewCall call;
  call.caller = caller();
  LK_ASSIGN(Resolved resolved, resolve(command.wanted));
  call.resources = std::move(resolved.resources);
  LK_ASSIGN(call.leases, parse_ids(command.lease_ids));
  call.all = command.all;
  call.ttl_ms = command.ttl_ms;
  return ask(&Service::renew, call);
}

Result<core::CheckReply> Locks::check(const CheckCommand& command) {
  LK_ASSIGN(const Resolved resolved, resolve(command.wanted));
  if (resolved.resources.empty()) return nothing_named("check");
  return ask(&Service::check, {caller(), resolved.claims(command.wanted.mode), command.fence});
}

Result<std::vector<core::Lease>> Locks::break_leases(const BreakCommand& command) {
  BreakCall call;
  call.caller = caller();
  LK_ASSIGN(Resolved resolved, resolve(command.wanted));
  call.resources = std::move(resolved.resources);
  LK_ASSIGN(call.leases, parse_ids(command.lease_ids));
  call.agent = command.agent;
  call.reason = command.reason;
  call.cause = command.cause;
  call.only_expired = command.only_expired;
  call.only_dead = command.only_dead;
  call.foreign = command.foreign;
  return ask(&Service::break_leases, call);
}

Result<ListReply> Locks::list(const ListCommand& command) {
  ListCall call;
  call.caller = caller();
  call.agent = command.agent;
  call.task = command.task;
  LK_ASSIGN(Resolved resolved, resolve(command.under));
  call.overlapping = std::move(resolved.resources);
  return ask(&Service::list, call);
}

Result<std::vector<core::Event>> Locks::log(const LogCommand& command) {
  EventsCall call;
  call.caller = caller();
  call.since_seq = command.since_seq;
  call.since_wall_ms = command.since_wall_ms;
  call.agent = command.agent;
  call.most = command.most;
  LK_ASSIGN(const Resolved resolved, resolve(command.under));
  if (!resolved.resources.empty()) call.overlapping = resolved.resources.front();
  return ask(&Service::events, call);
}

Result<void> Locks::purge(bool history) {
  LK_CHECK(ask(&Service::purge, {caller(), history}));
  return {};
}

Result<AcquireResult> Locks::adopt(const Wanted& wanted, const AcquireCommand& how) {
  AdoptCall call;
  std::vector<std::string> warnings;
  LK_ASSIGN(const AcquireCall asked, this->call(how, warnings));
  call.caller = asked.caller;
  call.terms = asked.terms;
  call.ttl_ms = asked.ttl_ms;
  call.attachment = asked.attachment;
  const std::string& typed = wanted.texts.front();
  call.paths = {typed, wanted.base.folder + "/" + typed};
  const auto resolved = resolve(wanted);
  if (resolved && !resolved->resources.empty()) call.resource = resolved->resources.front();
  LK_ASSIGN(AcquireResult result, ask(&Service::adopt, call));
  result.warnings = std::move(warnings);
  return result;
}

Result<void> Locks::scan_layouts() {
  layout::Mirror mirror(site_->table());
  LK_ASSIGN(const bool mirrored, mirror.open_to_write());
  return mirrored ? mirror.tick() : Result<void>();
}

Result<core::DeliveredMessages> Locks::messages() {
  if (tell_messages_ && failed_) {
    LK_ASSIGN(Service* const service, site_->service());
    LK_ASSIGN(Notices now, service->notices(caller()));
    notices_.add(std::move(now));
    failed_ = false;
  }
  return core::DeliveredMessages{std::exchange(notices_.messages, {}),
                                 std::exchange(notices_.more_messages, 0)};
}

Result<std::vector<core::LostLease>> Locks::take_lost_notices() {
  Caller who = caller();
  who.tell = {.losses = true, .messages = false, .waiting = false};
  LK_ASSIGN(Service* const service, site_->service());
  LK_ASSIGN(Notices now, service->notices(who));
  return std::move(now.lost);
}

Result<bool> Locks::has_orphans() {
  LK_ASSIGN(const std::vector<ListedLease> own, leases_of(*site_, owner_));
  return std::ranges::any_of(own, [](const ListedLease& listed) {
    const auto& [lease, now] = listed;
    return lease.terms.orphan_grace_ms != 0 && !now.over && core::is_orphan(lease, now);
  });
}

Result<void> Locks::reclaim(const core::Attachment& attachment) {
  RenewCall call;
  call.caller = {owner_, parent_, {}, {}};
  call.orphans = true;
  call.attachment = attachment;
  LK_ASSIGN(Service* const service, site_->service());
  LK_CHECK(service->renew(call));
  return {};
}

Result<std::vector<core::LostLease>> Locks::resume_session(const core::Attachment& attachment) {
  LK_CHECK(purge(false));
  if (!owner_.session.empty()) LK_CHECK(reclaim(attachment));
  return take_lost_notices();
}

Result<bool> Locks::is_current(const core::LeaseId& id, std::uint64_t fence) {
  LK_ASSIGN(const std::optional<ListedLease> listed, find_lease(*site_, id));
  return listed && listed->lease.fence() == fence && !listed->condition.over;
}

Result<ParentLease> parent_lease_from(const realm::Environment& env) {
  const std::optional<std::string> lease = realm::variable(env, "LOCKKEEPER_LEASE");
  const std::optional<std::string> fence = realm::variable(env, "LOCKKEEPER_FENCE");
  if (!lease && !fence) return ParentLease{};
  const std::optional<core::LeaseId> id = lease ? core::LeaseId::from_text(*lease) : std::nullopt;
  ParentLease parent;
  if (id) parent.lease = *id;
  const std::string digits = fence.value_or("");
  for (const char c : digits) {
    if (c < '0' || c > '9' || digits.size() > 16)
      return fail(Code::kInvalidInput,
                  "LOCKKEEPER_FENCE is " + quote(digits) + ", which is not a fence",
                  "unset LOCKKEEPER_LEASE and LOCKKEEPER_FENCE, or run under: lockkeeper run");
    parent.fence = parent.fence * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (!id || digits.empty()) {
    return fail(Code::kInvalidInput,
                "LOCKKEEPER_LEASE is " + quote(lease.value_or("")) + " and LOCKKEEPER_FENCE is " +
                    quote(digits) + ": they come together, as `lockkeeper run` sets them",
                "unset both, or run under: lockkeeper run");
  }
  return parent;
}

}  // namespace lockkeeper::service
