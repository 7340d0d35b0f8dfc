// Namespaces of the test's own process. What is changed in them ends with it.
#pragma once

#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace lockkeeper::faults {

// From now on what this process mounts is seen by it and its children alone. Why that cannot be, or
// empty. REQUIRES: no other thread.
inline std::string own_mounts() {
  static const int error = [] {
    if (::unshare(CLONE_NEWNS) != 0) return errno;
    return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ? errno : 0;
  }();
  return error == 0 ? "" : std::string("no mount namespace of our own: ") + std::strerror(error);
}

}  // namespace lockkeeper::faults
