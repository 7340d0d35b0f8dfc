// Is the holder of a lock file still there? The document's three rules, in their order, without the
// holes of its original: a process that may not be signalled is alive, a pid means nothing on
// another host or after a reboot, and one that was given to a younger process is dead.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "dialect/dirlock/lock_file.h"

namespace lockkeeper::dialect::dirlock {

inline constexpr std::int64_t kStaleTimeoutMs = 20 * 60'000;  // the document's default
// Two readings of the wall clock may differ by so much without meaning anything.
inline constexpr std::int64_t kClockSlackMs = 60'000;

// This machine, now.
struct Here {
  std::string hostname;
  std::int64_t now_ms = 0;   // wall clock
  std::int64_t boot_ms = 0;  // when this boot began, on the wall clock as it stands now
};
Here here(const Clock& clock);

enum class Verdict {
  kGone,    // rule 1: its process has ended
  kReused,  // rule 1: the pid is a younger process's, or of an earlier boot; by the wall clock
  kStale,   // rule 2: it is older than the timeout, dead or alive
  kForced,  // the timeout is 0: everything is to be cleared
  kHeld,    // rule 3
};

struct Judged {
  Verdict verdict = Verdict::kHeld;
  std::int64_t start_ms = 0;  // its startTime, or the file's own time if that makes no sense
  std::int64_t age_ms = 0;
};

// `timeout_ms` 0 forces.
Judged judge(const LockRecord& record, std::int64_t mtime_ms, const Here& here,
             std::int64_t timeout_ms);

}  // namespace lockkeeper::dialect::dirlock
