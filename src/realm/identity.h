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

inline constexpr std::size_t kNameBytesMax = 200;     // an agent's name
inline constexpr std::size_t kSessionBytesMax = 256;  // with its parts

struct Identity {
  std::string agent;
  std::string session;           // empty: none
  bool session_derived = false;  // under the $USER fallback: nobody named it
  std::string agent_from;        // "--agent", "CLAUDECODE", "$USER"
  std::string session_from;      // "--session", "the terminal session"; empty: there is none
};

struct IdentityRequest {
  std::optional<std::string> agent;    // --agent
  std::optional<std::string> session;  // --session
  Environment env;                     // REQUIRES: callable

  // What tells two terminals apart (host::terminal_session); nullopt: there is no terminal.
  // REQUIRES: callable
  std::function<Result<std::optional<std::string>>()> terminal_session;
  // What tells two clients apart (host::client_process); nullopt: there is none to be found.
  // REQUIRES: callable
  std::function<Result<std::optional<std::string>>()> client_process;

  // `run` and `mcp` make a session if nobody named one, so that two runs exclude each other. With
  // the $USER fallback it is a subagent of the terminal's session, so that a lock of the terminal
  // does not block what it starts. Null: make none.
  Random* new_session = nullptr;
};

// invalid_input: a name breaks a rule (names the flag or variable it came from). Fails if the
// terminal session or the client is needed but cannot be read, because two of them must not become
// one owner.
Result<Identity> find_identity(const IdentityRequest& request);

// The coding agent that runs us, by its environment: "codex"; empty: none that is known.
std::string coding_agent_around(const Environment& env);

// The session of whoever is known by its process alone (host::client_process).
std::string process_session(std::string_view process);

// Was this session derived from a terminal or a process? Then one person or tool may have several.
bool is_derived_session(std::string_view session);

// Non-empty, at most kNameBytesMax (kSessionBytesMax) bytes, UTF-8, no hidden character
// (base/quote.h), no blank at either end. A session's parts between '/' must not be empty. `what`
// ("--agent") begins the message.
Result<void> check_agent_name(std::string_view name, std::string_view what);
Result<void> check_session_name(std::string_view name, std::string_view what);

}  // namespace lockkeeper::realm
