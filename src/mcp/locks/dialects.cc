#include "mcp/locks/dialects.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/text.h"
#include "dialect/coordinator/coordinator.h"
#include "host/listener.h"
#include "mcp/locks/arguments.h"
#include "realm/realm.h"
#include "service/report.h"

namespace lockkeeper::mcp::locks {
namespace {

namespace coordinator = dialect::coordinator;
namespace coordmcp = dialect::coordmcp;

constexpr std::array<const char*, 2> kDialects = {"coordmcp", "coordinator"};
constexpr std::int64_t kCleanEveryMs = 600'000;
constexpr std::chrono::seconds kLookEvery(1);

// Their clients read the text as JSON.
Answer json_answer(const Json& json) {
  const Json structured = json.is_array() ? Json{{"result", json}} : json;
  return tool_answer(service::dump(json), structured);
}

std::string project_in(const Json& arguments) {
  return coordmcp::project_of(text_argument(arguments, "project_id"),
                              text_argument(arguments, "project_name"));
}

Answer json_answer(const Error& error) {
  return json_answer(Json{{"success", false}, {"error", service::error_json(error)}});
}

}  // namespace

Result<void> check_dialects(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::ranges::find(kDialects, name) != kDialects.end()) continue;
    return fail(Code::kUsage, "--dialect " + quote(name) + " is not known",
                "use --dialect coordmcp or --dialect coordinator");
  }
  return {};
}

std::vector<Tool> Dialects::tools(const std::string& dialect) {
  if (dialect == "coordmcp") {
    if (!cleaning_.joinable()) {
      cleaning_ =
          std::jthread([this](const std::stop_token& stop) { clean_from_time_to_time(stop); });
    }
    return coordmcp_tools();
  }
  if (dialect == "coordinator") return coordinator_tools();
  return {};
}

Tool Dialects::with(Tool tool, Method method) {
  tool.call = [this, method](Call& call, const Json& arguments) {
    return (this->*method)(call, arguments);
  };
  return tool;
}

// --- CoordMCP: the call names the agent --------------------------------------------------------

// An error is for whoever calls a tool.
void Dialects::clean_from_time_to_time(const std::stop_token& stop) {
  const Clock& clock = *site_.runtime().clock;
  std::mutex alone;
  std::unique_lock lock(alone);
  std::int64_t next_ms = clock.now().mono_ms;
  while (!stop.stop_requested()) {
    if (clock.now().mono_ms >= next_ms) {
      next_ms = clock.now().mono_ms + kCleanEveryMs;
      if (auto config = coordmcp::read_config(site_.runtime().env)) {
        static_cast<void>(coordmcp::Calls(site_, std::move(*config)).cleanup_all());
      }
    }
    stopping_.wait_for(lock, stop, kLookEvery, [] { return false; });
  }
}

Answer Dialects::coordmcp(const std::function<Result<Reply>(coordmcp::Calls&)>& action) const {
  auto config = coordmcp::read_config(site_.runtime().env);
  if (!config) return json_answer(coordmcp::from_error(config.error()).json);
  const Caller& caller = ownership_.caller();
  coordmcp::Calls calls(site_, std::move(*config),
                        caller.session_given ? caller.who.session : std::string());
  return json_answer(coordmcp::reply_of(action(calls)).json);
}

Answer Dialects::lock_files(Call& call, const Json& arguments) {
  coordmcp::LockFiles lock;
  lock.agent_id = text_argument(arguments, "agent_id");
  lock.project_id = text_argument(arguments, "project_id");
  lock.files = text_arguments(arguments, "files");
  lock.reason = text_argument(arguments, "reason");
  lock.expected_duration_minutes = static_cast<int>(std::clamp<std::int64_t>(
      number_argument(arguments, "expected_duration_minutes", 60), INT32_MIN, INT32_MAX));
  if (const std::string wait = text_argument(arguments, "wait"); !wait.empty()) {
    const auto wait_ms = parse_duration_ms(wait);
    if (!wait_ms) return json_answer(coordmcp::from_error(wait_ms.error()).json);
    lock.wait_ms = std::min(*wait_ms, kWaitMostMs);
  }
  std::optional<Call::Pause> pause;  // others work meanwhile
  if (lock.wait_ms && !pause.emplace(call)) lock.wait_ms.reset();
  lock.on_wait = [&](const service::WaitProgress& progress) {
    call.progress(static_cast<double>(progress.waited_ms), {},
                  "waiting in the queue, position " + std::to_string(progress.position));
    return !call.cancelled();
  };
  return coordmcp([&](coordmcp::Calls& calls) {
    auto reply = calls.lock_files(lock);
    // Granted as the client gave up, so nobody would ever unlock it.
    if (call.cancelled() && lock.wait_ms && reply && !reply->failure) {
      static_cast<void>(calls.unlock_files({lock.agent_id, lock.project_id, lock.files}));
    }
    return reply;
  });
}

