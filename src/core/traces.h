// The rows of traces (trace.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/state.h"
#include "core/trace.h"

namespace lockkeeper::core {

// The owner changed these files of the worktree.
Result<void> put_traces(State& state, const std::string& worktree, const Owner& owner,
                        const std::vector<Change>& changed);
Result<std::optional<Trace>> trace_of(State& state, const std::string& worktree,
                                      const std::string& path);
// All of a worktree, by path. Peeks.
Result<void> each_trace(State& state, const std::string& worktree,
                        const std::function<void(const Trace&)>& visit);
// Into the store of a new boot, unless its days are over.
Result<void> restore_trace(State& state, const Trace& trace);
// These files are as the last commit has them, for an unknown time: whoever wrote to them stays
// known. Those that nobody wrote to are skipped.
Result<void> put_away_traces(State& state, const std::string& worktree,
                             const std::vector<Change>& clean);
// These changes are safe elsewhere.
Result<void> forget_traces(State& state, const std::string& worktree,
                           const std::vector<std::string>& paths);

// Who wrote to the file, and what each of them left; oldest first.
struct Written {
  Owner owner;
  std::string content;  // empty: not known
};
std::vector<Written> writers_of(const Trace& trace);
// Those whose work is in the file, as its content is now; empty: not known. None: in that of a
// clean file, unless somebody's work has come back.
std::vector<Written> writers_in(const Trace& trace, const std::string& content);

bool holds_alone(const Lease& lease, const key::Resource& file);
// Whoever locks a file on purpose, after others have written to it, means to go on with their work.
// `own`: the last change is the holder's own, and so later than theirs.
bool takes_over(const Lease& lease, const key::Resource& file, const Trace& trace, bool own);

// Will its writer hardly come back? Its session is over, or from before a reboot, or has not been
// heard of for a day.
Result<bool> is_gone(State& state, const Trace& trace, const Owner& writer);

// What every owner of edits is doing on this boot. Peeks.
Result<void> each_activity(State& state,
                           const std::function<void(const Owner&, const Activity&)>& visit);

// The latest change of the file if the owner cannot know of it: another owner made it after this
// one wrote the file itself, in whichever turn, or else after its turn began; and it was not told.
// The parts of one session know of each other's changes no better than strangers do.
Result<std::optional<Trace>> unseen_change(State& state, const Owner& owner,
                                           const std::string& worktree, const std::string& path);
// The owner was told of the change as it is now.
Result<void> note_told(State& state, const Owner& owner, const Trace& trace);

}  // namespace lockkeeper::core
