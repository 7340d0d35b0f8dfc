// Processes as this machine knows them, for leases that are bound to a process that does not hold
// a live slot (`--attach PID`) and for naming who asks. Reads /proc.
//
// A pid alone names nothing: it is reused, and means another process in each PID namespace. With
// the namespace and the start time it names one process for ever (of one boot).
//
// Thread safety: plain functions without state.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "host/alive.h"

namespace lockkeeper::host {

struct ProcessId {
  std::uint64_t pid_namespace = 0;  // inode of the namespace in which `pid` is meant
  int pid = 0;
  std::uint64_t start_ticks = 0;  // since boot; tells a reused pid from the first

  bool operator==(const ProcessId&) const = default;
};

// The identity of the living process `pid` of our namespace. not_found if there is none or it has
// ended (a zombie has), invalid_input for a pid below 1, failed if /proc cannot be relied on.
Result<ProcessId> identify(int pid);

// Whether that very process still runs. Only its own namespace judges: elsewhere kUnknown. A
// process that we may not signal is alive; a zombie, and a pid that was given to another process,
// are dead.
Alive alive(const ProcessId& id);

// The name of this boot of the kernel, 36 characters. failed if /proc is not mounted.
Result<std::string> boot_id();

// Sixteen hexadecimal digits that all processes of this terminal session share and no other
// session of this or another boot has. failed if /proc cannot be relied on.
Result<std::string> terminal_session();

// The process's short name as the kernel has it: at most 15 bytes, any bytes. not_found if the
// process is gone.
Result<std::string> comm(int pid);

// failed if this process lives in a time namespace with a shifted clock: start times and the
// monotonic clock would disagree with everybody else's, so leases must not be judged here (F19).
Result<void> check_time_namespace();

// What starts the program of this process again, even after it was replaced on disk.
std::string own_program();
// Where that program is on disk, for people to read; empty: it cannot be told.
std::string own_program_path();

// Milliseconds since this boot, those that the machine slept included.
std::int64_t since_boot_ms();

namespace internal {

struct Stat {
  char state = '?';
  std::uint64_t threads = 0;
  std::uint64_t start_ticks = 0;
};

// Parses /proc/PID/stat, whose second field may hold blanks and parentheses. failed if it is not
// of that form.
Result<Stat> parse_stat(const std::string& content);

// Zombie, or being removed. A leader thread that ended before the others looks like a zombie
// although the process runs on.
bool has_ended(const Stat& stat);

}  // namespace internal
}  // namespace lockkeeper::host
