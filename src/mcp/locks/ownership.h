// The owner in whose name a call acts. It comes from the client's environment, from the session
// that an HTTP client has with the server, or from the call's `_meta`, where some clients put it.
// No argument of a tool can name the session of somebody else.
//
// All subagents of one client share its connection. A subagent that passes its own name as `agent`
// is a part of its client's session (core/sessions.h): what the client holds is not in its way, and
// it excludes the other subagents and the client's own later requests.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <functional>
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
  // HTTP clients did not start us, so our environment says nothing about them. A caller that cannot
  // be told apart from others must name itself, unless an agent was given.
  bool strangers = false;
  // What a hub makes of an owner: it puts the person's name behind. Empty: nothing.
  std::function<Result<core::Owner>(const core::Owner& owner)> sign = {};
};

class Ownership {
 public:
  explicit Ownership(Caller caller) : caller_(std::move(caller)) {}

  const Caller& caller() const { return caller_; }

  // The client, or its subagent of this name. invalid_input: the name breaks a rule, or the caller
  // is unknown.
  Result<core::Owner> of(const Call& call, const std::string& subagent) const;
  // For protocols in which a call names its agent and session: any agent, but only the caller's own
  // session or a part of it; empty: the caller's. invalid_input as above.
  Result<core::Owner> named(const Call& call, const std::string& agent,
                            const std::string& session) const;
  // May whoever announced the call be the caller? Not somebody of another known session.
  bool may_be(const Call& call, const core::Owner& announced) const;
  // False: its session was made for this run, so no later server speaks for it.
  bool can_come_back(const core::Owner& owner) const;
  // For reading: an unknown caller sees what anybody sees.
  core::Owner reader() const { return {caller_.who.agent, caller_.who.session}; }

 private:
  // The client itself, without the names that its subagents give. Its agent may be empty: unknown.
  core::Owner client_of(const Call& call) const;
  Result<core::Owner> checked(const core::Owner& owner) const;

  const Caller caller_;
};

// The call that a hook of the client has announced to the table, as the hook names it: from the
// client's own `_meta`, or from an `agent` that the hook has put there ("call:ID"). Empty: none.
inline constexpr std::string_view kCallMark = "call:";
std::string announced_call(const Call& call, const std::string& agent);

// The name that a client gives itself, as an agent's name: letters, digits, '.', '_', '-'. Empty:
// it gives none.
std::string client_name(const Client& client);

}  // namespace lockkeeper::mcp::locks