Answer Dialects::unlock_files(Call& /*call*/, const Json& arguments) {
  return coordmcp([&](coordmcp::Calls& calls) {
    return calls.unlock_files({text_argument(arguments, "agent_id"),
                               text_argument(arguments, "project_id"),
                               text_arguments(arguments, "files")});
  });
}

Answer Dialects::get_locked_files(Call& /*call*/, const Json& arguments) {
  return coordmcp([&](coordmcp::Calls& calls) {
    return in_workspace(arguments, [&] { return calls.get_locked_files(project_in(arguments)); });
  });
}

Answer Dialects::cleanup_stale_locks(Call& /*call*/, const Json& arguments) {
  return coordmcp([&](coordmcp::Calls& calls) {
    return in_workspace(arguments,
                        [&] { return calls.cleanup_stale_locks(project_in(arguments)); });
  });
}

Answer Dialects::send_message(Call& /*call*/, const Json& arguments) {
  coordmcp::SendMessage send;
  send.from_agent_id = text_argument(arguments, "from_agent_id");
  send.to_agent_id = text_argument(arguments, "to_agent_id");
  send.project_id = text_argument(arguments, "project_id");
  send.content = text_argument(arguments, "content");
  const std::string type = text_argument(arguments, "message_type");
  if (!type.empty()) send.message_type = type;
  send.related_task_id = text_argument(arguments, "related_task_id");
  return coordmcp([&](coordmcp::Calls& calls) { return calls.send_message(send); });
}

Answer Dialects::get_messages(Call& /*call*/, const Json& arguments) {
  coordmcp::GetMessages get;
  get.agent_id = text_argument(arguments, "agent_id");
  get.project_id = project_in(arguments);
  get.unread_only = arguments.value("unread_only", Json(false)) == true;
  get.limit = static_cast<int>(
      std::clamp<std::int64_t>(number_argument(arguments, "limit", 50), -1, INT32_MAX));
  return coordmcp([&](coordmcp::Calls& calls) {
    return in_workspace(arguments, [&] { return calls.get_messages(get); });
  });
}

Answer Dialects::get_free_files(Call& /*call*/, const Json& arguments) {
  return coordmcp([&](coordmcp::Calls& calls) {
    return calls.get_free_files({text_argument(arguments, "agent_id"),
                                 text_argument(arguments, "project_id"),
                                 text_arguments(arguments, "files")});
  });
}

Answer Dialects::mark_message_read(Call& /*call*/, const Json& arguments) {
  return coordmcp([&](coordmcp::Calls& calls) {
    return calls.mark_message_read(text_argument(arguments, "agent_id"),
                                   text_argument(arguments, "message_id"));
  });
}

// A server knows one repository. What is locked elsewhere it cannot tell.
Result<Dialects::Reply> Dialects::in_workspace(const Json& arguments,
                                               const std::function<Result<Reply>()>& ask) const {
  const std::string path = text_argument(arguments, "workspace_path");
  if (!path.empty()) {
    const auto there = realm::realm_of(path, site_.runtime().env);
    if (!there || there->store_folder != site_.realm().store_folder) {
      return fail(Code::kInvalidInput,
                  "workspace_path " + quote(path) + " is not in this server's repository " +
                      quote(site_.realm().root),
                  "leave it out, or ask a server that was started there");
    }
  }
  return ask();
}

// --- the coordinator: the agent is the server's, or the call names it ---------------------------

// Arguments and Lockkeeper's own variables first, then the original's variables.
Result<service::Locks> Dialects::coordinator_locks(const Call& call, const Json& arguments) const {
  Caller caller = ownership_.caller();
  const realm::Environment& env = site_.runtime().env;
  const auto agent = realm::variable(env, "AGENT_ID");
  if (agent && !caller.agent_given) {
    caller.who.agent = *agent;
    caller.agent_given = caller.agent_known = true;
  }
  const auto session = realm::variable(env, "SESSION_ID");
  if (session && !caller.session_given) {
    caller.who.session = *session;
    caller.session_given = caller.session_known = true;
  }
  LK_ASSIGN(const core::Owner owner, Ownership(std::move(caller))
                                         .named(call, text_argument(arguments, "agent_id"),
                                                text_argument(arguments, "session_id")));
  return service::Locks(site_, owner, under_);
}

