#include "enforce/answer.h"

#include "base/json.h"
#include "base/text.h"
#include "enforce/shape.h"

namespace lockkeeper::enforce {
namespace {

using nlohmann::ordered_json;

// Codex ignores a refusal without a reason.
constexpr std::string_view kNoReason = "lockkeeper refused this call";

std::string bounded(std::string_view text) {
  std::string clean = escaped(text, /*lines=*/true);
  if (clean.size() <= kReasonBytesMax) return clean;
  constexpr std::string_view kMore = "…";
  return cut_utf8(clean, kReasonBytesMax - kMore.size()) + std::string(kMore);
}

std::string both(const std::string& first, const std::string& second) {
  return first + (first.empty() || second.empty() ? "" : "\n") + second;
}

Said json_said(const ordered_json& object) {
  return {.out = object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n"};
}

// The texts, made safe to print.
struct Texts {
  std::string why;   // of a refusal, never empty: all that there is to say
  std::string tell;  // what is said if the call passes
};

Texts texts_of(const Event& event, const Answer& answer) {
  const std::string reason = bounded(answer.reason);
  const std::string tell = bounded(answer.tell);
  Texts texts{both(reason, tell), tell};
  if (texts.why.empty()) texts.why = kNoReason;
  const bool too_late = event.moment != Moment::kBefore && answer.verdict != Verdict::kPass;
  if (too_late) texts.tell = texts.why;
  return texts;
}

ordered_json nested(const Event& event, std::string_view decision, const std::string& why) {
  return {{"hookEventName", event.name},
          {"permissionDecision", decision},
          {"permissionDecisionReason", why}};
}

ordered_json context(const Event& event, const std::string& tell) {
  return {{"hookEventName", event.name}, {"additionalContext", tell}};
}

// Claude Code and Codex. Codex refuses any field that is not of its schema, and then lets the call
// pass.
Said said_to_claude(const Event& event, const Texts& texts, std::string_view decision) {
  if (!decision.empty()) {
    return json_said({{"hookSpecificOutput", nested(event, decision, texts.why)}});
  }
  if (texts.tell.empty() || event.moment == Moment::kSessionOver) return {};
  if (can_tell(event)) return json_said({{"hookSpecificOutput", context(event, texts.tell)}});
  return json_said({{"systemMessage", texts.tell}});
}

Said said_to_gemini(const Event& event, const Texts& texts, std::string_view decision,
                    const ordered_json& input) {
  if (!decision.empty()) return json_said({{"decision", decision}, {"reason", texts.why}});
  if (!input.is_null()) return json_said({{"hookSpecificOutput", {{"tool_input", input}}}});
  if (texts.tell.empty()) return {};
  if (can_tell(event)) return json_said({{"hookSpecificOutput", context(event, texts.tell)}});
  return json_said({{"systemMessage", texts.tell}});
}

// Its own hooks read a flat answer. With Claude Code's hooks it may read either: both say the same.
Said said_to_copilot(const Event& event, const Texts& texts, std::string_view decision,
                     const ordered_json& input) {
  ordered_json object;
  if (!decision.empty()) {
    object = {{"permissionDecision", decision}, {"permissionDecisionReason", texts.why}};
    if (event.claude_shape) object["hookSpecificOutput"] = nested(event, decision, texts.why);
    return json_said(object);
  }
  if (!input.is_null()) object["modifiedArgs"] = input;
  if (!texts.tell.empty() && can_tell(event)) {
    object["additionalContext"] = texts.tell;
    if (event.claude_shape) object["hookSpecificOutput"] = context(event, texts.tell);
  }
  return object.empty() ? Said{} : json_said(object);
}

// Told to fail closed, Cursor takes silence for a refusal: it always gets its neutral answer.
Said said_to_cursor(const Event& event, const Texts& texts, std::string_view decision) {
  ordered_json object = ordered_json::object();
  if (!decision.empty()) {
    object = {{"permission", decision}, {"user_message", texts.why}, {"agent_message", texts.why}};
    if (event.claude_shape) object["hookSpecificOutput"] = nested(event, decision, texts.why);
    return json_said(object);
  }
  if (event.moment == Moment::kBefore || event.moment == Moment::kSubagentStart) {
    object["permission"] = "allow";
  }
  if (event.moment == Moment::kTurnStart) object["continue"] = true;
  if (!texts.tell.empty() && can_tell(event)) {
    object["additional_context"] = texts.tell;
    if (event.claude_shape) object["hookSpecificOutput"] = context(event, texts.tell);
  }
  return json_said(object);
}

// To our own plugin, which throws what is refused and takes silence for a refusal.
Said said_to_opencode(const Texts& texts, std::string_view decision, const ordered_json& input) {
  ordered_json object{{"verdict", decision.empty() ? "pass" : "refuse"}};
  if (decision.empty() && !input.is_null()) object["args"] = input;
  if (!decision.empty()) object["reason"] = texts.why;
  if (decision.empty() && !texts.tell.empty()) object["tell"] = texts.tell;
  return json_said(object);
}

}  // namespace

bool can_tell(const Event& event) {
  const Moment at = event.moment;
  switch (event.client) {
    case Client::kClaude:
    case Client::kCodex:
      return at == Moment::kSessionStart || at == Moment::kTurnStart || at == Moment::kBefore ||
             at == Moment::kAfter || at == Moment::kBatchOver || at == Moment::kSubagentStart;
    case Client::kGemini:
      return at == Moment::kSessionStart || at == Moment::kTurnStart || at == Moment::kAfter;
    case Client::kCopilot:
      return at == Moment::kSessionStart || at == Moment::kTurnStart || at == Moment::kBefore ||
             at == Moment::kAfter || at == Moment::kSubagentStart;
    case Client::kOpencode:
      return at == Moment::kTurnStart || at == Moment::kAfter;
    case Client::kCursor: {
      const std::string name = lowered(event.name);
      return at == Moment::kSessionStart || name == "pretooluse" || name.starts_with("posttooluse");
    }
  }
  return false;
}

bool can_ask(const Event& event) {
  switch (event.client) {
    case Client::kClaude:
    case Client::kCopilot:
      return true;
    case Client::kCodex:     // "ask" lets the call pass
    case Client::kGemini:    // without a terminal it waits forever
    case Client::kOpencode:  // a plugin can only let it pass or throw
      return false;
    case Client::kCursor:
      return event.name == "beforeShellExecution" || event.name == "beforeMCPExecution";
  }
  return false;
}

// Claude Code says itself which call of a tool it makes; Codex would have to be told "allow".
bool can_rewrite(Client client) {
  return client == Client::kGemini || client == Client::kCopilot || client == Client::kOpencode;
}

Said say(const Event& event, const Answer& answer) {
  const Texts texts = texts_of(event, answer);
  std::string_view decision;  // empty: none
  if (event.moment == Moment::kBefore && answer.verdict != Verdict::kPass) {
    decision = answer.verdict == Verdict::kAsk && can_ask(event) ? "ask" : "deny";
  }
  ordered_json input;
  if (event.moment == Moment::kBefore && can_rewrite(event.client)) input = answer.input;
  switch (event.client) {
    case Client::kClaude:
    case Client::kCodex:
      return said_to_claude(event, texts, decision);
    case Client::kGemini:
      return said_to_gemini(event, texts, decision, input);
    case Client::kCopilot:
      return said_to_copilot(event, texts, decision, input);
    case Client::kOpencode:
      return said_to_opencode(texts, decision, input);
    case Client::kCursor:
      return said_to_cursor(event, texts, decision);
  }
  return {.err = texts.why + "\n", .exit_code = 2};
}

Said refuse_unread(Client said, std::string_view payload, std::string_view reason) {
  Event event;
  event.client = said;
  event.moment = moment_in_text(payload).value_or(Moment::kBefore);
  if (event.moment != Moment::kBefore) return say(event, {});
  const Answer answer{Verdict::kRefuse, std::string(reason)};
  if (said == Client::kCopilot || said == Client::kOpencode || said == Client::kCursor) {
    return say(event, answer);
  }
  // The answer of the others would have to name the moment as they do.
  return {.err = texts_of(event, answer).why + "\n", .exit_code = 2};
}

}  // namespace lockkeeper::enforce
