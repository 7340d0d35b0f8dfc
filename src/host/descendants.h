// The processes that a command leaves behind when it ends: background jobs, servers, daemons with a
// session of their own. They could still change what the agent has locked, so they must end before
// its locks are released.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace lockkeeper::host {

// From now on, a descendant that loses its parent becomes our child. Once per process.
void adopt_orphans();

// Our current children except `spared`. Reaps zombies and does not list them.
std::vector<pid_t> children_besides(const std::vector<pid_t>& spared);

// Asks all of them to end, and what they start meanwhile; kills them after the grace. Returns the
// number of those that we may not kill (such as root's) when no others are left. Calls `meanwhile`
// several times a second.
std::size_t end_children(std::int64_t grace_ms, std::vector<pid_t> spared,
                         const std::function<void()>& meanwhile = {});

}  // namespace lockkeeper::host
