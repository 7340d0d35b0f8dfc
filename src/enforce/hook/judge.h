// Before a shell command: would it destroy, put away or commit what another agent has not
// committed in this worktree? Then it is refused, with whose work it is and what to run instead.
//
// A text without any such command costs no more than reading it.
#pragma once

#include "enforce/hook/session.h"
#include "enforce/shell/danger.h"

namespace lockkeeper::enforce::hook {

// What the text of a shell call contains.
shell::Found look_at_command(const Session& session, std::string_view command);

// Records what it refuses or lets pass with a warning. It fails closed: where nobody can tell, a
// command that certainly is one of these is refused.
Answer judge(Session& session, shell::Found found);

}  // namespace lockkeeper::enforce::hook
