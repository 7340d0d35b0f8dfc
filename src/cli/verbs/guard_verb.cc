// `guard`: holds a directory lock while a command runs. Prints and exits as the dirlock protocol
// does: `[LOCK]` lines, 1 when held, 130 and 143 on signals.
#include <unistd.h>

#include <climits>
#include <nlohmann/json.hpp>

#include "base/parse.h"
#include "base/text.h"
#include "cli/verbs/run_verb.h"
#include "cli/verbs/verbs.h"
#include "dialect/dirlock/guard.h"
#include "realm/disk_path.h"
#include "service/run.h"

namespace lockkeeper::cli {
namespace {

using dialect::dirlock::Guard;
using dialect::dirlock::GuardRequest;
using LockLine = dialect::dirlock::Line;
using dialect::dirlock::Stream;
using service::RunEvent;

constexpr int kHeldStatus = 1;  // the dirlock protocol's

// Flushed at once, because the command writes to the same streams.
void say(Output& out, const LockLine& line) {
  if (out.quiet()) return;
  if (line.stream == Stream::kOut) {
    out.text(line.text);
  } else {
    std::fputs((printable(line.text) + "\n").c_str(), out.options().err);
  }
  static_cast<void>(out.flush());
}

int refuse(Output& out, const Guard& guard) {
  const dialect::dirlock::Refused& refused = guard.refused();
  if (!out.json()) return kHeldStatus;  // the lines were printed already
  service::Json json = {{"outcome", "held"}, {"path", refused.path}};
  json["holder"] = refused.holder ? record_json(*refused.holder) : service::Json();
  json["conflicts"] = service::Json::array();
  for (const core::Conflict& conflict : refused.conflicts) {
    json["conflicts"].push_back(service::conflict_json(conflict));
  }
  out.failed(refused.error, std::move(json));
  return kHeldStatus;
}

// To the dirlock protocol 1 means "held", so nothing else may exit with it.
std::unexpected<Error> cannot_be_held(Error error) {
  if (error.code == Code::kFailed) error.code = Code::kStoreUnavailable;
  return fail(std::move(error));
}

// The lock could not be created or read.
int fail_to_create(Output& out, const Error& failed) {
  const Error error = cannot_be_held(failed).error();
  if (out.json()) return out.failed(error);
  std::fputs((printable(dialect::dirlock::failed_line(error.message).text) + "\n").c_str(),
             out.options().err);
  if (!error.hint.empty() && !out.quiet()) {
    std::fputs(("   " + printable(error.hint) + "\n").c_str(), out.options().err);
  }
  return exit_status(error.code);
}

// As `run` reports it, except where the dirlock protocol has its own lines.
void tell(Output& out, const RunEvent& event) {
  if (event.what == RunEvent::What::kLost) {
    say(out, dialect::dirlock::lost_line(event.message));
  } else {
    tell_run(out, event);
  }
}

struct GuardOptions {
  std::optional<std::string> stale_timeout;
  std::optional<std::string> agents;
  std::optional<std::string> cwd;
};

Result<GuardRequest> request_of(const VerbContext& context, const GuardOptions& options) {
  GuardRequest request;
  if (options.stale_timeout) {
    auto minutes = dialect::dirlock::parse_minutes(*options.stale_timeout);
    if (!minutes) {
      minutes.error().message = "--stale-timeout " + minutes.error().message;
      return fail(std::move(minutes.error()));
    }
    request.stale_timeout_ms = *minutes;
    request.stale_timeout = *options.stale_timeout;
  }
  if (options.agents) request.agents = words_in(*options.agents, ",");
  for (const std::string& agent : request.agents) {
    LK_CHECK(realm::check_agent_name(agent, "--agents"));
  }
  LK_ASSIGN(const service::Wanted here, context.wanted({}));
  request.folder = here.base.folder;
  if (options.cwd) {
    if (options.cwd->empty())
      return fail(Code::kUsage, "--cwd is empty", "name a folder: --cwd DIR");
    request.folder = options.cwd->starts_with('/') ? *options.cwd
                                                   : realm::join_path(request.folder, *options.cwd);
  }
  if (context.common().realm) {
    return fail(Code::kUsage, "guard uses the realm of its folder and takes no --realm",
                "name the folder: --cwd DIR");
  }
  request.store = context.common().store.value_or("");
  return request;
}

service::Json ended_json(const Guard& guard, const service::RunResult& result, int status,
                         std::int64_t held_ms) {
  return {{"outcome", result.lost ? "lost" : "ended"},
          {"path", guard.path()},
          {"lock", record_json(guard.record())},
          {"held_ms", held_ms},
          {"exit_status", status}};
}

Result<int> hold_folder(VerbContext& context) {
  GuardOptions options;
  service::RunCommand command;
  Arguments& arguments = context.arguments();
  arguments.command(command.argv, "what to run while the folder is held");
  arguments.value("--stale-timeout", options.stale_timeout, "MINUTES",
                  "after which a lock is stale even if its process\nlives (20); 0 clears any");
  arguments.value("--agents", options.agents, "NAMES", "named in the lock: a,b,c");
  arguments.value("--cwd", options.cwd, "DIR", "the folder to hold and to run in (default: here)");
  arguments.offer(Arguments::Complete::kFolders);
  if (const auto status = context.parse()) return *status;
  Output& out = context.out();
  if (command.argv.empty()) {
    return out.failed(
        {Code::kUsage, "guard needs a command after --", "lockkeeper guard -- COMMAND…"});
  }
  LK_ASSIGN(const auto request, request_of(context, options));
  LK_ASSIGN(const auto who, context.identity(false));
  LK_ASSIGN(auto under, service::parent_lease_from(context.runtime().env));
  LK_ASSIGN(auto guard, Guard::open(context.runtime(), who, std::move(under), request,
                                    [&](const LockLine& line) { say(out, line); }));

  if (options.cwd) command.folder = guard->folder();
  std::int64_t held_ms = 0;
  bool lost = false;
  service::Hold hold;
  hold.take = [&]() -> Result<std::optional<service::AcquireResult>> {
    LK_ASSIGN(const bool taken, guard->take());
    if (!taken) return std::nullopt;
    service::AcquireResult result;
    result.outcome = core::Outcome::kGranted;
    result.lease = guard->lease();
    return result;
  };
  hold.lost = [&] { return guard->lost(); };
  hold.give_back = [&] {
    held_ms = context.now_wall_ms() - guard->lease().acquired_wall_ms;
    lost = !guard->give_back();
  };
  auto result = service::run_holding(guard->locks(), command, hold,
                                     [&](const RunEvent& event) { tell(out, event); });
  if (!result) return fail_to_create(out, result.error());
  if (!*result) return refuse(out, *guard);
  service::RunResult& ran = **result;
  ran.lost |= lost;
  int status = ran.signal != 0 ? 128 + ran.signal : ran.exit_status;
  if (ran.lost) status = exit_status(Code::kLost);
  out.object(ended_json(*guard, ran, status, held_ms));
  return status;
}

}  // namespace

Result<int> guard_verb(VerbContext& context) {
  Result<int> status = hold_folder(context);
  if (!status) status = cannot_be_held(std::move(status.error()));
  return status;
}

}  // namespace lockkeeper::cli
