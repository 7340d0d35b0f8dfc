#include "enforce/event.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/bytes.h"
#include "base/text.h"
#include "enforce/payload.h"
#include "enforce/shape.h"

namespace lockkeeper::enforce {
namespace {

using nlohmann::json;

struct ClientNames {
  Client client;
  std::string_view word;
  std::string_view agent;
};

constexpr auto kClients = std::to_array<ClientNames>({
    {Client::kClaude, "claude", "claude-code"},
    {Client::kCodex, "codex", "codex"},
    {Client::kGemini, "gemini", "gemini"},
    {Client::kCopilot, "copilot", "copilot"},
    {Client::kOpencode, "opencode", "opencode"},
    {Client::kCursor, "cursor", "cursor"},
});

const ClientNames& names_of(Client client) {
  return *std::ranges::find(kClients, client, &ClientNames::client);
}

constexpr Names kToolNames = {"tool_name", "toolName", "tool"};
constexpr Names kInputNames = {"tool_input", "toolArgs", "args"};
constexpr Names kIdNames = {"tool_use_id", "tool_call_id", "callID"};

std::string derived_id(const Event& event, const ToolCall& call) {
  const std::string who = event.session + '\0' + event.subagent + '\0' + call.tool + '\0';
  const std::string input = call.input.dump(-1, ' ', false, json::error_handler_t::replace);
  std::string bytes;
  append_be64(bytes, hash64(who, input));
  return "derived-" + to_hex(bytes);
}

// Some hand over the arguments as a text that has the object.
json unpacked(const json& input) {
  if (!input.is_string()) return input;
  Result<json> object = read_object(input.get_ref<const std::string&>());
  if (object) return std::move(*object);
  return input;
}

bool says_failed(Client client, const json& payload) {
  const json* const result = field(payload, {"tool_response", "tool_result", "toolResult"});
  if (result == nullptr || !result->is_object()) return has(payload, {"error"});
  if (client == Client::kGemini) return has(*result, {"error"});
  const json* const type = field(*result, {"result_type", "resultType"});
  return client == Client::kCopilot && type != nullptr && *type != "success";
}

// Claude Code's batch says only what the model will read. These are sure; anything else may be
// either, and the file has to be looked at.
bool batch_says_failed(const json& call) {
  const json* const response = field(call, {"tool_response"});
  if (response == nullptr) return true;
  if (!response->is_string()) return false;
  const auto& text = response->get_ref<const std::string&>();
  return text.starts_with("<tool_use_error>") || text.starts_with("PreToolUse:") ||
         text.starts_with("Claude requested permissions") ||
         text.starts_with("Permission to use ") || text.starts_with("The user doesn't want to ");
}

std::optional<std::string> original_in(const json& payload) {
  const json* const response = field(payload, {"tool_response"});
  if (response == nullptr || !response->is_object()) return std::nullopt;
  const json* const original = field(*response, {"originalFile"});
  if (original == nullptr || !original->is_string()) return std::nullopt;
  return original->get<std::string>();
}

Result<ToolCall> read_call(const Event& event, const json& from) {
  ToolCall call;
  LK_ASSIGN(call.tool, id_field(from, kToolNames));
  if (call.tool.empty() && event.client != Client::kCursor) return missing("tool_name");
  const json* const input = field(from, kInputNames);
  if (input == nullptr) return missing(*kInputNames.begin());
  call.input = unpacked(*input);
  if (!call.input.is_object() && !call.input.is_string()) {
    return wrong_type(*kInputNames.begin(), "an object");
  }
  LK_ASSIGN(call.id, id_field(from, kIdNames));
  if (call.id.empty()) call.id = derived_id(event, call);
  return call;
}

// Cursor's moments of their own kind, written as the calls that they are.
Result<json> as_call(const Event& event, const json& payload) {
  json from = payload;
  const std::string name = lowered(event.name);
  const auto becomes = [&](const char* tool, const char* argument) -> Result<json> {
    LK_ASSIGN(const std::string value, needed_text(payload, {argument}));
    from["tool_name"] = tool;
    from["tool_input"] = {{argument, value}};
    return from;
  };
  if (name.ends_with("shellexecution")) return becomes("Shell", "command");
  if (name.ends_with("fileedit")) return becomes("Edit", "file_path");
  if (name == "beforereadfile" || name == "beforetabfileread") return becomes("Read", "file_path");
  if (name.ends_with("mcpexecution")) {
    LK_ASSIGN(const std::string tool, needed_text(payload, {"tool_name"}));
    from["tool_name"] = tool.starts_with("MCP:") ? tool : "MCP:" + tool;
  }
  return from;
}

Result<void> read_calls(Event& event, const json& payload, bool failed) {
  if (event.moment == Moment::kBatchOver) {
    const json* const calls = field(payload, {"tool_calls"});
    if (calls == nullptr) return missing("tool_calls");
    if (!calls->is_array()) return wrong_type("tool_calls", "an array");
    for (const json& each : *calls) {
      if (!each.is_object()) return wrong_type("tool_calls", "an array of objects");
      LK_ASSIGN(ToolCall call, read_call(event, each));
      if (batch_says_failed(each)) call.outcome = Outcome::kFailed;
      call.original = original_in(each);
      event.calls.push_back(std::move(call));
    }
    return {};
  }
  if (event.moment != Moment::kBefore && event.moment != Moment::kAfter) return {};
  Result<ToolCall> call;
  if (event.client == Client::kCursor) {
    LK_ASSIGN(const json from, as_call(event, payload));
    call = read_call(event, from);
  } else {
    call = read_call(event, payload);
  }
  if (!call) return fail(std::move(call.error()));
  if (event.moment == Moment::kAfter) {
    call->outcome =
        failed || says_failed(event.client, payload) ? Outcome::kFailed : Outcome::kDone;
    call->original = original_in(payload);
  }
  event.calls.push_back(std::move(*call));
  return {};
}

// A subagent that ends is itself among what still runs.
Result<bool> still_runs(const Event& event, const json& payload) {
  if (event.moment != Moment::kTurnOver && event.moment != Moment::kSubagentOver) return false;
  const json* const tasks = field(payload, {"background_tasks"});
  if (tasks == nullptr) return false;
  if (!tasks->is_array()) return wrong_type("background_tasks", "an array");
  return std::ranges::any_of(*tasks, [&](const json& task) {
    const json* const id = task.is_object() ? field(task, {"id"}) : nullptr;
    return event.subagent.empty() || id == nullptr || *id != event.subagent;
  });
}

Result<std::string> read_cwd(const json& payload) {
  LK_ASSIGN(std::string cwd, text_field(payload, {"cwd", "directory"}));
  const json* const roots = field(payload, {"workspace_roots"});
  if (cwd.empty() && roots != nullptr) {
    if (!roots->is_array()) return wrong_type("workspace_roots", "an array");
    if (!roots->empty() && !roots->front().is_string()) {
      return wrong_type("workspace_roots", "an array of strings");
    }
    if (!roots->empty()) cwd = roots->front().get<std::string>();
  }
  if (cwd.find('\0') != std::string::npos) return wrong_type("cwd", "a path: it has a NUL byte");
  return cwd;
}

Result<void> read_identity(Event& event, const json& payload) {
  if (event.client == Client::kCursor) {
    LK_ASSIGN(event.session, id_field(payload, {"conversation_id", "session_id"}));
  } else {
    LK_ASSIGN(event.session, id_field(payload, {"session_id", "sessionId", "sessionID"}));
  }
  if (event.session.empty()) return missing("session_id");
  LK_ASSIGN(event.subagent, id_field(payload, {"agent_id", "agentId", "subagent_id"}));
  // A subagent of opencode or Copilot is a session of its own, which names its parent.
  LK_ASSIGN(std::string parent,
            id_field(payload, {"parentID", "parentAgentId", "parent_agent_id"}));
  const bool child = event.client == Client::kOpencode ||
                     (event.client == Client::kCopilot && event.session == event.subagent);
  if (!child || parent.empty()) return {};
  event.subagent = std::exchange(event.session, std::move(parent));
  if (event.moment == Moment::kSessionStart) event.moment = Moment::kSubagentStart;
  const bool over = event.moment == Moment::kTurnOver || event.moment == Moment::kSessionOver;
  if (over) event.moment = Moment::kSubagentOver;
  return {};
}

}  // namespace

std::optional<Client> client_named(std::string_view word) {
  const auto found = std::ranges::find(kClients, word, &ClientNames::word);
  return found == kClients.end() ? std::nullopt : std::optional(found->client);
}

std::string_view client_name(Client client) {
  return names_of(client).word;
}

std::string_view agent_name(Client client) {
  return names_of(client).agent;
}

Result<Event> read_event(Client said, std::string_view payload) {
  LK_ASSIGN(const json object, read_object(payload));
  Event event;
  event.client = client_of(said, object);
  LK_ASSIGN(Named named, moment_of(event.client, object));
  event.moment = named.moment;
  event.name = std::move(named.name);
  const bool guest = event.client == Client::kCopilot || event.client == Client::kCursor;
  event.claude_shape = guest && event.name.front() >= 'A' && event.name.front() <= 'Z';
  LK_CHECK(read_identity(event, object));
  LK_ASSIGN(event.cwd, read_cwd(object));
  LK_ASSIGN(event.permission_mode, id_field(object, {"permission_mode"}));
  LK_CHECK(read_calls(event, object, named.failed));
  LK_ASSIGN(event.goes_on, still_runs(event, object));
  return event;
}

}  // namespace lockkeeper::enforce
