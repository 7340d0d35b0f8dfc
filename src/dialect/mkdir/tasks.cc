#include "dialect/mkdir/tasks.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/text.h"
#include "layout/registration.h"
#include "layout/registry.h"
#include "service/questions.h"
#include "service/report.h"

namespace lockkeeper::dialect::mkdir {
namespace {

constexpr std::int64_t kAgainMs = 200;  // between two attempts of a retry

layout::LayoutEntry entry_for(std::string root) {
  layout::LayoutEntry entry;
  entry.kind = kKind;
  entry.root = std::move(root);
  return entry;
}

layout::LayoutContext context_of(service::Site& table) {
  return {table.realm(), table.settings(), table.runtime().env, *table.runtime().clock};
}

bool is_task(const core::Conflict& conflict) {
  return !conflict.requested.resource.is_path();
}

core::Conflict conflict_with(const core::Lease& lease, const key::Resource& resource) {
  core::Conflict conflict;
  conflict.requested.resource = resource;
  conflict.held.resource = resource;
  conflict.witness = resource.text();
  conflict.holder = lease;
  return conflict;
}

Error collision(const std::string& name, const std::string& wanted, const std::string& other,
                const std::string& why) {
  return {Code::kInvalidResource,
          quote(wanted) + " and " + quote(other) + " have the same lock, files/" + name + ", and " +
              why,
          "rename one of them, or use: lockkeeper acquire " + service::shell_name(wanted)};
}

}  // namespace

Tasks::Tasks(service::Locks& locks, std::string root)
    : locks_(locks), layout_(entry_for(std::move(root)), context_of(locks.site())) {}

Result<void> Tasks::register_layout() {
  LK_CHECK(
      layout::use_layout(locks_.site().table(), {layout_.entry(), std::string(kLocksName) + "/"}));
  return {};
}

namespace {

// The caller named an id, not a key.
Error about_the_id(Error error) {
  constexpr std::string_view kKey = "'task:";
  for (std::string* const text : {&error.message, &error.hint}) {
    for (std::size_t at = 0; (at = text->find(kKey, at)) != std::string::npos;) {
      text->replace(at, kKey.size(), "'");
    }
  }
  return error;
}

}  // namespace

Result<Tasks::LockRequest> Tasks::request_for_task(const std::string& task) const {
  const service::Site& table = locks_.site();
  if (task.empty()) {
    return fail(Code::kInvalidResource, "the task's id is empty", "name the task, such as T-17");
  }
  auto named = key::parse("task:" + task, table.settings().key_rules(table.realm()));
  if (!named) return fail(about_the_id(std::move(named.error())));
  const key::Parsed& parsed = *named;
  const std::optional<std::string> artefact = layout_.artefact_of(parsed.resource);
  if (!artefact) {
    return fail(Code::kInvalidResource, quote(task) + " cannot be the name of a folder",
                "use letters, digits, '.', '_' and '-'");
  }
  return LockRequest{parsed.resource, task, *artefact};
}

Result<std::vector<Tasks::LockRequest>> Tasks::requests(const TaskRequest& request) {
  LK_ASSIGN(LockRequest task, request_for_task(request.task));
  std::vector<LockRequest> all;
  if (request.take_task) all.push_back(std::move(task));
  const service::Site& table = locks_.site();
  realm::Resolver resolver(table.realm(), table.settings().key_rules(table.realm()),
                           {realm::Base::kCwd, layout_.base_folder(), false}, table.runtime().env,
                           {.convert_backslash = true});
  for (const std::string& file : request.files) {
    LK_ASSIGN(const key::Parsed parsed, resolver.resolve(file, key::Syntax::kLiteral));
    const std::optional<std::string> artefact = layout_.artefact_of(parsed.resource);
    if (!artefact) {
      return fail(Code::kLimitExceeded,
                  quote(file) + ": its lock's name would be longer than " +
                      std::to_string(kNameBytesMax) + " bytes, or not a valid folder name",
                  "use: lockkeeper acquire " + service::shell_name(file));
    }
    LockRequest one{parsed.resource, file, *artefact};
    const bool again = std::ranges::any_of(
        all, [&](const LockRequest& other) { return other.resource == one.resource; });
    if (again) continue;
    LK_CHECK(refuse_collision(all, one));
    all.push_back(std::move(one));
  }
  return all;
}

// The protocol's sanitiser gives `a/b` and `a__b` the same lock, so its holder would seem to hold
// both. Refused if the other path exists or is held.
Result<void> Tasks::refuse_collision(const std::vector<LockRequest>& earlier,
                                     const LockRequest& one) {
  const std::string name = decoded(one.artefact.substr(one.artefact.find('/') + 1));
  const std::string text = one.resource.text();
  for (const LockRequest& other : earlier) {
    if (other.artefact != one.artefact) continue;
    return fail(collision(name, text, other.resource.text(), "both are requested"));
  }
  for (const key::Resource& other : layout_.existing_paths(name)) {
    if (other == one.resource) continue;
    return fail(collision(name, text, other.text(), "the latter exists"));
  }
  std::vector<key::Resource> others = layout_.possible_paths(name);
  std::erase(others, one.resource);
  LK_ASSIGN(const std::vector<service::ListedLease> holders,
            service::holders_of(locks_.site(), others));
  for (const service::ListedLease& holder : holders) {
    // Another tool's lock of that name covers both: that is BUSY.
    if (holder.lease.foreign) continue;
    for (const core::Claim& claim : holder.lease.claims) {
      if (std::ranges::find(others, claim.resource) == others.end()) continue;
      return fail(collision(name, text, claim.resource.text(),
                            "the latter is held by " + service::owner_text(holder.lease.owner)));
    }
  }
  return {};
}

// What this owner holds already. The task's own files need no new request. A file of the owner's
// other task is BUSY, although the table would renew it.
Result<std::vector<core::Conflict>> Tasks::held_by_myself(const TaskRequest& request,
                                                          std::vector<LockRequest>& requests,
                                                          std::vector<core::Lease>& mine) {
  std::vector<core::Conflict> conflicts;
  std::vector<LockRequest> rest;
  for (const LockRequest& one : requests) {
    bool have = false;
    LK_ASSIGN(const std::vector<service::ListedLease> holders,
              service::holders_of(locks_.site(), {&one.resource, 1}));
    for (const auto& [lease, now] : holders) {
      if (now.over || !lease.held_by(locks_.owner())) continue;
      const bool other_task = !lease.terms.layout.empty() && lease.terms.task != request.task;
      const core::Claim exclusive{one.resource, core::Mode::kExclusive, 0};
      if (one.resource.is_path() && !other_task) {
        const bool whole = std::ranges::find(lease.claims, exclusive) != lease.claims.end();
        if (whole) mine.push_back(lease);
        have |= whole;
      } else {
        conflicts.push_back(conflict_with(lease, one.resource));
      }
    }
    if (!have) rest.push_back(one);
  }
  requests = std::move(rest);
  return conflicts;
}

service::Member Tasks::member(const LockRequest& one, const TaskRequest& request) const {
  service::Member member;
  member.owner = locks_.owner();
  service::AcquireCommand& command = member.command;
  command.wanted.texts = {one.resource.is_path() ? one.typed : one.resource.text()};
  command.wanted.base = {realm::Base::kCwd, layout_.base_folder(), false};
  if (one.resource.is_path()) {
    command.wanted.syntax = key::Syntax::kLiteral;
    command.wanted.convert_backslash = true;
    command.wanted.no_patterns = true;
  }
  command.ttl_ms = realm::bounded_ttl_ms(locks_.site().settings(), kNoEnd);
  command.terms.task = request.task;
  command.terms.reason = request.reason;
  command.attach_pid = request.attach_pid;
  command.terms.layout = layout_.id();
  command.terms.artefact = one.artefact;
  return member;
}

// One attempt. REQUIRES: the layout is registered.
Result<void> Tasks::ask(const TaskRequest& request, std::vector<LockRequest> requests,
                        TaskReply& reply) {
  reply.leases.clear();
  LK_ASSIGN(reply.conflicts, held_by_myself(request, requests, reply.leases));
  if (!reply.conflicts.empty()) return {};
  if (requests.empty()) {
    reply.acquired = true;
    return {};
  }
  std::vector<service::Member> members;
  for (const LockRequest& one : requests) members.push_back(member(one, request));
  LK_ASSIGN(const std::vector<service::AcquireResult> results, locks_.acquire_together(members));
  reply.acquired = true;
  std::vector<std::string> taken;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const service::AcquireResult& result = results[i];
    reply.warnings.insert(reply.warnings.end(), result.warnings.begin(), result.warnings.end());
    reply.lost.insert(reply.lost.end(), result.lost.begin(), result.lost.end());
    reply.conflicts.insert(reply.conflicts.end(), result.conflicts.begin(), result.conflicts.end());
    if (result.outcome == core::Outcome::kGranted) {
      taken.push_back(result.lease.id.text());
      reply.leases.push_back(result.lease);
    } else if (result.outcome == core::Outcome::kRenewed) {
      // Another call of the same owner took it meanwhile: that call was first.
      reply.conflicts.push_back(conflict_with(result.lease, requests[i].resource));
      reply.acquired = false;
    } else {
      reply.acquired = false;
    }
  }
  if (reply.acquired || taken.empty()) return {};
  service::ReleaseCommand back;
  back.lease_ids = std::move(taken);
  LK_CHECK(locks_.release(back));
  return {};
}