std::string Dialects::agent_type(const Json& arguments) const {
  std::string given = text_argument(arguments, "agent_type");
  if (!given.empty()) return given;
  const auto type = realm::variable(site_.runtime().env, "AGENT_TYPE");
  return type.value_or(std::string(coordinator::kAgentTypeDefault));
}

Answer Dialects::acquire_lock(Call& call, const Json& arguments) {
  auto locks = coordinator_locks(call, arguments);
  if (!locks) return json_answer(to_json(coordinator::refused("invalid_agent_id", locks.error())));
  coordinator::AcquireLock wanted{text_argument(arguments, "file_path"),
                                  text_argument(arguments, "reason"), std::nullopt};
  const Json minutes = arguments.value("ttl_minutes", Json());
  if (!minutes.is_null()) wanted.ttl_minutes = number_argument(arguments, "ttl_minutes", 0);
  coordinator::Coordinator door(*locks, agent_type(arguments));
  return json_answer(to_json(door.acquire_lock(wanted)));
}

Answer Dialects::release_lock(Call& call, const Json& arguments) {
  auto locks = coordinator_locks(call, arguments);
  if (!locks) {
    return json_answer(to_json(
        coordinator::refused<coordinator::ReleaseResult>("invalid_agent_id", locks.error())));
  }
  coordinator::Coordinator door(*locks, agent_type(arguments));
  return json_answer(to_json(door.release_lock(text_argument(arguments, "file_path"))));
}

Answer Dialects::check_locks(Call& call, const Json& arguments) {
  auto named = coordinator_locks(call, arguments);
  // Reading needs no name.
  service::Locks locks = named ? std::move(*named) : service::Locks(site_, ownership_.reader());
  coordinator::Coordinator door(locks, agent_type(arguments));
  const Json paths = arguments.value("file_paths", Json());
  const auto result = door.check_locks(
      paths.is_null() ? std::nullopt : std::optional(text_arguments(arguments, "file_paths")));
  if (!result.error) return json_answer(to_json(result));
  // The result is a plain list, which cannot carry an error.
  return tool_answer(result.error->message, {{"error", service::error_json(*result.error)}}, true);
}

// --- ports ---------------------------------------------------------------------------------------

Result<dialect::coordinator::Ports> Dialects::ports() {
  const std::lock_guard lock(mutex_);
  if (!machine_) {
    LK_ASSIGN(machine_, dialect::coordinator::machine_site(site_.runtime()));
  }
  return dialect::coordinator::Ports(*machine_, host::may_have_listener);
}

Answer Dialects::allocate_ports(Call& /*call*/, const Json& arguments) {
  auto ports = this->ports();
  if (!ports) return json_answer(ports.error());
  const auto range = dialect::coordinator::port_range(site_.settings(), site_.runtime().env);
  if (!range) return json_answer(range.error());
  const auto taken = ports->allocate(text_argument(arguments, "session_id"), *range);
  return taken ? json_answer(dialect::coordinator::allocate_json(*taken))
               : json_answer(taken.error());
}

Answer Dialects::release_ports(Call& /*call*/, const Json& arguments) {
  auto ports = this->ports();
  if (!ports) return json_answer(ports.error());
  const std::string session = text_argument(arguments, "session_id");
  const auto released = ports->release(session);
  if (!released) return json_answer(released.error());
  return json_answer(Json{{"success", true}, {"session_id", session}, {"released", *released}});
}

Answer Dialects::ports_status(Call& /*call*/, const Json& /*arguments*/) {
  auto ports = this->ports();
  if (!ports) return json_answer(ports.error());
  const auto all = ports->status();
  if (!all) return json_answer(all.error());
  Json json{{"success", true}, {"allocations", Json::array()}};
  const std::int64_t now = site_.runtime().clock->now().wall_ms;
  for (const dialect::coordinator::PortAllocation& one : *all) {
    json["allocations"].push_back(dialect::coordinator::status_json(one, now));
  }
  return json_answer(json);
}

}  // namespace lockkeeper::mcp::locks
