// Preloaded into a process, it moves that process's wall clock by the seconds that stand in the
// file $WALL_CLOCK_STEP, read at every look; the monotonic clock stays. (F8)
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

extern "C" int clock_gettime(clockid_t clock, timespec* time) {
  using Real = int (*)(clockid_t, timespec*);
  static const Real real = reinterpret_cast<Real>(::dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, time);
  const char* const path = clock == CLOCK_REALTIME ? std::getenv("WALL_CLOCK_STEP") : nullptr;
  if (path == nullptr) return result;
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return result;
  char text[32] = {};
  if (::read(fd, text, sizeof text - 1) > 0) time->tv_sec += std::atol(text);
  ::close(fd);
  return result;
}
