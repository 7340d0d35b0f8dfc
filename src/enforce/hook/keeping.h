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

// After a call that failed but may have written something: the session wrote what is different now.
void keep_remains(Session& session, Place& place, const std::string& path);
// After a change: the file as it is now. `mine`: the session made the change; otherwise nobody
// knows who did.
void keep_change(Session& session, Place& place, const std::string& path, bool mine);
// What the client says that was there before, unless something was kept of the file.
void keep_original(Session& session, Place& place, const std::string& path,
                   const std::string& content);

// Files that somebody is editing, and whose call has not been reported: perhaps it never will be.
// If they are no longer as they were kept, the claim's owner has written them. `ran`: a command of
// this session has just run. What had been written before and is different now may be either's.
void keep_unfinished(Session& session, Place& place, bool ran);
// At any other moment at which files may be about to change: those, and files with a trace that are
// no longer as the trace says, or whose version will soon be removed. True: there may be some of
// the second kind.
bool keep_work(Session& session, Place& place);

// Whose is what an edit call has left in its file? False: somebody else's command ran meanwhile and
// the file is not as the call had written it.
bool is_calls_work(Session& session, Place& place, const ToolCall& call, const std::string& path);
// Was the file kept since then in another's call, without anybody known to have written it?
bool is_contested(Session& session, Place& place, const std::string& path,
                  std::int64_t since_wall_ms);

// After such a command: what it has put into git's stash.
void keep_stashes(Session& session, Place& place, const service::LookReply& look);

// Empty, or that something could not be kept; once in a session for each kind of trouble.
std::string unkept_words(Place& place);

}  // namespace lockkeeper::enforce::hook
