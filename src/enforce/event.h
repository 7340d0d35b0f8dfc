// What a coding agent tells its hooks: one JSON object on standard input, in the client's own
// shape. It is read here into one Event, whatever the client. This knows no lock, no file and no
// process: text in, plain structs out.
//
// Thread safety: plain values and free functions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lockkeeper::enforce {

enum class Client { kClaude, kCodex, kGemini, kCopilot, kOpencode, kCursor };

std::optional<Client> client_named(std::string_view word);  // "claude", "codex", …
std::string_view client_name(Client client);                // what client_named() reads
std::string_view agent_name(Client client);                 // what others are shown: "claude-code"

enum class Moment {
  kSessionStart,
  kTurnStart,  // the user's prompt has come
  kBefore,     // a tool is about to run: the only moment at which it can be refused
  kAfter,
  kBatchOver,  // all calls of one answer of the model have ended, also those that were denied
  kSubagentStart,
  kSubagentOver,
  kTurnOver,
  kIdle,      // the client waits for its user's next prompt
  kQuestion,  // the client waits for its user's permission for a call
  kSessionOver,
  kOther,  // one that means nothing to locks, or one that is newer than we are
};

enum class Outcome {
  kUnknown,  // it has not run yet, or the client does not say
  kDone,
  kFailed,  // also: it was denied
};

struct ToolCall {
  // The client's own. Gemini CLI and Copilot give none: it is then derived from session, subagent,
  // tool and input, so that the moments before and after one call have the same. Two equal calls of
  // one session have the same as well.
  std::string id;
  std::string tool;      // as the client names it; empty: it does not say (Cursor)
  nlohmann::json input;  // an object, or a text such as a patch
  Outcome outcome = Outcome::kUnknown;
  // kAfter, kBatchOver: what the one file of an edit had in it before, if the client (Claude Code)
  // says so.
  std::optional<std::string> original = std::nullopt;
};

struct Event {
  Client client = Client::kClaude;
  Moment moment = Moment::kOther;
  std::string name;  // the client's name of the moment, which its answer may have to repeat
  std::string session;
  std::string subagent;         // empty: the main agent of the session
  std::string cwd;              // empty: the client does not say
  std::string permission_mode;  // the client's word, such as "acceptEdits"; empty: it has none
  std::vector<ToolCall> calls;  // kBefore, kAfter: one; kBatchOver: any number; otherwise none
  bool goes_on = false;         // kTurnOver, kSubagentOver: background work is still running

  // Copilot and Cursor also run the hooks of Claude Code, in its shape, and then understand its
  // answers.
  bool claude_shape = false;
};

inline constexpr std::size_t kPayloadBytesMax = 16U << 20;
inline constexpr std::size_t kPayloadNestingMax = 100;

// `said` is the client that the hook was installed for. The payload decides: one that has another
// client's shape is that client's. Errors: invalid_input or limit_exceeded, naming the field.
Result<Event> read_event(Client said, std::string_view payload);

}  // namespace lockkeeper::enforce
