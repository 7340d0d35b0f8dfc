// Who am I: the owner (agent, session) in whose name a command acts.
//
// The agent is a name. The session tells two runs of one name apart. "S/x" is a subagent of session
// "S" (rule 11 in core/README.md). docs/reference/cli.md lists the sources.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/random.h"
#include "realm/environment.h"

namespace lockkeeper::realm {

inline constexpr std::size_t kNameBytesMax = 200;  // an agent's name, a session's id

struct Identity {
  std::string agent;
  std::string session;           // empty: none
  bool session_derived = false;  // from the terminal session; nobody named it
  std::string source;            // for doctor: "agent from --agent, session from …"
};

struct IdentityRequest {
  std::optional<std::string> agent;    // --agent
  std::optional<std::string> session;  // --session
  Environment env;                     // REQUIRES: callable

  // What tells two terminals apart (host::terminal_session). REQUIRES: callable
  std::function<Result<std::string>()> terminal_session;

  // `run` and `mcp` make a session if nobody named one, so that two runs exclude each other. With
  // the $USER fallback it is a subagent of the terminal's session, so that a lock of the terminal
  // does not block what it starts. Null: make none.
  Random* new_session = nullptr;
};

// invalid_input: a name breaks a rule (names the flag or variable it came from). Fails if the
// terminal session is needed but unknown, because two terminals must not become one owner.
Result<Identity> find_identity(const IdentityRequest& request);

// Non-empty, at most kNameBytesMax bytes, UTF-8, no control characters, no blank at either end. A
// session's parts between '/' must not be empty. `what` ("--agent") begins the message.
Result<void> check_agent_name(std::string_view name, std::string_view what);
Result<void> check_session_name(std::string_view name, std::string_view what);

// Is `session` a subagent, at any depth, of `ancestor`? Not of itself, and never of "".
bool is_subagent_of(std::string_view session, std::string_view ancestor);

}  // namespace lockkeeper::realm
