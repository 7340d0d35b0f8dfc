// Preloaded into a process, it makes the process's clocks STAGE_LATER_MS later. With
// STAGE_LATER_FILE, which has a number of milliseconds in 8 bytes, they are that much later, too,
// and follow it while the process runs. The boot clock stays, because a process's start, which the
// kernel tells, is compared with it; STAGE_LATER_BOOT moves it as well.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr long kSecondNs = 1'000'000'000;
constexpr long kMillisecondNs = 1'000'000;

const std::atomic<std::int64_t>* shared_ms() {
  const char* const file = std::getenv("STAGE_LATER_FILE");
  const int fd = file == nullptr ? -1 : ::open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* const page = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  return page == MAP_FAILED ? nullptr : static_cast<const std::atomic<std::int64_t>*>(page);
}

long later_ms() {
  static const char* const later = std::getenv("STAGE_LATER_MS");
  static const long fixed = later == nullptr ? 0 : std::atol(later);
  static const std::atomic<std::int64_t>* const shared = shared_ms();
  return fixed + (shared == nullptr ? 0 : shared->load());
}

bool is_moved(clockid_t clock) {
  static const bool boot = std::getenv("STAGE_LATER_BOOT") != nullptr;
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || (boot && clock == CLOCK_BOOTTIME);
}

timespec moved(timespec time, long ms) {
  const long ns = time.tv_nsec + ms % 1'000 * kMillisecondNs;
  time.tv_sec += ms / 1'000 + (ns >= kSecondNs ? 1 : 0) - (ns < 0 ? 1 : 0);
  time.tv_nsec = (ns + kSecondNs) % kSecondNs;
  return time;
}

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

#define STAGE_SHOWN extern "C" __attribute__((visibility("default")))

STAGE_SHOWN int clock_gettime(clockid_t clock, timespec* time) {
  static const auto get = real<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int status = get(clock, time);
  if (status == 0 && is_moved(clock)) *time = moved(*time, later_ms());
  return status;
}

// What the process waits until, it has reckoned with the clocks above; the kernel does not.
STAGE_SHOWN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                       clockid_t clock, const timespec* until) {
  using Wait = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
  static const auto wait = real<Wait>("pthread_cond_clockwait");
  const timespec then = is_moved(clock) ? moved(*until, -later_ms()) : *until;
  return wait(condition, mutex, clock, &then);
}
