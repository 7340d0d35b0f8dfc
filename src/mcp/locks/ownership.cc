#include "mcp/locks/ownership.h"

#include <algorithm>

#include "base/sha256.h"
#include "base/text.h"
#include "core/sessions.h"

namespace lockkeeper::mcp::locks {
namespace {

constexpr std::size_t kClientNameBytesMax = 60;

std::string text_of(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
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

// One part of a session, whatever the name is.
std::string part_name(const std::string& agent, const std::string& whole) {
  std::string name = escape_sign(agent, '/');
  constexpr std::size_t kDigits = 16;
  const bool fits = whole.size() + 1 + name.size() <= realm::kSessionBytesMax;
  return fits ? name : sha256_hex(agent).substr(0, kDigits);
}

}  // namespace

std::string announced_call(const Call& call, const std::string& agent) {
  if (agent.starts_with(kCallMark)) return "run " + agent.substr(kCallMark.size());
  const std::string claude = text_of(call.meta(), "claudecode/toolUseId");
  return claude.empty() ? claude : "run " + claude;
}

std::string client_name(const Client& client) {
  std::string name;
  for (const char c : text_of(client.info, "name")) {
    const bool gap = !name.empty() && name.back() == '-';
    if (is_name_character(c)) {
      name += c;
    } else if (!gap) {
      name += '-';
    }
    if (name.size() == kClientNameBytesMax) break;
  }
  while (name.ends_with('-')) name.pop_back();
  while (name.starts_with('-')) name.erase(0, 1);
  return name;
}

core::Owner Ownership::client_of(const Call& call) const {
  const Visitor& visitor = call.client().visitor;
  const bool fixed = caller_.strangers ? caller_.session_given : caller_.session_known;
  const std::string codex = fixed ? std::string() : codex_session(call.meta());
  core::Owner client{caller_.who.agent, caller_.who.session};
  if (!visitor.name.empty() && !fixed) client.session = visitor.name;
  if (!codex.empty()) client.session = codex;
  const bool named = caller_.strangers ? caller_.agent_given : caller_.agent_known;
  if (named) return client;
  const bool told_apart = !caller_.strangers || visitor.told_apart;
  const std::string name = told_apart ? client_name(call.client()) : std::string();
  if (!codex.empty()) {
    client.agent = "codex";
  } else if (!name.empty()) {
    client.agent = name;
  } else if (caller_.strangers) {
    client.agent.clear();
  }
  return client;
}

Result<core::Owner> Ownership::checked(const core::Owner& owner) const {
  if (owner.agent.empty()) {
    return fail(Code::kInvalidInput, "the caller is unknown: the argument agent is missing",
                "call again with agent: a name of your own, the same in every call");
  }
  LK_CHECK(realm::check_agent_name(owner.agent, "agent"));
  LK_CHECK(realm::check_session_name(owner.session, "session"));
  return caller_.sign ? caller_.sign(owner) : Result<core::Owner>(owner);
}

Result<core::Owner> Ownership::of(const Call& call, const std::string& subagent) const {
  core::Owner owner = client_of(call);
  if (subagent.empty() || subagent == owner.agent) return checked(owner);
  LK_CHECK(realm::check_agent_name(subagent, "agent"));
  owner.session = core::part_of(owner, part_name(subagent, owner.session)).session;
  owner.agent = subagent;
  return checked(owner);
}

Result<core::Owner> Ownership::named(const Call& call, const std::string& agent,
                                     const std::string& session) const {
  core::Owner owner = client_of(call);
  if (!session.empty() && session != owner.session &&
      !core::is_part_of({owner.agent, session}, owner)) {
    return fail(Code::kInvalidInput, "session " + quote(session) + " is not yours",
                "omit it: your own session is known");
  }
  if (!session.empty()) owner.session = session;
  if (!agent.empty()) owner.agent = agent;
  return checked(owner);
}

bool Ownership::may_be(const Call& call, const core::Owner& announced) const {
  const bool fixed = caller_.strangers ? caller_.session_given : caller_.session_known;
  if (!fixed) return !caller_.strangers;
  const core::Owner ours = client_of(call);
  // Some clients name their sessions to hooks alone. To us they are one process.
  if (realm::is_derived_session(ours.session) && announced.agent == ours.agent) return true;
  const core::Owner client{announced.agent, ours.session};
  return announced.session == client.session || core::is_part_of(announced, client);
}

bool Ownership::can_come_back(const core::Owner& owner) const {
  if (caller_.session_known) return true;
  const core::Owner ours{owner.agent, caller_.who.session};
  return owner.session != ours.session && !core::is_part_of(owner, ours);
}

}  // namespace lockkeeper::mcp::locks
