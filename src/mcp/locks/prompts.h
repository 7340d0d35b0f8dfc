// Two prompts for people: how to work with locks here, and a plan for a task, both with what the
// table says now.
#pragma once

#include <functional>
#include <vector>

#include "mcp/catalogue.h"
#include "service/locks.h"

namespace lockkeeper::mcp::locks {

// `reader`: the table as anybody sees it; called from any thread.
std::vector<Prompt> lock_prompts(std::function<service::Locks()> reader);

}  // namespace lockkeeper::mcp::locks
