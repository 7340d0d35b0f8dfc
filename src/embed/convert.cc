#include "embed/convert.h"

#include "base/assert.h"
#include "core/encoding.h"
#include "service/report.h"

namespace lockkeeper::embed {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

Result<std::optional<std::int64_t>> duration(const std::optional<milliseconds>& asked,
                                             std::int64_t forever, const char* what) {
  if (!asked) return std::optional<std::int64_t>();
  if (*asked == kForever) return std::optional<std::int64_t>(forever);
  if (asked->count() < 0) {
    return fail(Code::kInvalidInput,
                std::string(what) + " is " + std::to_string(asked->count()) + " ms",
                "give a duration that is not negative, or kForever");
  }
  return std::optional<std::int64_t>(asked->count());
}

system_clock::time_point time_point(std::int64_t wall_ms) {
  return system_clock::time_point(milliseconds(wall_ms));
}

std::optional<system_clock::time_point> end_point(const core::Lease& lease) {
  if (lease.expires_wall_ms == kNoEnd) return std::nullopt;
  return time_point(lease.expires_wall_ms);
}

core::Mode to_core(Mode mode) {
  return mode == Mode::kShared ? core::Mode::kShared : core::Mode::kExclusive;
}

Mode to_mode(core::Mode mode) {
  return mode == core::Mode::kShared ? Mode::kShared : Mode::kExclusive;
}

Alive to_alive(core::Alive alive) {
  switch (alive) {
    case core::Alive::kAlive:
      return Alive::kYes;
    case core::Alive::kDead:
      return Alive::kNo;
    case core::Alive::kUnknown:
      return Alive::kUnknown;
  }
  return Alive::kUnknown;
}

Conflict to_conflict(const core::Conflict& from) {
  const core::Lease& holder = from.holder;
  Conflict conflict;
  conflict.requested = from.requested.resource.text();
  conflict.held = from.held.resource.text();
  conflict.common = from.witness;
  conflict.mode = to_mode(from.held.mode);
  conflict.waiting = from.waiting;
  conflict.agent = holder.owner.agent;
  conflict.session = holder.owner.session;
  conflict.lease_id = holder.id.text();
  conflict.fence = from.waiting ? 0 : holder.fence();
  conflict.reason = holder.terms.reason;
  conflict.task = holder.terms.task;
  conflict.since = time_point(holder.acquired_wall_ms);
  conflict.until = end_point(holder);
  conflict.alive = to_alive(from.alive);
  return conflict;
}

Refusal::Why to_why(core::Outcome outcome) {
  switch (outcome) {
    case core::Outcome::kHeld:
    case core::Outcome::kQueued:
      return Refusal::Why::kHeld;
    case core::Outcome::kTimeout:
      return Refusal::Why::kTimeout;
    case core::Outcome::kDeadlock:
      return Refusal::Why::kDeadlock;
    case core::Outcome::kInterrupted:
      return Refusal::Why::kCancelled;
    case core::Outcome::kGranted:
    case core::Outcome::kRenewed:
      break;
  }
  LOCKKEEPER_ASSERT(!"a grant is not a refusal");
}

std::vector<Claim> to_claims(const core::Lease& lease) {
  std::vector<Claim> claims;
  for (const core::Claim& claim : core::readable_claims(lease)) {
    claims.push_back({claim.resource.text(), to_mode(claim.mode)});
  }
  return claims;
}

WaiterInfo to_waiter(const core::Waiter& waiter) {
  const core::Lease& request = waiter.request;
  WaiterInfo info;
  info.id = request.id.text();
  info.agent = request.owner.agent;
  info.session = request.owner.session;
  info.claims = to_claims(request);
  info.reason = request.terms.reason;
  info.task = request.terms.task;
  info.since = time_point(request.acquired_wall_ms);
  if (!waiter.blocker.empty()) info.waits_for = waiter.blocker.text();
  return info;
}

}  // namespace

Result<service::AcquireCommand> to_command(const std::vector<std::string>& resources,
                                           const AcquireOptions& options) {
  service::AcquireCommand command;
  command.wanted.texts = resources;
  command.wanted.mode = to_core(options.mode);
  LK_ASSIGN(command.ttl_ms, duration(options.ttl, kNoEnd, "the ttl"));
  LK_ASSIGN(command.wait_ms, duration(options.wait, service::kWaitForever, "the wait"));
  command.terms.reason = options.reason;
  command.terms.task = options.task;
  command.terms.request_id = options.request_id;
  return command;
}

service::CheckCommand to_command(const std::vector<std::string>& resources,
                                 const CheckOptions& options) {
  service::CheckCommand command;
  command.wanted.texts = resources;
  command.wanted.mode = to_core(options.mode);
  command.fence = options.fence;
  return command;
}

service::ListCommand to_command(const ListOptions& options) {
  service::ListCommand command;
  command.agent = options.agent;
  command.task = options.task;
  if (!options.overlapping.empty()) command.under.texts = {options.overlapping};
  return command;
}

Result<service::RenewCommand> to_command(const std::vector<std::string>& resources,
                                         const RenewOptions& options) {
  service::RenewCommand command;
  command.wanted.texts = resources;
  command.lease_ids = options.lease_ids;
  command.all = options.all;
  LK_ASSIGN(command.ttl_ms, duration(options.ttl, kNoEnd, "the ttl"));
  return command;
}

std::optional<milliseconds> to_ttl(std::int64_t ttl_ms) {
  if (ttl_ms == kNoEnd) return std::nullopt;
  return milliseconds(ttl_ms);
}

CheckResult to_result(const core::CheckReply& reply) {
  CheckResult result;
  result.free = reply.free;
  result.mine = reply.mine;
  result.fence_current = reply.fence_current;
  for (const core::Conflict& conflict : reply.conflicts) {
    result.conflicts.push_back(to_conflict(conflict));
  }
  return result;
}

LeaseInfo to_info(const core::Lease& lease, core::Alive alive) {
  LeaseInfo info;
  info.id = lease.id.text();
  info.agent = lease.owner.agent;
  info.session = lease.owner.session;
  info.claims = to_claims(lease);
  info.fence = lease.foreign ? 0 : lease.fence();
  info.reason = lease.terms.reason;
  info.task = lease.terms.task;
  info.ttl = to_ttl(lease.terms.ttl_ms);
  info.since = time_point(lease.acquired_wall_ms);
  info.until = end_point(lease);
  info.alive = to_alive(alive);
  return info;
}

Listing to_listing(const service::ListReply& reply) {
  Listing listing;
  for (const auto& [lease, condition] : reply.leases) {
    listing.leases.push_back(to_info(lease, condition.alive));
  }
  for (const core::Waiter& waiter : reply.waiters) listing.waiters.push_back(to_waiter(waiter));
  return listing;
}

Refusal to_refusal(const service::AcquireResult& result, const std::vector<std::string>& resources,
                   std::int64_t now_wall_ms) {
  Refusal refusal;
  refusal.why = to_why(result.outcome);
  for (const core::Conflict& conflict : result.conflicts) {
    refusal.conflicts.push_back(to_conflict(conflict));
  }
  service::HintContext asked;
  asked.resources = resources;
  asked.now_wall_ms = now_wall_ms;
  refusal.error = service::refusal(result, asked);
  return refusal;
}

}  // namespace lockkeeper::embed
