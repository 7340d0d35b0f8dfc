#include "realm/identity.h"

#include <unistd.h>

#include <array>
#include <vector>

#include "base/bytes.h"
#include "base/text.h"
#include "realm/user.h"

namespace lockkeeper::realm {
namespace {

// How to recognise the coding agent that runs us. The first of `sessions` that is set names its
// session; one of `signs` (or a session) says that it is there at all.
struct CodingAgent {
  const char* agent;
  std::array<const char*, 3> sessions;
  std::array<const char*, 3> signs;
};

// In this order, so that a command inside two of them (one started by the other) always gets the
// same answer.
constexpr std::array<CodingAgent, 6> kCodingAgents = {{
    {"claude-code", {"CLAUDE_CODE_SESSION_ID"}, {"CLAUDECODE"}},
    {"codex", {"CODEX_SESSION_ID", "CODEX_THREAD_ID"}, {"CODEX_SANDBOX"}},
    {"copilot", {"COPILOT_AGENT_SESSION_ID"}, {}},
    {"gemini", {"GEMINI_SESSION_ID"}, {"GEMINI_CLI"}},
    {"cursor", {"CURSOR_SESSION_ID", "CURSOR_TRACE_ID"}, {"CURSOR_AGENT"}},
    {"opencode", {"OPENCODE_SESSION_ID"}, {"OPENCODE"}},
}};

struct Named {
  std::string value;
  std::string from;  // the flag or variable
};

std::optional<Named> first_set(const Environment& env, const std::array<const char*, 3>& names) {
  for (const char* name : names) {
    if (name == nullptr) break;
    if (auto value = variable(env, name)) return Named{std::move(*value), name};
  }
  return std::nullopt;
}

struct Found {
  Named agent;
  std::optional<Named> session;
};

std::optional<Found> coding_agent(const Environment& env) {
  for (const CodingAgent& known : kCodingAgents) {
    auto session = first_set(env, known.sessions);
    const auto sign = first_set(env, known.signs);
    if (!session && !sign) continue;
    return Found{{known.agent, session ? session->from : sign->from}, std::move(session)};
  }
  return std::nullopt;
}

Named user(const Environment& env) {
  if (auto name = variable(env, "USER")) return {std::move(*name), "$USER"};
  const uid_t uid = ::geteuid();
  const std::optional<User> found = find_user(uid);
  if (found && !found->name.empty()) return {found->name, "the user's name"};
  return {"uid-" + std::to_string(uid), "the user's number"};
}

std::optional<Named> given(const std::optional<std::string>& flag, const char* flag_name,
                           const Environment& env, const char* variable_name) {
  if (flag) return Named{*flag, flag_name};
  if (auto value = variable(env, variable_name)) return Named{std::move(*value), variable_name};
  return std::nullopt;
}

std::string fresh_session(Random& random) {
  std::string bytes;
  append_be64(bytes, random.next());
  append_be64(bytes, random.next());
  return "s-" + to_hex(bytes).substr(0, 20);
}

constexpr std::string_view kTerminal = "tty-";
constexpr std::string_view kClient = "proc-";

// From the terminal, or else from the process that runs our commands: a tool that starts each of
// them in a new process session must get the same answer every time.
Result<void> derive_session(Identity& identity, const IdentityRequest& request, bool terminal) {
  const auto unknown = [](const std::string& what, const Error& error) {
    return fail(Code::kFailed, "cannot tell this " + what + " from others: " + error.message,
                "name yourself: --agent NAME, and --session ID if several share the name");
  };
  if (terminal) {
    const auto found = request.terminal_session();
    if (!found) return unknown("terminal", found.error());
    if (*found) {
      identity.session = std::string(kTerminal) + **found;
      identity.session_from = "the terminal session";
      return {};
    }
  }
  const auto found = request.client_process();
  if (!found) return unknown("process", found.error());
  if (!*found) return {};
  identity.session = process_session(**found);
  identity.session_from = "the process that runs your commands";
  return {};
}

void add_fresh_session(Identity& identity, Random& random) {
  if (!identity.session.empty()) identity.session += "/";
  identity.session += fresh_session(random);
  identity.session_derived = false;
  identity.session_from = "made for this run";
}

}  // namespace

Result<Identity> find_identity(const IdentityRequest& request) {
  auto agent = given(request.agent, "--agent", request.env, "LOCKKEEPER_AGENT");
  auto session = given(request.session, "--session", request.env, "LOCKKEEPER_SESSION");
  const bool named = agent.has_value();
  bool by_user = false;
  if (!agent) {
    if (auto found = coding_agent(request.env)) {
      agent = std::move(found->agent);
      if (!session) session = std::move(found->session);
    } else {
      agent = user(request.env);
      by_user = true;
    }
  }
  LK_CHECK(check_agent_name(agent->value, agent->from));
  Identity identity;
  identity.agent = agent->value;
  identity.agent_from = agent->from;
  if (session) {
    LK_CHECK(check_session_name(session->value, session->from));
    identity.session = session->value;
    identity.session_from = session->from;
    return identity;
  }
  identity.session_derived = by_user;
  if (!named) LK_CHECK(derive_session(identity, request, by_user));
  // A coding agent's process is its session, as if it had said so.
  const bool lasting = !identity.session.empty() && !by_user;
  if (request.new_session != nullptr && !lasting) add_fresh_session(identity, *request.new_session);
  return identity;
}

std::string coding_agent_around(const Environment& env) {
  const auto found = coding_agent(env);
  return found ? found->agent.value : std::string();
}

std::string process_session(std::string_view process) {
  return std::string(kClient) + std::string(process);
}

bool is_derived_session(std::string_view session) {
  return session.starts_with(kTerminal) || session.starts_with(kClient);
}

namespace {

Result<void> check_name(std::string_view name, std::string_view what, std::size_t bytes_max) {
  const std::string start = std::string(what) + " " + quote(name, 60);
  const std::string hint = "use a short name such as backend-1";
  if (name.empty()) return fail(Code::kInvalidInput, start + ": a name must not be empty", hint);
  if (name.size() > bytes_max) {
    return fail(Code::kInvalidInput,
                start + ": " + std::to_string(name.size()) + " bytes, a name has at most " +
                    std::to_string(bytes_max),
                hint);
  }
  if (const auto hidden = hidden_in(name)) {
    return fail(Code::kInvalidInput, start + ": a name cannot contain " + *hidden, hint);
  }
  if (name.front() == ' ' || name.back() == ' ') {
    return fail(Code::kInvalidInput, start + ": a name cannot begin or end with a blank", hint);
  }
  return {};
}

}  // namespace

Result<void> check_agent_name(std::string_view name, std::string_view what) {
  return check_name(name, what, kNameBytesMax);
}

Result<void> check_session_name(std::string_view name, std::string_view what) {
  LK_CHECK(check_name(name, what, kSessionBytesMax));
  if (name.front() == '/' || name.back() == '/' || name.find("//") != std::string_view::npos) {
    return fail(Code::kInvalidInput,
                std::string(what) + " " + quote(name, 60) +
                    ": '/' separates a session from its subagent, and neither may be empty",
                "write it as SESSION/SUBAGENT");
  }
  if (name == "-") {
    return fail(Code::kInvalidInput, std::string(what) + " \"-\": this stands for no session",
                "choose another name, or omit it");
  }
  return {};
}

}  // namespace lockkeeper::realm
