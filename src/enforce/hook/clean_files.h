// Files that are as the last commit has them: nobody's work is in them, whoever wrote to them
// before. Its writers stay known, because it may come back out of a stash.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/trace.h"
#include "enforce/hook/session.h"
#include "git/reader.h"

namespace lockkeeper::enforce::hook {

// Git answers within what a client gives a hook, or not at all.
Result<git::Reader> git_in(Place& place);

// Those of these files. None if git does not tell.
std::set<std::string> clean_among(Place& place, const std::vector<std::string>& paths);

// Tells the table of those that others wrote to.
void put_away_clean(Session& session, Place& place, const std::vector<core::Trace>& traces);

}  // namespace lockkeeper::enforce::hook
