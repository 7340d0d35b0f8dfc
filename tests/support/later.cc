// Preloaded into a process, it makes the process's clocks STAGE_LATER_MS later. The boot clock
// stays, because a process's start, which the kernel tells, is compared with it.
#include <dlfcn.h>
#include <time.h>

#include <cstdlib>

extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock,
                                                                    timespec* time) {
  using Real = int (*)(clockid_t, timespec*);
  static const Real real = reinterpret_cast<Real>(::dlsym(RTLD_NEXT, "clock_gettime"));
  static const char* const later = std::getenv("STAGE_LATER_MS");
  const int status = real(clock, time);
  const bool moved = clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
  if (status != 0 || !moved || later == nullptr) return status;
  const long ns = time->tv_nsec + std::atol(later) % 1'000 * 1'000'000;
  time->tv_sec += std::atol(later) / 1'000 + ns / 1'000'000'000;
  time->tv_nsec = ns % 1'000'000'000;
  return 0;
}
