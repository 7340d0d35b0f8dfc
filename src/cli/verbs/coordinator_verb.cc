// `coordinator`: the coordinator's operations, with their own names and results.
#include <nlohmann/json.hpp>

#include "base/parse.h"
#include "cli/verbs/list_view.h"
#include "cli/verbs/verbs.h"
#include "dialect/coordinator/coordinator.h"

namespace lockkeeper::cli {
namespace {

namespace coordinator = dialect::coordinator;

struct CoordinatorOptions {
  std::vector<std::string> paths;
  std::optional<std::string> reason, ttl_minutes, agent_id, agent_type, session_id;
};

void declare(Arguments& arguments, CoordinatorOptions& options, const std::string& placeholder) {
  arguments.words(placeholder, options.paths, "paths from the realm's root, or keys");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.values("--file-path", options.paths, "PATH", "another way to give the path");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.value("--agent-id", options.agent_id, "NAME",
                  "the same as --agent (default: AGENT_ID)");
  arguments.value("--session-id", options.session_id, "ID",
                  "the same as --session (default: SESSION_ID)");
  arguments.value("--agent-type", options.agent_type, "TYPE",
                  "kind of agent (default: AGENT_TYPE, or\nclaude_code)");
}

// The coordinator's flags first, then Lockkeeper's flags and variables, then the original's
// variables.
std::optional<std::string> first_of(const VerbContext& context,
                                    const std::optional<std::string>& common,
                                    const std::optional<std::string>& flag, const char* ours,
                                    const char* theirs) {
  if (common) return common;
  if (flag) return flag;
  const realm::Environment& env = context.runtime().env;
  if (auto value = realm::variable(env, ours)) return value;
  return realm::variable(env, theirs);
}

Result<void> name_caller(VerbContext& context, const CoordinatorOptions& options) {
  const auto agent =
      first_of(context, context.common().agent, options.agent_id, "LOCKKEEPER_AGENT", "AGENT_ID");
  const auto session = first_of(context, context.common().session, options.session_id,
                                "LOCKKEEPER_SESSION", "SESSION_ID");
  if (agent) LK_CHECK(realm::check_agent_name(*agent, "agent_id"));
  if (session) LK_CHECK(realm::check_session_name(*session, "session_id"));
  context.act_as(agent);
  context.act_in(session);
  return {};
}

std::string until_text(std::int64_t expires_at_ms, std::int64_t now_wall_ms) {
  core::Lease lease;
  lease.expires_wall_ms = expires_at_ms;
  return service::end_text(lease, now_wall_ms);
}

int acquire(VerbContext& context, coordinator::Coordinator& door, const std::string& path,
            const CoordinatorOptions& options) {
  Output& out = context.out();
  coordinator::AcquireLock wanted{path, options.reason.value_or(""), std::nullopt};
  const auto minutes = options.ttl_minutes
                           ? options.ttl_minutes
                           : realm::variable(context.runtime().env, "LOCK_TTL_MINUTES");
  if (minutes) {
    wanted.ttl_minutes = number_in<std::int64_t>(*minutes);
    if (!wanted.ttl_minutes) {
      const coordinator::AcquireResult refused = coordinator::ttl_refused(*minutes);
      return out.failed(*refused.error, coordinator::to_json(refused));
    }
  }
  const coordinator::AcquireResult result = door.acquire_lock(wanted);
  for (const core::LostLease& lost : result.lost) out.warning(service::lost_text(lost));
  for (const std::string& warning : result.warnings) out.warning(warning);
  if (result.error) return out.failed(*result.error, coordinator::to_json(result));
  out.object(coordinator::to_json(result));
  out.text(result.action + " " + result.file_path + ", " +
           until_text(result.expires_at_ms, context.now_wall_ms()) + "\nfence " +
           std::to_string(result.fence));
  return 0;
}

int release(VerbContext& context, coordinator::Coordinator& door, const std::string& path) {
  Output& out = context.out();
  const coordinator::ReleaseResult result = door.release_lock(path);
  for (const core::LostLease& lost : result.lost) out.warning(service::lost_text(lost));
  if (result.error) return out.failed(*result.error, coordinator::to_json(result));
  out.object(coordinator::to_json(result));
  out.text("released " + result.file_path);
  return 0;
}

void print(Output& out, const coordinator::CheckResult& result) {
  std::vector<Row> rows = {
      header({"FILE_PATH", "LOCKED_BY", "AGENT_TYPE", "LOCKED_AT", "EXPIRES_AT", "REASON"})};
  for (const coordinator::Lock& lock : result.locks) {
    rows.push_back({{lock.file_path},
                    {lock.locked_by},
                    {lock.agent_type},
                    {format_time(lock.locked_at_ms)},
                    {lock.expires_at_ms == kNoEnd ? "never" : format_time(lock.expires_at_ms)},
                    {lock.reason}});
  }
  if (result.locks.empty()) return out.text("no locks");
  for (const Line& line : table_lines(std::move(rows), out.columns())) out.line(line);
}

// Exit status 75 if another's lock overlaps the paths; without paths it only lists.
int check(VerbContext& context, coordinator::Coordinator& door,
          const std::vector<std::string>& paths) {
  Output& out = context.out();
  const coordinator::CheckResult result =
      door.check_locks(paths.empty() ? std::nullopt : std::optional(paths));
  if (result.error) return out.failed(*result.error);
  print(out, result);
  for (const coordinator::Lock& lock : result.locks) {
    if (paths.empty() || lock.mine) continue;
    return out.failed({Code::kHeld, lock.file_path + " is locked by " + lock.locked_by,
                       "do not change it; work on something else, or check again later"},
                      coordinator::to_envelope(result));
  }
  out.object(coordinator::to_envelope(result));
  return 0;
}

template <typename Act>
Result<int> with_door(VerbContext& context, const CoordinatorOptions& options, const Act& act) {
  Output& out = context.out();
  if (auto named = name_caller(context, options); !named) {
    const auto refused = coordinator::refused("invalid_agent_id", named.error());
    return out.failed(named.error(), coordinator::to_json(refused));
  }
  LK_ASSIGN(auto open, context.open(std::vector<std::string>()));
  const auto type = options.agent_type ? options.agent_type
                                       : realm::variable(context.runtime().env, "AGENT_TYPE");
  coordinator::Coordinator door(open->locks,
                                type.value_or(std::string(coordinator::kAgentTypeDefault)));
  return act(door);
}

Result<int> coordinator_acquire(VerbContext& context) {
  CoordinatorOptions options;
  declare(context.arguments(), options, "FILE_PATH");
  context.arguments().value("--reason", options.reason, "TEXT", "shown to others");
  context.arguments().value("--ttl-minutes", options.ttl_minutes, "N",
                            "1 to 480 (default: LOCK_TTL_MINUTES, or 120)");
  if (const auto status = context.parse()) return *status;
  if (options.paths.size() != 1) return context.refuse_usage("needs one FILE_PATH");
  return with_door(context, options, [&](auto& door) {
    return acquire(context, door, options.paths.front(), options);
  });
}

Result<int> coordinator_release(VerbContext& context) {
  CoordinatorOptions options;
  declare(context.arguments(), options, "FILE_PATH");
  if (const auto status = context.parse()) return *status;
  if (options.paths.size() != 1) return context.refuse_usage("needs one FILE_PATH");
  return with_door(context, options,
                   [&](auto& door) { return release(context, door, options.paths.front()); });
}

Result<int> coordinator_check(VerbContext& context) {
  CoordinatorOptions options;
  declare(context.arguments(), options, "[FILE_PATH…]");
  if (const auto status = context.parse()) return *status;
  return with_door(context, options,
                   [&](auto& door) { return check(context, door, options.paths); });
}

constexpr Verb kCoordinatorSubcommands[] = {
    {"acquire", "acquire_lock: take one file",
     "  lockkeeper coordinator acquire src/users.py --reason \"JWT\" --ttl-minutes 60\n",
     coordinator_acquire},
    {"release", "release_lock: release it", "  lockkeeper coordinator release src/users.py\n",
     coordinator_release},
    {"check", "check_locks: who holds what",
     "  lockkeeper coordinator check src/users.py 'api:GET /v1/users' --json\n"
     "  lockkeeper coordinator check\n",
     coordinator_check, Does::kLook},
};

}  // namespace

std::span<const Verb> coordinator_subcommands() {
  return kCoordinatorSubcommands;
}

}  // namespace lockkeeper::cli
