// Who commits. In git a session and its subagents are one party: a subagent's shell says nothing of
// the subagent.
#pragma once

#include <vector>

#include "core/types.h"
#include "realm/identity.h"

namespace lockkeeper::guard {

struct Party {
  core::Owner owner;  // in whose name this commit is recorded
  // What the same agent is called elsewhere: its hooks know the client's session, its shell may
  // have a session that `run` made.
  std::vector<core::Owner> also = {};
  bool person = false;  // nobody says that it is an agent

  bool has(const core::Owner& who) const;
};

Result<Party> find_party(const realm::IdentityRequest& request);

}  // namespace lockkeeper::guard
