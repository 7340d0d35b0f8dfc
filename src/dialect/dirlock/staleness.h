// Is the holder of a lock file still alive? The dirlock protocol's three rules in their order, but
// stricter than the original: a process that we may not signal is alive, a pid means nothing on
// another host or after a reboot, and a pid that a younger process has means that the holder is
// dead.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "dialect/dirlock/lock_file.h"

namespace lockkeeper::dialect::dirlock {

inline constexpr std::int64_t kStaleTimeoutMs = 20 * 60'000;  // the dirlock protocol's default
// Differences of the wall clock up to this are ignored.
inline constexpr std::int64_t kClockSlackMs = 60'000;

// This machine, now.
struct Here {
  std::string hostname;
  std::int64_t now_ms = 0;   // wall clock
  std::int64_t boot_ms = 0;  // when this boot began, by the present wall clock
};
Here here(const Clock& clock);

enum class Verdict {
  kGone,    // rule 1: its process has ended
  kReused,  // rule 1: the pid belongs to a younger process, or the lock is from an earlier boot
  kStale,   // rule 2: it is older than the timeout, even if alive
  kForced,  // the timeout is 0: clear everything
  kHeld,    // rule 3
};

struct Judged {
  Verdict verdict = Verdict::kHeld;
  std::int64_t start_ms = 0;  // its startTime, or the file's own time if that is invalid
  std::int64_t age_ms = 0;
};

// `timeout_ms` 0 forces.
Judged judge(const LockRecord& record, std::int64_t mtime_ms, const Here& here,
             std::int64_t timeout_ms);

}  // namespace lockkeeper::dialect::dirlock
