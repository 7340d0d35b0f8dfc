// LOCKKEEPER_ASSERT states what must be true whatever the input: a failure is our bug. It stays on
// in release builds, because a lock manager in an unknown state grants what it must not.
#pragma once

namespace lockkeeper {

// Prints the place and the condition to stderr and aborts.
[[noreturn]] void assert_failed(const char* condition, const char* file, int line);

}  // namespace lockkeeper

#define LOCKKEEPER_ASSERT(condition)                   \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::lockkeeper::assert_failed(#condition, __FILE__, __LINE__))
