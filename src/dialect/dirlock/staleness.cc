#include "dialect/dirlock/staleness.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <ctime>

#include "host/process.h"

namespace lockkeeper::dialect::dirlock {
namespace {

std::int64_t started_ms(const host::ProcessId& process, const Here& here) {
  const std::int64_t ticks_per_s = std::max<std::int64_t>(1, ::sysconf(_SC_CLK_TCK));
  return here.boot_ms + static_cast<std::int64_t>(process.start_ticks) * 1'000 / ticks_per_s;
}

// kHeld: its process is there.
Verdict look_for(const LockRecord& record, const Here& here) {
  const int pid = static_cast<int>(record.pid);
  const auto process = host::identify(pid);
  if (!process) {
    const int unseen = ::kill(pid, 0) == 0 ? 0 : errno;
    switch (process.error().code) {
      case Code::kNotFound:
        // Dead, a zombie, or hidden by /proc's hidepid.
        return unseen == EPERM ? Verdict::kHeld : Verdict::kGone;
      case Code::kInvalidInput:  // the id of a thread, not of a process
        return Verdict::kGone;
      default:  // /proc does not know: only "no such process" means dead
        return unseen == ESRCH ? Verdict::kGone : Verdict::kHeld;
    }
  }
  if (!record.start_ms) return Verdict::kHeld;
  // The process that took the lock was running by then.
  const std::int64_t taken_by = *record.start_ms + kClockSlackMs;
  const bool later = started_ms(*process, here) > taken_by || here.boot_ms > taken_by;
  return later ? Verdict::kReused : Verdict::kHeld;
}

}  // namespace

Here here(const Clock& clock) {
  Here result;
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) result.hostname = name.data();
  result.now_ms = clock.now().wall_ms;
  result.boot_ms = result.now_ms - host::since_boot_ms();
  return result;
}

Judged judge(const LockRecord& record, std::int64_t mtime_ms, const Here& here,
             std::int64_t timeout_ms) {
  Judged judged;
  const bool sensible = record.start_ms && *record.start_ms <= here.now_ms + kClockSlackMs;
  judged.start_ms = sensible ? *record.start_ms : mtime_ms;
  judged.age_ms = std::max<std::int64_t>(0, here.now_ms - judged.start_ms);
  if (record.hostname == here.hostname) {  // on another host its pid means nothing
    judged.verdict = look_for(record, here);
    if (judged.verdict != Verdict::kHeld) return judged;
  }
  if (timeout_ms == 0) {
    judged.verdict = Verdict::kForced;
  } else if (judged.age_ms > timeout_ms) {
    judged.verdict = Verdict::kStale;
  }
  return judged;
}

}  // namespace lockkeeper::dialect::dirlock
