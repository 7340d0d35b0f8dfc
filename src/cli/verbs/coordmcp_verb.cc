// `coordmcp`: CoordMCP's tools by their own names. Always prints JSON, because its clients read
// `success` and `error_type`. The exit status is as everywhere.
#include <nlohmann/json.hpp>

#include "base/parse.h"
#include "base/text.h"
#include "cli/progress.h"
#include "cli/verbs/acquire_options.h"
#include "cli/verbs/verbs.h"
#include "dialect/coordmcp/calls.h"
#include "host/signals.h"
#include "layout/registry.h"

namespace lockkeeper::cli {
namespace {

namespace coordmcp = dialect::coordmcp;
using coordmcp::Reply;
using service::Json;

// The arguments as an MCP client gives them: one object. Reading an argument removes it; what is
// left at the end is unknown.
class ToolArguments {
 public:
  explicit ToolArguments(Json object) : object_(std::move(object)) {}

  std::string text(const char* name, bool required = false) {
    const Json value = take(name);
    if (value.is_null()) {
      if (required) missing(name);
      return {};
    }
    if (!value.is_string()) wrong(name, "a string");
    return value.is_string() ? value.get<std::string>() : std::string();
  }
  std::vector<std::string> texts(const char* name) {
    std::vector<std::string> all;
    const Json value = take(name);
    if (value.is_null()) missing(name);
    if (!value.is_null() && !value.is_array()) wrong(name, "a list of strings");
    for (const Json& one : value) {
      if (!one.is_string()) wrong(name, "a list of strings");
      if (one.is_string()) all.push_back(one.get<std::string>());
    }
    return all;
  }
  int number(const char* name, int otherwise) {
    const Json value = take(name);
    if (value.is_null()) return otherwise;
    const bool whole = value.is_number_integer() && value >= INT32_MIN && value <= INT32_MAX;
    if (!whole) wrong(name, "a whole number");
    return whole ? value.get<int>() : otherwise;
  }
  bool flag(const char* name) {
    const Json value = take(name);
    if (!value.is_null() && !value.is_boolean()) wrong(name, "true or false");
    return value.is_boolean() && value.get<bool>();
  }

  // The first mistake.
  Result<void> check() const {
    if (!mistake_.empty()) return fail(Code::kInvalidInput, mistake_);
    if (object_.empty()) return {};
    return fail(Code::kInvalidInput, "there is no argument " + quote(object_.begin().key()));
  }

 private:
  Json take(const char* name) {
    const auto found = object_.find(name);
    if (found == object_.end()) return {};
    Json value = *found;
    object_.erase(name);
    return value;
  }
  void wrong(const char* name, const std::string& what) {
    if (mistake_.empty()) mistake_ = std::string(name) + " must be " + what;
  }
  void missing(const char* name) {
    if (mistake_.empty()) mistake_ = std::string(name) + " is missing";
  }

