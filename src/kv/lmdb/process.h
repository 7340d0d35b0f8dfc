// Which process this is, without a system call: LMDB's state and the gate's locks are a process's
// own, so every transaction asks whether it is still in the process that opened them.
#pragma once

#include <sys/types.h>

namespace lockkeeper::kv::internal {

// getpid(), remembered in a page that the kernel empties in every forked or cloned child.
pid_t process_id();

}  // namespace lockkeeper::kv::internal
