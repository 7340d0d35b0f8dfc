// The keeper of one attempt: a small process of its own between the foreman and the agent's
// command. It waits for the agent's locks, starts the command under them, keeps them renewed, ends
// what the command leaves behind, writes down how it went, and frees them.
//
// It is a process so that the foreman may be killed at any moment: the keeper goes on to the end of
// its command, and a foreman that resumes finds the result. In return it starts nothing unless a
// living foreman says so, and says that it starts before it does. So no attempt runs twice, and
// none runs unlocked:
//
//   1. lock `alive`   held as long as this process lives
//   2. the lease      waited for in the queue; left again if the foreman is gone
//   3. "ready"        to the foreman, who answers "go" or "no"; silence is no
//   4. `started`      written durably, then the command starts
//   5. `result.json`  written durably while the lease is still held
//   6. the lease is freed, after the feature's gate
#pragma once

#include "crew/orders.h"
#include "crew/run_files.h"
#include "service/locks.h"

namespace lockkeeper::crew {

// `locks` in the name of orders.agent and orders.session. `folder`: the attempt's. Returns the
// process's exit status; what happened is in the folder and was told through the channel. REQUIRES:
// one thread.
int keep(service::Locks& locks, const Orders& orders, const Folder& folder, Channel channel);

}  // namespace lockkeeper::crew
