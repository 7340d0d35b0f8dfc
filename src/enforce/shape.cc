#include "enforce/shape.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "enforce/payload.h"

namespace lockkeeper::enforce {
namespace {

using nlohmann::json;

struct KnownMoment {
  std::string_view name;  // in small letters
  Moment moment;
  bool failed = false;
};

// Clients spell one moment alike but for the case of its letters, and no name means two things.
constexpr auto kMoments = std::to_array<KnownMoment>({
    {"pretooluse", Moment::kBefore},
    {"posttooluse", Moment::kAfter},
    {"posttoolusefailure", Moment::kAfter, true},
    {"posttoolbatch", Moment::kBatchOver},
    {"sessionstart", Moment::kSessionStart},
    {"sessionend", Moment::kSessionOver},
    {"userpromptsubmit", Moment::kTurnStart},
    {"stop", Moment::kTurnOver},
    {"stopfailure", Moment::kTurnOver},
    {"subagentstart", Moment::kSubagentStart},
    {"subagentstop", Moment::kSubagentOver},
    {"teammateidle", Moment::kIdle},
    {"interrupt", Moment::kTurnOver},  // Codex
    {"beforetool", Moment::kBefore},   // Gemini CLI
    {"aftertool", Moment::kAfter},
    {"beforeagent", Moment::kTurnStart},
    {"afteragent", Moment::kTurnOver},
    {"userpromptsubmitted", Moment::kTurnStart},  // Copilot
    {"agentstop", Moment::kTurnOver},
    {"session.created", Moment::kSessionStart},  // opencode, through our plugin
    {"chat.message", Moment::kTurnStart},
    {"tool.execute.before", Moment::kBefore},
    {"tool.execute.after", Moment::kAfter},
    {"tool.execute.failed", Moment::kAfter, true},
    {"session.idle", Moment::kTurnOver},
    {"session.deleted", Moment::kSessionOver},
    {"beforesubmitprompt", Moment::kTurnStart},  // Cursor
    {"beforeshellexecution", Moment::kBefore},
    {"beforemcpexecution", Moment::kBefore},
    {"beforereadfile", Moment::kBefore},
    {"beforetabfileread", Moment::kBefore},
    {"aftershellexecution", Moment::kAfter},
    {"aftermcpexecution", Moment::kAfter},
    {"afterfileedit", Moment::kAfter},
    {"aftertabfileedit", Moment::kAfter},
});

constexpr auto kGeminisOwn =
    std::to_array<std::string_view>({"BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent",
                                     "BeforeModel", "AfterModel", "BeforeToolSelection"});

// The payload of Copilot's own hooks does not name its moment; its fields do.
Named copilots_moment(const json& payload) {
  if (has(payload, {"toolName"})) {
    if (has(payload, {"toolResult"})) return {"postToolUse", Moment::kAfter};
    if (has(payload, {"error"})) return {"postToolUseFailure", Moment::kAfter, true};
    const bool asks = has(payload, {"toolInput"}) && !has(payload, {"toolArgs"});
    if (asks) return {"permissionRequest", Moment::kOther};
    return {"preToolUse", Moment::kBefore};
  }
  if (has(payload, {"error", "errorContext"})) return {"errorOccurred", Moment::kOther};
  const bool over = has(payload, {"stopReason"});
  if (has(payload, {"agentName"})) {
    if (over) return {"subagentStop", Moment::kSubagentOver};
    return {"subagentStart", Moment::kSubagentStart};
  }
  if (over && has(payload, {"agentId"})) return {"agentStop", Moment::kSubagentOver};
  if (over) return {"agentStop", Moment::kTurnOver};
  if (has(payload, {"source"})) return {"sessionStart", Moment::kSessionStart};
  if (has(payload, {"transformedPrompt"})) return {"userPromptTransformed", Moment::kOther};
  if (has(payload, {"prompt"})) return {"userPromptSubmitted", Moment::kTurnStart};
  if (has(payload, {"reason"})) return {"sessionEnd", Moment::kSessionOver};
  return {"unknown", Moment::kOther};
}

}  // namespace

Client client_of(Client said, const json& payload) {
  if (has(payload, {"conversation_id", "cursor_version"})) return Client::kCursor;
  if (has(payload, {"sessionID"})) return Client::kOpencode;
  if (has(payload, {"sessionId", "toolName"})) return Client::kCopilot;
  const json* const name = field(payload, {"hook_event_name"});
  const std::string_view word = name != nullptr && name->is_string()
                                    ? std::string_view(name->get_ref<const std::string&>())
                                    : std::string_view();
  if (std::ranges::find(kGeminisOwn, word) != kGeminisOwn.end()) return Client::kGemini;
  // In Claude Code's shape, but with a field that Claude Code does not send.
  if (said == Client::kClaude && has(payload, {"timestamp"})) return Client::kCopilot;
  if (said == Client::kClaude && has(payload, {"turn_id"}) && has(payload, {"model"})) {
    return Client::kCodex;
  }
  return said;
}

Result<Named> moment_of(Client client, const json& payload) {
  LK_ASSIGN(std::string name,
            id_field(payload, {"hook_event_name", "hookEventName", "hookName", "event"}));
  if (name.empty() && client == Client::kCopilot) return copilots_moment(payload);
  if (name.empty()) return missing("hook_event_name");
  Named named{.name = name};
  const std::string small = lowered(name);
  if (small == "notification") {
    LK_ASSIGN(const std::string type, id_field(payload, {"notification_type"}));
    if (type == "idle_prompt") named.moment = Moment::kIdle;
    if (type == "permission_prompt") named.moment = Moment::kQuestion;
    return named;
  }
  const auto known = std::ranges::find(kMoments, small, &KnownMoment::name);
  if (known == kMoments.end()) return named;
  named.moment = known->moment;
  named.failed = known->failed;
  return named;
}

// Inside a string of JSON the quotes would be escaped, so that only a real key is found.
std::optional<Moment> moment_in_text(std::string_view payload) {
  constexpr std::string_view kKey = "\"hook_event_name\"";
  const std::size_t at = payload.find(kKey);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = payload.substr(at + kKey.size());
  if (rest.find(kKey) != std::string_view::npos) return std::nullopt;
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n:"), rest.size()));
  if (!rest.starts_with('"')) return std::nullopt;
  const std::size_t end = rest.find('"', 1);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string name = lowered(rest.substr(1, end - 1));
  const auto known = std::ranges::find(kMoments, name, &KnownMoment::name);
  return known == kMoments.end() ? std::nullopt : std::optional(known->moment);
}

}  // namespace lockkeeper::enforce
