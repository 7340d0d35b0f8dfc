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

enum class Process { kGone, kReused, kThere };

// Asks the kernel if /proc does not know: only "no such process" means dead.
Process by_signal(int pid) {
  return ::kill(pid, 0) != 0 && errno == ESRCH ? Process::kGone : Process::kThere;
}

std::int64_t started_ms(const host::ProcessId& process, const Here& here) {
  const std::int64_t ticks_per_s = std::max<std::int64_t>(1, ::sysconf(_SC_CLK_TCK));
  return here.boot_ms + static_cast<std::int64_t>(process.start_ticks) * 1'000 / ticks_per_s;
}

Process look_for(const LockRecord& record, const Here& here) {
  const int pid = static_cast<int>(record.pid);
  const auto process = host::identify(pid);
  if (!process) {
    switch (process.error().code) {
      case Code::kNotFound:
        // Dead, a zombie, or hidden by /proc's hidepid.
        return ::kill(pid, 0) != 0 && errno == EPERM ? Process::kThere : Process::kGone;
      case Code::kInvalidInput:  // the id of a thread, not of a process
        return Process::kGone;
      default:
        return by_signal(pid);
    }
  }
  if (!record.start_ms) return Process::kThere;
  // The process that took the lock was running by then.
  const std::int64_t taken_by = *record.start_ms + kClockSlackMs;
  return started_ms(*process, here) > taken_by || here.boot_ms > taken_by ? Process::kReused
                                                                          : Process::kThere;
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
    const Process process = look_for(record, here);
    if (process == Process::kGone) judged.verdict = Verdict::kGone;
    if (process == Process::kReused) judged.verdict = Verdict::kReused;
    if (process != Process::kThere) return judged;
  }
  if (timeout_ms == 0) {
    judged.verdict = Verdict::kForced;
  } else if (judged.age_ms > timeout_ms) {
    judged.verdict = Verdict::kStale;
  }
  return judged;
}

}  // namespace lockkeeper::dialect::dirlock
