// The process id without a system call. LMDB's state and the gate's locks belong to one process, so
// every transaction checks that it is still in the process that opened them.
#pragma once

#include <sys/types.h>

namespace lockkeeper::kv::internal {

// getpid(), cached in a page that the kernel empties in every forked or cloned child.
pid_t process_id();

}  // namespace lockkeeper::kv::internal
