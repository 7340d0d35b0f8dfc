// A file that its writer's own command has moved is still its writer's, under its new name.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/trace.h"
#include "enforce/hook/session.h"
#include "service/edit_calls.h"

namespace lockkeeper::enforce::hook {

// `gone`: traces of files that are no longer there since the session's command. Looks for a new
// file with the same content, keeps it as the session's, and puts its trace into `report`. Not for
// files that have a trace already, nor for those of `edited`, which others are editing.
void follow_renames(Session& session, Place& place, const std::vector<const core::Trace*>& gone,
                    const service::LookReply& look, const std::set<std::string>& edited,
                    core::ReportRequest& report);

}  // namespace lockkeeper::enforce::hook
