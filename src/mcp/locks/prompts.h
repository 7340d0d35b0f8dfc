// Two prompts: how to work with locks here, and how to plan a task, both with the current locks.
#pragma once

#include <functional>
#include <vector>

#include "mcp/catalogue.h"
#include "service/locks.h"

namespace lockkeeper::mcp::locks {

// `reader` returns the table as anybody sees it; called from any thread.
std::vector<Prompt> lock_prompts(const std::function<service::Locks()>& reader);

}  // namespace lockkeeper::mcp::locks
