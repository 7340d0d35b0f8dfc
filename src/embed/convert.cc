#include "embed/convert.h"

#include "base/assert.h"
#include "service/report.h"

namespace lockkeeper::embed {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

Result<std::optional<std::int64_t>> duration(const std::optional<milliseconds>& asked,
                                             std::int64_t for_ever, const char* what) {
  if (!asked) return std::optional<std::int64_t>();
  if (*asked == kForEver) return std::optional<std::int64_t>(for_ever);
  if (asked->count() < 0) {
    return fail(Code::kInvalidInput,
                std::string(what) + " is " + std::to_string(asked->count()) + " ms",
                "give a duration that is not negative, or kForEver");
  }
  return std::optional<std::int64_t>(asked->count());
}

system_clock::time_point time_point(std::int64_t wall_ms) {
  return system_clock::time_point(milliseconds(wall_ms));
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
  if (holder.expires_wall_ms != kNoEnd) conflict.until = time_point(holder.expires_wall_ms);
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
  LOCKKEEPER_ASSERT(!"a grant is no refusal");
}

}  // namespace

Result<service::AcquireCommand> to_command(const std::vector<std::string>& resources,
                                           const AcquireOptions& options) {
  service::AcquireCommand command;
  command.wanted.texts = resources;
  command.wanted.mode =
      options.mode == Mode::kShared ? core::Mode::kShared : core::Mode::kExclusive;
  LK_ASSIGN(command.ttl_ms, duration(options.length, kNoEnd, "the length"));
  LK_ASSIGN(command.wait_ms, duration(options.wait, service::kWaitForEver, "the wait"));
  command.terms.reason = options.reason;
  command.terms.task = options.task;
  command.terms.request_id = options.request_id;
  return command;
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
