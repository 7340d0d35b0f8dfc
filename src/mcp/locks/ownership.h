// The owner in whose name a call acts. It is never tied to the connection, which the subagents of
// one client share. It comes from the call's `agent` and `session`, then from the client's
// environment, then from the call's `_meta`, where some clients put it.
//
// A subagent that passes its own name as `agent`, without a session, is a separate owner in its
// client's session: it excludes the other agents there, and the same name in another session.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <string>

#include "mcp/call.h"
#include "realm/identity.h"
#include "service/locks.h"

namespace lockkeeper::mcp::locks {

// What is known of a caller that does not name itself.
struct Caller {
  realm::Identity who;
  bool agent_given = false;    // by --agent or LOCKKEEPER_AGENT
  bool agent_known = false;    // or by a coding agent's environment; otherwise it is the user
  bool session_given = false;  // by --session or LOCKKEEPER_SESSION
  bool session_known = false;  // or by a coding agent's environment; otherwise made for this run
  // HTTP clients did not start us, so our environment says nothing about them. A caller must name
  // itself, unless an agent was given.
  bool strangers = false;
};

class Ownership {
 public:
  explicit Ownership(Caller caller) : caller_(std::move(caller)) {}

  const Caller& caller() const { return caller_; }

  // invalid_input: a name breaks a rule, or the caller is unknown.
  Result<core::Owner> of(const Call& call, const std::string& agent,
                         const std::string& session) const;
  // For reading: an unknown caller sees what anybody sees.
  core::Owner reader() const { return {caller_.who.agent, caller_.who.session}; }

 private:
  const Caller caller_;
};

}  // namespace lockkeeper::mcp::locks
