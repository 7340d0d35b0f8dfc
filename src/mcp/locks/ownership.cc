#include "mcp/locks/ownership.h"

namespace lockkeeper::mcp::locks {
namespace {

std::string text_of(const Json& meta, const char* name) {
  const auto found = meta.find(name);
  return found != meta.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Codex sends its session and thread with every call. A separate thread is a subagent.
std::string codex_session(const Json& meta) {
  const std::string session = text_of(meta, "sessionId");
  const std::string thread = text_of(meta, "threadId");
  if (session.empty() || thread.empty() || session == thread) {
    return session.empty() ? thread : session;
  }
  return session + "/" + thread;
}

}  // namespace

Result<core::Owner> Ownership::of(const Call& call, const std::string& agent,
                                  const std::string& session) const {
  const std::string codex = caller_.session_known ? std::string() : codex_session(call.meta());
  core::Owner owner{agent, session};
  if (owner.agent.empty()) {
    const bool nobody = caller_.strangers && !caller_.agent_given && codex.empty();
    if (nobody) {
      return fail(Code::kInvalidInput, "the caller is unknown: the argument agent is missing",
                  "call again with agent: a name of your own, the same in every call");
    }
    const bool is_codex =
        !codex.empty() && (caller_.strangers ? !caller_.agent_given : !caller_.agent_known);
    owner.agent = is_codex ? "codex" : caller_.who.agent;
  }
  if (owner.session.empty()) owner.session = codex.empty() ? caller_.who.session : codex;
  LK_CHECK(realm::check_agent_name(owner.agent, "agent"));
  LK_CHECK(realm::check_session_name(owner.session, "session"));
  return owner;
}

}  // namespace lockkeeper::mcp::locks
