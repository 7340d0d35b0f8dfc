#include "dialect/coordinator/coordinator.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "core/foreign.h"
#include "realm/resolve.h"
#include "service/questions.h"

namespace lockkeeper::dialect::coordinator {
namespace {

// The coding agents that the environment names (realm/identity.h), by the original's type names.
struct KnownAgent {
  std::string_view name;
  std::string_view type;
};
constexpr KnownAgent kKnownAgents[] = {{"claude-code", "claude_code"}, {"codex", "codex"},
                                       {"copilot", "copilot"},         {"cursor", "cursor"},
                                       {"gemini", "gemini"},           {"opencode", "opencode"}};

// A lock taken natively has no type, but the original never omits it.
std::string type_of(const core::Lease& lease) {
  if (!lease.terms.agent_type.empty()) return lease.terms.agent_type;
  const auto* const known = std::ranges::find(kKnownAgents, lease.owner.agent, &KnownAgent::name);
  return known == std::end(kKnownAgents) || lease.foreign ? "unknown" : std::string(known->type);
}

Lock lock_of(const core::Lease& lease, const core::Claim& claim, const core::Owner& asker) {
  Lock lock;
  lock.file_path = claim.resource.text();
  lock.locked_by = lease.owner.agent;
  lock.agent_type = type_of(lease);
  lock.session_id = lease.owner.session;
  lock.locked_at_ms = lease.acquired_wall_ms;
  lock.expires_at_ms = lease.expires_wall_ms;
  lock.reason = lease.terms.reason;
  lock.mode = claim.mode;
  lock.fence = lease.foreign ? 0 : lease.fence();
  if (lease.foreign) lock.foreign_path = core::foreign_path(lease);
  lock.mine = lease.held_by(asker);
  return lock;
}

// The holder, or the request ahead in the queue: a refusal always names somebody.
Lock blocker(const std::vector<core::Conflict>& conflicts, const core::Owner& asker) {
  const auto held = std::ranges::find(conflicts, false, &core::Conflict::waiting);
  const core::Conflict& conflict = held == conflicts.end() ? conflicts.front() : *held;
  Lock lock = lock_of(conflict.holder, conflict.held, asker);
  if (conflict.waiting) {
    lock.expires_at_ms = kNoEnd;
    lock.fence = 0;
  }
  return lock;
}

service::Wanted wanted(std::vector<std::string> file_paths) {
  service::Wanted wanted;
  wanted.texts = std::move(file_paths);
  wanted.base.kind = realm::Base::kRoot;
  wanted.convert_backslash = true;
  return wanted;
}

std::string reason_of(const Error& error) {
  const bool path = error.code == Code::kInvalidResource || error.code == Code::kInvalidInput;
  return std::string(path ? "invalid_file_path" : code_name(error.code));
}

// The same request as a native command that works from any folder.
service::HintContext asked(service::Locks& locks, const core::Claim& requested) {
  const std::string& text = requested.resource.text();
  const std::string& root = locks.site().realm().root;
  service::HintContext asked;
  asked.resources = {!requested.resource.is_path() ? text
                     : text == "./"                ? root
                                                   : root + "/" + text};
  asked.flags = " --agent " + shell_quote(locks.owner().agent);
  if (!locks.owner().session.empty()) {
    asked.flags += " --session " + shell_quote(locks.owner().session);
  }
  asked.caller_flags = asked.flags;
  asked.now_wall_ms = locks.site().runtime().clock->now().wall_ms;
  return asked;
}

// The original's default ttl, but never more than the realm allows.
std::int64_t ttl_ms(const AcquireLock& wanted, const realm::Settings& settings) {
  if (wanted.ttl_minutes) return *wanted.ttl_minutes * kMinuteMs;
  return realm::bounded_ttl_ms(settings, kTtlMinutesDefault * kMinuteMs);
}

void newest_first(std::vector<Lock>& locks) {
  std::ranges::sort(locks, [](const Lock& a, const Lock& b) {
    if (a.locked_at_ms != b.locked_at_ms) return a.locked_at_ms > b.locked_at_ms;
    if (a.fence != b.fence) return a.fence > b.fence;
    return a.file_path < b.file_path;
  });
}

}  // namespace

AcquireResult ttl_refused(std::string_view given) {
  const std::string least = std::to_string(kTtlMinutesLeast);
  const std::string most = std::to_string(kTtlMinutesMost);
  return refused(
      "ttl_out_of_range",
      {Code::kInvalidInput,
       "ttl_minutes " + quote(given, 60) + " is not a whole number from " + least + " to " + most,
       "use " + least + " to " + most + " minutes (default " + std::to_string(kTtlMinutesDefault) +
           ") and acquire it again before they are over"});
}

AcquireResult Coordinator::acquire_lock(const AcquireLock& request) {
  if (request.file_path.empty()) {
    return refused("invalid_file_path", {Code::kInvalidResource, "file_path is empty",
                                         "name a path such as src/a.py, or a key such as api:…"});
  }
  auto named = realm::check_agent_name(locks_.owner().agent, "agent_id");
  if (named) named = realm::check_agent_name(agent_type_, "agent_type");
  if (!named) return refused("invalid_agent_id", std::move(named.error()));
  const std::int64_t minutes = request.ttl_minutes.value_or(kTtlMinutesDefault);
  if (minutes < kTtlMinutesLeast || minutes > kTtlMinutesMost) {
    return ttl_refused(std::to_string(minutes));
  }
  service::AcquireCommand command;
  command.wanted = wanted({request.file_path});
  command.ttl_ms = ttl_ms(request, locks_.site().settings());
  command.terms.reason = request.reason;
  command.terms.agent_type = agent_type_;
  auto granted = locks_.acquire(command);
  if (!granted) return refused(reason_of(granted.error()), std::move(granted.error()));
  AcquireResult result;
  if (service::outcome_status(granted->outcome) == 0) {
    result.success = true;
    result.action = granted->outcome == core::Outcome::kRenewed ? "refreshed" : "acquired";
    result.file_path = granted->lease.claims.front().resource.text();
    result.expires_at_ms = granted->lease.expires_wall_ms;
    result.fence = granted->lease.fence();
  } else {
    result.reason = "locked_by_other";
    result.holder = blocker(granted->conflicts, locks_.owner());
    result.error = service::held_error(granted->conflicts,
                                       asked(locks_, granted->conflicts.front().requested));
  }
  result.lost = std::move(granted->lost);
  result.warnings = std::move(granted->warnings);
  return result;
}

ReleaseResult Coordinator::release_lock(const std::string& file_path) {
  service::ReleaseCommand command;
  command.wanted = wanted({file_path});
  auto reply = locks_.release(command);
  if (!reply) return refused<ReleaseResult>(reason_of(reply.error()), reply.error());
  ReleaseResult result;
  if (!reply->released.empty()) {
    result.success = true;
    result.action = "released";
    result.file_path = reply->released.front();
    return result;
  }
  result.reason = "lock_not_found_or_not_owner";
  result.error = service::release_error(*reply, false);
  if (!reply->not_owner.empty()) {
    const auto found = look({file_path});  // only for the holder's details
    const std::string& key = reply->not_owner.front().first;
    for (const Lock& lock : found ? *found : std::vector<Lock>()) {
      if (lock.file_path == key && !lock.mine) result.holder = lock;
    }
  } else {
    // Best effort: what fails now is reported another time.
    result.lost = locks_.take_lost_notices().value_or(std::vector<core::LostLease>());
  }
  return result;
}

CheckResult Coordinator::check_locks(const std::optional<std::vector<std::string>>& file_paths) {
  CheckResult result;
  auto found = file_paths && !file_paths->empty() ? look(*file_paths) : all();
  if (!found) {
    result.error = std::move(found.error());
    return result;
  }
  result.locks = std::move(*found);
  newest_first(result.locks);
  return result;
}

// Others' locks come from the service's check, which includes other tools' locks. Then those that
// the check leaves out because they do not conflict with the caller.
Result<std::vector<Lock>> Coordinator::look(const std::vector<std::string>& file_paths) {
  std::vector<Lock> locks;
  std::set<std::pair<core::LeaseId, std::string>> seen;
  service::CheckCommand command;
  command.wanted = wanted(file_paths);
  LK_ASSIGN(const core::CheckReply reply, locks_.check(command));
  for (const core::Conflict& conflict : reply.conflicts) {
    if (conflict.waiting) continue;
    if (!seen.emplace(conflict.holder.id, conflict.held.resource.text()).second) continue;
    locks.push_back(lock_of(conflict.holder, conflict.held, locks_.owner()));
  }
  service::Site& table = locks_.site();
  realm::Resolver resolver(table.realm(), table.settings().key_rules(table.realm()),
                           command.wanted.base, table.runtime().env,
                           {command.wanted.convert_backslash});
  std::vector<key::Resource> resources;
  for (const std::string& text : file_paths) {
    LK_ASSIGN(const std::vector<key::Parsed> all, resolver.resolve_all(text));
    for (const key::Parsed& parsed : all) resources.push_back(parsed.resource);
  }
  LK_ASSIGN(const std::vector<service::OverlappingClaim> held,
            service::overlapping_claims(table, resources));
  for (const service::OverlappingClaim& one : held) {
    if (!seen.emplace(one.lease.id, one.claim.resource.text()).second) continue;
    locks.push_back(lock_of(one.lease, one.claim, locks_.owner()));
  }
  return locks;
}

Result<std::vector<Lock>> Coordinator::all() {
  std::vector<Lock> locks;
  LK_ASSIGN(const service::ListReply list, locks_.list({}));
  for (const service::ListedLease& listed : list.leases) {
    for (const core::Claim& claim : listed.lease.claims) {
      locks.push_back(lock_of(listed.lease, claim, locks_.owner()));
    }
  }
  return locks;
}

}  // namespace lockkeeper::dialect::coordinator