Result<TaskReply> Tasks::acquire(const TaskRequest& request) {
  LK_ASSIGN(const std::vector<LockRequest> requests, this->requests(request));
  LK_CHECK(register_layout());
  const Clock& clock = *locks_.site().runtime().clock;
  const std::int64_t until_ms = clock.now().mono_ms + request.retry_ms;
  TaskReply reply;
  for (;;) {
    LK_CHECK(ask(request, requests, reply));
    if (reply.acquired) return reply;
    // A held task is BUSY at once: the protocol continues with the next task.
    if (std::ranges::any_of(reply.conflicts, is_task)) return reply;
    const std::int64_t left_ms = until_ms - clock.now().mono_ms;
    if (left_ms <= 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(std::min(left_ms, kAgainMs)));
  }
  service::ReleaseCommand all;
  all.task = request.task;
  LK_ASSIGN(const core::ReleaseReply released, locks_.release(all));
  reply.released = released.released;
  reply.leases.clear();
  return reply;
}

Result<core::ReleaseReply> Tasks::release(const std::string& task) {
  LK_ASSIGN(const LockRequest one, request_for_task(task));
  service::ReleaseCommand command;
  command.task = task;
  LK_ASSIGN(core::ReleaseReply reply, locks_.release(command));
  if (!reply.released.empty()) return reply;
  LK_ASSIGN(const std::vector<TaskLock> all, list());
  for (const TaskLock& lock : all) {
    if (lock.task != task && lock.name != one.artefact) continue;
    return fail(Code::kNotOwner,
                "task " + task + " holds " + lock.name + " for " + service::owner_text(lock.owner) +
                    ", not for " + service::owner_text(locks_.owner()),
                "if that agent is done: lockkeeper task sweep --returned " + shell_quote(task));
  }
  return fail(Code::kNotFound, "task " + task + " holds nothing", "see: lockkeeper task list");
}

}  // namespace lockkeeper::dialect::mkdir
