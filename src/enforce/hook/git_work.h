// Whose commits and stashes they are: noted when a command has made them, looked up before another
// command replaces or deletes them.
#pragma once

#include "enforce/hook/others.h"

namespace lockkeeper::enforce::hook {

// After a shell command of this session: what it has committed or stashed goes into the history. If
// another agent had a call running, nobody can tell who made it, and nothing is noted.
void note_git_work(Session& session, Place& place, core::ReportRequest& report);

// Commands that touch commits or stashes, not files.
bool is_about_history(shell::Kind kind);
bool is_about_stashes(shell::Kind kind);
// Those of others that the command would replace or delete.
Result<std::vector<Affected>> affected_history(Others& others, const shell::Danger& danger);
// The stashes that the asker is known to have made: "stash@{1}".
std::vector<std::string> own_stashes(Others& others);
// Has a `git stash` of these files anything to put away? Nobody can tell: it has not.
bool stashes_anything(Others& others, const shell::Danger& danger, const Area& area);

}  // namespace lockkeeper::enforce::hook
