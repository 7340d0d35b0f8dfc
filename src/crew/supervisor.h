// The supervisor of one attempt: a small process between the foreman and the agent's command. It
// waits for the agent's locks, starts the command, renews the locks, ends processes that the
// command leaves behind, writes the result, and frees the locks.
//
// It is a process so that the foreman may be killed at any moment: the supervisor goes on until its
// command ends, and a foreman that resumes finds the result. It starts nothing unless a living
// foreman says so, and marks the start before the command runs. So no attempt runs twice, and none
// runs without its locks:
//
//   1. lock `alive`   held while this process lives
//   2. the lease      waited for in the queue; left if the foreman is gone
//      its worktree   with --worktrees: made or found (crew/trees/agent_tree.h)
//   3. "ready"        sent to the foreman, which answers "go" or "no"; silence means no
//   4. `started`      written durably, then the command starts
//      its commit     with --worktrees, if the command has succeeded
//   5. `result.json`  written durably while the lease is still held
//   6. the lease is freed, once the feature is not paused
#pragma once

#include "crew/orders.h"
#include "crew/record/run_files.h"
#include "service/locks.h"

namespace lockkeeper::crew {

// `locks` in the name of orders.agent and orders.session. `folder`: the attempt's. Returns the exit
// status for this process; the foreman learns more from the folder and the channel. REQUIRES: one
// thread.
int supervise(service::Locks& locks, const Orders& orders, const Folder& folder, Channel channel);

}  // namespace lockkeeper::crew
