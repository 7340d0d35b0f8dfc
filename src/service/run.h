// Runs a command under a lock: acquires, starts, renews, and releases when the command has ended.
//
// The lease lasts as long as anything that the command has started. At its end, what it leaves
// running is asked to end, and killed after a grace; then the lease is given back. If the lease is
// lost the same happens to all of it, unless `keep_going` is set. If this process itself is killed,
// the command gets SIGTERM. The command inherits the lease's live slot, so whatever is left of it
// keeps the lock, until the ttl is over: nobody renews it then.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "service/locks.h"

namespace lockkeeper::service {

struct RunResult;

// How to set up a command that runs beside others. It gets a session of its own, so it receives no
// signal from the terminal. It reads nothing from stdin and dies with this process. A signal that
// asks this process to end goes to the command's whole group; SIGKILL follows after the grace, or
// with a second such signal.
struct Stage {
  std::map<std::string, std::string> environment;  // over what the command gets anyway
  int output = -1;                                 // becomes its stdout and stderr
  std::int64_t timeout_ms = 0;                     // then it is asked to end; 0: never
  // Called when `watched` can be read, while the command lives. False: stop watching.
  int watched = -1;
  std::function<bool()> readable;
  // Long work calls `keep` several times a second; it renews the lease in time. False: the lease is
  // lost.
  using Keep = std::function<bool()>;
  // Called right before the process starts. False: do not start it. Then its lease is released and
  // the outcome is kInterrupted, or the lease was lost.
  std::function<Result<bool>(const Keep& keep)> may_start;
  // Called when the command has ended and its lease is still held.
  std::function<void(const RunResult&, const Keep& keep)> gone;
};

struct RunCommand {
  AcquireCommand acquire;  // attachment is set here
  // The command is a part of the caller's session with this name: what the caller holds is not in
  // its way, and two commands exclude each other. Empty: it acts as the caller.
  std::string part;
  std::vector<std::string> argv;  // REQUIRES: not empty
  bool keep_going = false;
  // What the command leaves running is ended before the lease is given back, because it could still
  // change what is locked. True: it is left alone, and the lease is given back all the same.
  bool leave_running = false;
  std::int64_t kill_grace_ms = 10'000;
  // The feature whose pause is respected (service/pause.h); empty: none. The gate must be open
  // three times: before anything is acquired (waiting as acquire.wait_ms says, or without end),
  // when the lease is granted, and when the command has ended. The last wait keeps the lease
  // renewed and ends when the gate opens or a signal asks this process to end.
  std::string feature;
  // Called once, when the lease is granted. True: the user gave up meanwhile (Ctrl-C); the lease is
  // released and the outcome is kInterrupted.
  std::function<bool()> given_up;
  std::string folder;                                   // where the command runs; empty: here
  const Stage* stage = nullptr;                         // null: it shares our terminal
  std::map<std::string, std::string> environment = {};  // set for the command, besides ours
};

// A lock that consists of more than one lease, such as a guard's.
struct Hold {
  // Takes all of it and gives the lease that the command works under; nullopt: refused.
  std::function<Result<std::optional<AcquireResult>>()> take;
  // Called twice a second. A text says why the lock is lost.
  std::function<std::optional<std::string>()> lost;
  // Called when the command has ended or could not be started. Leaves alone what is lost.
  std::function<void()> give_back;
};

// What happens, as it happens: for --status-fd and for messages.
struct RunEvent {
  enum class What {
    kGranted,
    kPaused,
    kResumed,
    kStarted,
    kRenewTrouble,
    kMessage,
    kLost,
    kEnded,
  };
  What what;
  const AcquireResult& acquired;
  int pid = 0;
  int exit_status = 0;
  std::string message;
};

struct RunResult {
  AcquireResult acquired;  // not granted: the command was not started
  bool started = false;
  int pid = 0;        // of the command, once it has ended
  bool lost = false;  // the lease ended before the command did
  bool timed_out = false;
  std::size_t ended_after = 0;  // processes that the command had left running
  int exit_status = 0;          // of the command, as the shell has it
  bool at_gate = false;         // refused by the gate: `acquired` names whoever paused the feature
  // That ended a wait at the gate with the lease in hand; of run_holding and on a stage: any that
  // asked this process to end. 0: none.
  int signal = 0;
};

// REQUIRES: the process has one thread (it forks). Signals that ask the process to end are passed
// on to the command while it runs; those that the terminal sends to both are not sent twice.
// not_found (exit 127) and operation_not_permitted (126) where the command cannot be started are in
// RunResult::exit_status with `started` false and the lease released.
Result<RunResult> run(Locks& locks, const RunCommand& command,
                      const std::function<void(const RunEvent&)>& report);

// As run(), under `hold`; command.acquire is not used. The lock ends with this process: the command
// does not keep it, and is told (SIGTERM) if this process is killed. A signal that asks this
// process to end from the call on ends the command, at the latest after the grace, and then the
// lock. nullopt: refused.
Result<std::optional<RunResult>> run_holding(Locks& locks, const RunCommand& command,
                                             const Hold& hold,
                                             const std::function<void(const RunEvent&)>& report);

// The text that tells an agent what it may change (LOCKKEEPER_SCOPE).
std::string scope_text(const core::Lease& lease, const realm::Realm& realm);

}  // namespace lockkeeper::service