  Json object_;
  std::string mistake_;
};

struct CoordOptions {
  std::vector<std::string> files;
  std::optional<std::string> args, agent_id, project_id, reason, minutes, wait, from, to, content,
      type, related_task, limit, message_id, workspace;
  bool unread_only = false;
};

// Arguments of every tool.
void declare_project(Arguments& arguments, CoordOptions& options) {
  arguments.value("--project-id", options.project_id, "ID", "the project");
  arguments.value("--workspace-path", options.workspace, "DIR", "a folder of the project");
  arguments.offer(Arguments::Complete::kFolders);
  arguments.value("--args", options.args, "JSON", "the tool's arguments as one object");
}

void declare_agent(Arguments& arguments, CoordOptions& options) {
  arguments.value("--agent-id", options.agent_id, "ID", "your id; any name will do");
  declare_project(arguments, options);
}

void declare_files(Arguments& arguments, CoordOptions& options) {
  arguments.values("--file", options.files, "PATH", "a file; may be repeated");
  arguments.offer(Arguments::Complete::kFiles);
  declare_agent(arguments, options);
}

void declare_lock(Arguments& arguments, CoordOptions& options) {
  declare_files(arguments, options);
  arguments.value("--reason", options.reason, "TEXT", "why the files are locked");
  arguments.value("--expected-duration-minutes", options.minutes, "N",
                  "shown to others, not enforced (60)");
  arguments.optional_value("--wait", options.wait, "DURATION",
                           "wait in the queue, at most this long");
}

void declare_send(Arguments& arguments, CoordOptions& options) {
  arguments.value("--from-agent-id", options.from, "ID", "the sender");
  arguments.value("--to-agent-id", options.to, "ID", "the receiver, or broadcast");
  arguments.value("--content", options.content, "TEXT", "the message");
  arguments.value("--message-type", options.type, "TYPE",
                  "request, update (default), alert, question, review");
  arguments.offer({"request", "update", "alert", "question", "review"});
  arguments.value("--related-task-id", options.related_task, "ID", "the task it is about");
  declare_project(arguments, options);
}

void declare_messages(Arguments& arguments, CoordOptions& options) {
  declare_agent(arguments, options);
  arguments.flag("--unread-only", options.unread_only, "only unread messages");
  arguments.value("--limit", options.limit, "N", "at most this many (50)");
}

void declare_mark(Arguments& arguments, CoordOptions& options) {
  declare_agent(arguments, options);
  arguments.value("--message-id", options.message_id, "ID", "the message");
}

Json number_or_text(const std::string& text) {
  const auto value = number_in<int>(text);
  return value ? Json(*value) : Json(text);
}

// Flags and --args together as one object; --args takes precedence.
Result<Json> arguments_of(const CoordOptions& options) {
  Json object = Json::object();
  const auto put = [&](const char* name, const std::optional<std::string>& value) {
    if (value) object[name] = *value;
  };
  put("agent_id", options.agent_id);
  put("project_id", options.project_id);
  put("reason", options.reason);
  put("from_agent_id", options.from);
  put("to_agent_id", options.to);
  put("content", options.content);
  put("message_type", options.type);
  put("related_task_id", options.related_task);
  put("message_id", options.message_id);
  put("workspace_path", options.workspace);
  put("wait", options.wait);
  if (!options.files.empty()) object["files"] = options.files;
  if (options.minutes) object["expected_duration_minutes"] = number_or_text(*options.minutes);
  if (options.limit) object["limit"] = number_or_text(*options.limit);
  if (options.unread_only) object["unread_only"] = true;
  if (!options.args) return object;
  const Json more = Json::parse(*options.args, nullptr, false);
  if (!more.is_object()) {
    return fail(Code::kInvalidInput, "--args " + quote(*options.args) + " is not a JSON object",
                "write --args '{\"agent_id\":\"A\",…}'");
  }
  for (const auto& [name, value] : more.items()) object[name] = value;
  return object;
}

// "", "10m", 600 (seconds), true.
Result<std::optional<std::int64_t>> wait_of(const Json& wait) {
  if (wait.is_null() || wait == false) return std::optional<std::int64_t>();
  if (wait == true || wait == "") return std::optional<std::int64_t>(service::kWaitForever);
  if (wait.is_string()) {
    LK_ASSIGN(const std::int64_t ms, parse_duration_ms(wait.get<std::string>()));
    return std::optional<std::int64_t>(ms);
  }
  return fail(Code::kInvalidInput, "wait must be true or a duration", "such as \"10m\"");
}

// One tool call.
struct Call {
  VerbContext& context;
  coordmcp::Calls& calls;
  ToolArguments& arguments;
  std::optional<std::int64_t> wait_ms;
  std::string project_name;
  int signal_status = 0;
};

Result<Reply> lock_files(Call& call) {
  coordmcp::LockFiles lock;
  lock.agent_id = call.arguments.text("agent_id", true);
  lock.project_id = call.arguments.text("project_id", true);
  lock.files = call.arguments.texts("files");
  lock.reason = call.arguments.text("reason");
  lock.expected_duration_minutes = call.arguments.number("expected_duration_minutes", 60);
  lock.wait_ms = call.wait_ms;
  LK_CHECK(call.arguments.check());
  if (!lock.wait_ms) return call.calls.lock_files(lock);
  const host::SignalWatch signals;
  Progress progress(call.context.out(), *call.context.runtime().clock);
  lock.on_wait = [&](const service::WaitProgress& wait) {
    progress.show(wait);
    return signals.signal() == 0;
  };
  Result<Reply> reply = call.calls.lock_files(lock);
  if (signals.signal() == 0) return reply;
  call.signal_status = signals.exit_status();
  // Granted as the user gave up: nobody would ever unlock it.
  if (reply && !reply->failure) {
    static_cast<void>(call.calls.unlock_files({lock.agent_id, lock.project_id, lock.files}));
    return coordmcp::failure(Code::kFailed, "InternalError", "interrupted; nothing is locked");
  }
  return reply;
}

template <Result<Reply> (coordmcp::Calls::*method)(const coordmcp::Files&)>
Result<Reply> on_files(Call& call) {
  const coordmcp::Files what{call.arguments.text("agent_id", true),
                             call.arguments.text("project_id", true),
                             call.arguments.texts("files")};
  LK_CHECK(call.arguments.check());
  return (call.calls.*method)(what);
}

template <Result<Reply> (coordmcp::Calls::*method)(const std::string&)>
Result<Reply> on_project(Call& call) {
  const std::string id = call.arguments.text("project_id");
  LK_CHECK(call.arguments.check());
  return (call.calls.*method)(coordmcp::project_of(id, call.project_name));
}

Result<Reply> send_message(Call& call) {
  ToolArguments& arguments = call.arguments;
  coordmcp::SendMessage send;
  send.from_agent_id = arguments.text("from_agent_id", true);
  send.to_agent_id = arguments.text("to_agent_id", true);
  send.project_id = arguments.text("project_id", true);
  send.content = arguments.text("content", true);
  const std::string type = arguments.text("message_type");
  if (!type.empty()) send.message_type = type;
  send.related_task_id = arguments.text("related_task_id");
  LK_CHECK(arguments.check());
  return call.calls.send_message(send);
}

Result<Reply> get_messages(Call& call) {
  const std::string agent = call.arguments.text("agent_id", true);
  const std::string project =
      coordmcp::project_of(call.arguments.text("project_id"), call.project_name);
  const bool unread_only = call.arguments.flag("unread_only");
  const int limit = call.arguments.number("limit", 50);
  LK_CHECK(call.arguments.check());
  return call.calls.get_messages({agent, project, unread_only, limit});
}

Result<Reply> mark_message_read(Call& call) {
  const std::string agent = call.arguments.text("agent_id", true);
  call.arguments.text("project_id");
  const std::string message = call.arguments.text("message_id", true);
  LK_CHECK(call.arguments.check());
  return call.calls.mark_message_read(agent, message);
}

Result<Reply> run_tool(VerbContext& context, const CoordOptions& options,
                       Result<Reply> (*tool)(Call&), int& signal_status) {
  LK_ASSIGN(Json object, arguments_of(options));
  LK_ASSIGN(const std::optional<std::int64_t> wait_ms, wait_of(object.value("wait", Json())));
  object.erase("wait");
  const Json workspace = object.value("workspace_path", Json());
  object.erase("workspace_path");
  std::vector<std::string> where;
  if (workspace.is_string()) where.push_back(workspace.get<std::string>() + "/");
  LK_ASSIGN(realm::Realm realm, context.realm(where));
  const service::Runtime& runtime = context.runtime();
  LK_ASSIGN(realm::Settings settings, layout::load_settings(runtime, realm));
  LK_ASSIGN(coordmcp::Config config, coordmcp::read_config(runtime.env));
  service::Site table(runtime, std::move(realm), std::move(settings));
  coordmcp::Calls calls(table, std::move(config), context.common().session.value_or(""));
  ToolArguments arguments(std::move(object));
  Call call{context, calls, arguments, wait_ms, arguments.text("project_name")};
  auto reply = tool(call);
  signal_status = call.signal_status;
  return reply;
}

template <void declare(Arguments&, CoordOptions&), Result<Reply> tool(Call&)>
Result<int> coordmcp_tool(VerbContext& context) {
  CoordOptions options;
  declare(context.arguments(), options);
  // Flags of the other tools are answered as CoordMCP answers an argument that a tool does not
  // take.
  context.arguments().begin_hidden();
  declare_lock(context.arguments(), options);
  declare_send(context.arguments(), options);
  declare_messages(context.arguments(), options);
  declare_mark(context.arguments(), options);
  if (const auto status = context.parse()) return *status;
  int signal_status = 0;
  const Reply reply = coordmcp::reply_of(run_tool(context, options, tool, signal_status));
  const std::string line = service::dump(reply.json) + "\n";
  std::fputs(line.c_str(), context.environment().out);
  if (signal_status != 0) return signal_status;
  return reply.failure ? exit_status(*reply.failure) : 0;
}

constexpr Verb kCoordmcpSubcommands[] = {
    {"lock_files", "Take files, all or nothing",
     "  lockkeeper coordmcp lock_files --agent-id A --project-id P --file src/a.py \\\n"
     "    --reason JWT\n"
     "  lockkeeper coordmcp lock_files --wait=10m --args \\\n"
     "    "
     "'{\"agent_id\":\"A\",\"project_id\":\"P\",\"files\":[\"src/a.py\"],\"reason\":\"JWT\"}'\n",
     coordmcp_tool<declare_lock, lock_files>},
    {"unlock_files", "Release files",
     "  lockkeeper coordmcp unlock_files --agent-id A --project-id P --file src/a.py\n",
     coordmcp_tool<declare_files, on_files<&coordmcp::Calls::unlock_files>>},
    {"get_locked_files", "Which files are locked, and by whom",
     "  lockkeeper coordmcp get_locked_files\n"
     "  lockkeeper coordmcp get_locked_files --project-id P\n",
     coordmcp_tool<declare_project, on_project<&coordmcp::Calls::get_locked_files>>, Does::kLook},
    {"get_free_files", "Which of these files are free",
     "  lockkeeper coordmcp get_free_files --agent-id A --project-id P --file src/a.py\n",
     coordmcp_tool<declare_files, on_files<&coordmcp::Calls::get_free_files>>, Does::kLook},
    {"cleanup_stale_locks", "End locks that are older than CoordMCP allows",
     "  lockkeeper coordmcp cleanup_stale_locks --project-id P\n",
     coordmcp_tool<declare_project, on_project<&coordmcp::Calls::cleanup_stale_locks>>},
    {"send_message", "Send a message to an agent or to all",
     "  lockkeeper coordmcp send_message --from-agent-id A --to-agent-id B \\\n"
     "    --project-id P --content \"may I have src/a.py?\"\n",
     coordmcp_tool<declare_send, send_message>},
    {"get_messages", "The messages for an agent",
     "  lockkeeper coordmcp get_messages --agent-id A --unread-only\n",
     coordmcp_tool<declare_messages, get_messages>, Does::kLook},
    {"mark_message_read", "Mark a message as read",
     "  lockkeeper coordmcp mark_message_read --agent-id A --message-id ID\n",
     coordmcp_tool<declare_mark, mark_message_read>},
};

}  // namespace

std::span<const Verb> coordmcp_subcommands() {
  return kCoordmcpSubcommands;
}

}  // namespace lockkeeper::cli
