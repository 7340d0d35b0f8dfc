// Before an edit: claims its files for the session, or says why not. Before a shell command: see
// judge.h.
#pragma once

#include "enforce/hook/session.h"

namespace lockkeeper::enforce::hook {

// REQUIRES: the event is one before a call.
Answer before_call(Session& session, const ToolCall& call);

}  // namespace lockkeeper::enforce::hook
