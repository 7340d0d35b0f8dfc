// The processes that a command leaves behind when it ends: background jobs, servers, what forked
// away and made a session of its own. They have the agent's scope in their hands, so they end
// before its locks are freed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace lockkeeper::host {

// From now on, a process below this one that loses its parent becomes our child. Once per process.
void adopt_orphans();

// Our children of now, other than `spared`; zombies are reaped and not named.
std::vector<pid_t> children_besides(const std::vector<pid_t>& spared);

// Asks all of them to end, and what they start meanwhile; kills them after the grace. Returns when
// none is left but those that we may not kill (a program of root's), with their number. `meanwhile`
// is called several times a second.
std::size_t end_children(std::int64_t grace_ms, std::vector<pid_t> spared,
                         const std::function<void()>& meanwhile = {});

}  // namespace lockkeeper::host
