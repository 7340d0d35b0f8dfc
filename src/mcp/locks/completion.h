// What a person may mean who has typed the beginning: files of the repository and what is held, for
// paths; who holds, waits or did something lately, for agents.
#pragma once

#include <string>
#include <vector>

#include "mcp/catalogue.h"
#include "service/locks.h"

namespace lockkeeper::mcp::locks {

// `ref` and `name` as completion/complete has them; none for what is not known. Sorted. Of a folder
// of many files only the first kFilesLookedAt are looked at.
std::vector<std::string> complete_lock_argument(service::Locks& locks, const Json& ref,
                                                const std::string& name, const std::string& typed);

inline constexpr std::size_t kFilesLookedAt = 10'000;

}  // namespace lockkeeper::mcp::locks
