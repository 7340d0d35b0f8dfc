// Completes what a user has begun to type. Paths: files of the repository and held resources.
// Agents: those that hold, wait, or did something lately.
#pragma once

#include <string>
#include <vector>

#include "mcp/catalogue.h"
#include "service/locks.h"

namespace lockkeeper::mcp::locks {

// `ref` and `name` as in completion/complete; empty if unknown. Sorted. Reads at most
// kFilesLookedAt files of a folder.
std::vector<std::string> complete_lock_argument(service::Locks& locks, const Json& ref,
                                                const std::string& name, const std::string& typed);

inline constexpr std::size_t kFilesLookedAt = 10'000;

}  // namespace lockkeeper::mcp::locks
