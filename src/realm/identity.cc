#include "realm/identity.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "base/bytes.h"
#include "base/text.h"

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
  struct passwd entry{};
  struct passwd* found = nullptr;
  std::vector<char> buffer(16384);
  const uid_t uid = ::geteuid();
  ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr && *found->pw_name != '\0') return {found->pw_name, "the user's name"};
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

// For when nobody named a session.
Result<void> add_session(Identity& identity, const IdentityRequest& request, bool by_user) {
  if (by_user) {
    auto terminal = request.terminal_session();
    if (!terminal) {
      return fail(Code::kFailed,
                  "cannot tell this terminal from others: " + terminal.error().message,
                  "name yourself: --agent NAME, and --session ID if several share the name");
    }
    identity.session = "tty-" + *terminal;
    identity.session_derived = true;
    identity.source += ", session from the terminal session";
  }
  if (request.new_session != nullptr) {
    if (!identity.session.empty()) identity.session += "/";
    identity.session += fresh_session(*request.new_session);
    identity.session_derived = false;
    identity.source += ", a session of its own made for this run";
  } else if (identity.session.empty()) {
    identity.source += ", no session";
  }
  return {};
}

}  // namespace

Result<Identity> find_identity(const IdentityRequest& request) {
  auto agent = given(request.agent, "--agent", request.env, "LOCKKEEPER_AGENT");
  auto session = given(request.session, "--session", request.env, "LOCKKEEPER_SESSION");
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
  identity.source = "agent from " + agent->from;
  if (session) {
    LK_CHECK(check_session_name(session->value, session->from));
    identity.session = session->value;
    identity.source += ", session from " + session->from;
    return identity;
  }
  LK_CHECK(add_session(identity, request, by_user));
  return identity;
}

Result<void> check_agent_name(std::string_view name, std::string_view what) {
  const std::string start = std::string(what) + " " + quote(name, 60);
  const std::string hint = "use a short name such as backend-1";
  if (name.empty()) return fail(Code::kInvalidInput, start + ": a name must not be empty", hint);
  if (name.size() > kNameBytesMax) {
    return fail(Code::kInvalidInput,
                start + ": " + std::to_string(name.size()) + " bytes, a name has at most " +
                    std::to_string(kNameBytesMax),
                hint);
  }
  if (!is_valid_utf8(name)) return fail(Code::kInvalidInput, start + ": not UTF-8", hint);
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    // U+0080 to U+009F are control characters too: some terminals act on them.
    const bool c1 = c == 0xc2 && static_cast<unsigned char>(name[i + 1]) < 0xa0;
    if (c >= 0x20 && c != 0x7f && !c1) continue;
    return fail(Code::kInvalidInput, start + ": a name cannot contain a control character", hint);
  }
  if (name.front() == ' ' || name.back() == ' ') {
    return fail(Code::kInvalidInput, start + ": a name cannot begin or end with a blank", hint);
  }
  return {};
}

Result<void> check_session_name(std::string_view name, std::string_view what) {
  LK_CHECK(check_agent_name(name, what));
  if (name.front() == '/' || name.back() == '/' || name.find("//") != std::string_view::npos) {
    return fail(Code::kInvalidInput,
                std::string(what) + " " + quote(name, 60) +
                    ": '/' separates a session from its subagent, neither may be empty",
                "write it as SESSION/SUBAGENT");
  }
  return {};
}

bool is_subagent_of(std::string_view session, std::string_view ancestor) {
  return !ancestor.empty() && !ancestor.starts_with('/') && session.size() > ancestor.size() &&
         session.starts_with(ancestor) && session[ancestor.size()] == '/';
}

}  // namespace lockkeeper::realm
