// Processes of this machine: for leases bound to a process without a live slot (`--attach PID`),
// and to name the requester. Reads /proc.
//
// A pid alone names nothing: it is reused, and means another process in each PID namespace.
// Together with the namespace and the start time it names one process of one boot.
//
// Thread safety: plain functions without state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "host/alive.h"

namespace lockkeeper::host {

struct ProcessId {
  std::uint64_t pid_namespace = 0;  // inode of the namespace that `pid` belongs to
  int pid = 0;
  std::uint64_t start_ticks = 0;  // since boot; tells a reused pid from the first

  bool operator==(const ProcessId&) const = default;
};

// The identity of the living process `pid` of our namespace. not_found: there is none, or it has
// ended (a zombie has). invalid_input: a pid below 1. failed: /proc is not reliable.
Result<ProcessId> identify(int pid);

// Is exactly that process still running? kUnknown outside its own namespace. A process that we may
// not signal is alive. A zombie, and a pid that was given to another process, are dead.
Alive alive(const ProcessId& id);

// The id of this boot, 36 characters. failed: /proc is not mounted.
Result<std::string> boot_id();

// Sixteen hexadecimal digits that all processes of this terminal session share, and no other
// session of this or another boot. nullopt: this process has no terminal. failed: /proc is not
// reliable.
Result<std::optional<std::string>> terminal_session();

// The process that starts our commands: the nearest ancestor whose program is not a shell, make, or
// a tool such as env and timeout that only starts another one. Judged by the program's file, never
// by the name that a process gives itself. nullopt: there is no such ancestor in this PID
// namespace, or it has just ended.
std::optional<int> find_client();
bool is_ancestor(int pid);  // of this process
// Sixteen hexadecimal digits that name that process on this boot. failed: /proc is not reliable.
Result<std::optional<std::string>> client_process();
// How long that process has been running; nullopt: there is none.
std::optional<std::int64_t> client_age_ms();

// The kernel's short name of the process: at most 15 bytes, any bytes. not_found: the process is
// gone.
Result<std::string> comm(int pid);

// failed: this process is in a time namespace with a shifted clock. Start times and the monotonic
// clock would disagree with everybody else's, so leases must not be judged here (F19).
Result<void> check_time_namespace();

// A path that starts this process's program again, even after it was replaced on disk.
std::string own_program();
// Where that program is on disk, for people to read; empty: unknown.
std::string own_program_path();

// Milliseconds since boot, including those that the machine slept.
std::int64_t since_boot_ms();

namespace internal {

struct Stat {
  char state = '?';
  int parent = 0;
  int terminal = 0;  // its device number; 0: none
  std::uint64_t threads = 0;
  std::uint64_t start_ticks = 0;
};

// Parses /proc/PID/stat, whose second field may contain blanks and parentheses. failed: another
// format.
Result<Stat> parse_stat(const std::string& content);

// Zombie, or being removed. A leader thread that ended before the others looks like a zombie
// although the process runs on.
bool has_ended(const Stat& stat);

}  // namespace internal
}  // namespace lockkeeper::host
