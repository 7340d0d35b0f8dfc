// In whose name a call acts. Never the connection's: the subagents of one client share it. A call
// says it (`agent`, `session`); what it does not say is the client's environment's; what that does
// not know, some clients put into a call's `_meta`.
//
// A subagent that gives its own name as `agent` and no session is another owner in its client's
// session: it excludes the others of that session, and a same name in another session.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <string>

#include "mcp/call.h"
#include "realm/identity.h"
#include "service/locks.h"

namespace lockkeeper::mcp::locks {

// What is known of who calls without a word about itself.
struct Caller {
  realm::Identity who;
  bool agent_given = false;    // by --agent or LOCKKEEPER_AGENT
  bool agent_known = false;    // by that, or a coding agent's environment; else it is the user
  bool session_given = false;  // by --session or LOCKKEEPER_SESSION
  bool session_known = false;  // by that, or a coding agent's environment; else made for this run
  // Clients are other processes than the one that started us (HTTP): our environment says nothing
  // about them. Who calls must say who it is, unless an agent was given.
  bool strangers = false;
};

class Ownership {
 public:
  explicit Ownership(Caller caller) : caller_(std::move(caller)) {}

  const Caller& caller() const { return caller_; }

  // invalid_input: a name breaks a rule, or nobody can tell who asks.
  Result<core::Owner> of(const Call& call, const std::string& agent,
                         const std::string& session) const;
  // For looking: who cannot be told sees what anybody sees.
  core::Owner reader() const { return {caller_.who.agent, caller_.who.session}; }

 private:
  const Caller caller_;
};

}  // namespace lockkeeper::mcp::locks
