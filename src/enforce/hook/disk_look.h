// A look at the disk after something that may have changed any file: a shell command, a tool that
// is not known. Finds which of the files that somebody left a trace in are not as they were left.
#pragma once

#include "enforce/hook/session.h"

namespace lockkeeper::enforce::hook {

// `ran`: a call of this owner, or something it left running in the background, could have changed
// them. Puts new traces and what happened into `report`, and tells the others. Returns what its own
// agent must know.
Result<std::string> look_at_disk(Session& session, Place& place, bool ran,
                                 core::ReportRequest& report);

// A lock that another tool's layout shows since the call began is this owner's, if nobody else had
// a call running.
void adopt_locks(Session& session, Place& place);

}  // namespace lockkeeper::enforce::hook
