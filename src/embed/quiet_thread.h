// Threads of the library, of which the process that embeds it need not know.
#pragma once

#include <functional>
#include <thread>

namespace lockkeeper::embed {

// A thread that takes none of the process's signals except for its own faults: the kernel kills a
// process if a thread faults while that signal is blocked. Not joinable: the system has no threads
// left.
std::thread quiet_thread(const std::function<void()>& body);

}  // namespace lockkeeper::embed
