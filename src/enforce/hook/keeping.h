// Keeps what files contain before and after the calls of coding agents, so that it can be recovered
// (snapshot/keeper.h, docs/recover.md).
//
// Nothing here fails. A call is not refused because its files cannot be kept: an agent would be
// locked out by a full disk. That they are not kept is told to it once (unkept_words).
#pragma once

#include <string>
#include <vector>

#include "core/trace.h"
#include "enforce/hook/session.h"
#include "service/edit_calls.h"
#include "snapshot/version.h"

namespace lockkeeper::enforce::hook {

// For whoever is about to let something happen to these files, or has refused it: keeps them as
// they are now. `paths`: from the worktree's root; a folder stands for the files below it. Files
// that have not changed since they were kept cost one stat() each.
void keep(Session& session, Place& place, const std::vector<std::string>& paths, snapshot::Why why);

// After a change: the file as it is now. `mine`: the session made the change; otherwise nobody
// knows who did.
void keep_change(Session& session, Place& place, const std::string& path, bool mine);
// What the client says that was there before, unless something was kept of the file.
void keep_original(Session& session, Place& place, const std::string& path,
                   const std::string& content);

// Before a command that may change any file: those with a trace that are no longer as the trace
// says.
void keep_traced(Session& session, Place& place);

// After such a command: what it has put into git's stash.
void keep_stashes(Session& session, Place& place, const service::LookReply& look);

// Empty, or that something could not be kept; once in a session for each kind of trouble.
std::string unkept_words(Place& place);

}  // namespace lockkeeper::enforce::hook
