// A command under a lock: take, run, keep renewed, free when the command is gone, whatever the end.
//
// The lease is bound to a live slot that the command inherits, so that it lasts until both this
// process and the command are gone: killed with -9 in the middle, the command still has its lock
// (for the lease's length, as nobody renews it then). If the lease is lost meanwhile, the command
// is told: SIGTERM, and SIGKILL after a grace, unless it is to keep going.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "service/locks.h"

namespace lockkeeper::service {

struct RunResult;

// How a command is set up by who runs many of them side by side. It gets a session of its own, so
// that it hears no signal of the terminal, reads nothing from stdin, and dies with this process.
// Signals that ask this process to end go to all of its group, and SIGKILL after the grace or with
// the second of them.
struct Stage {
  std::map<std::string, std::string> environment;  // over what the command gets anyway
  int output = -1;                                 // becomes its stdout and stderr
  std::int64_t timeout_ms = 0;                     // then it is asked to end; 0: never
  // While the command lives: called when `watched` can be read; false: no longer.
  int watched = -1;
  std::function<bool()> readable;
  // What takes long calls `keep` several times a second: it renews the lease when it is time.
  // False: it is lost.
  using Keep = std::function<bool()>;
  // Called when nothing is missing but the process itself. False: it is not wanted any more, its
  // lease is given back and the outcome is kInterrupted; or the lease was lost.
  std::function<Result<bool>(const Keep& keep)> may_start;
  // Called when the command is gone, while its lease is still held.
  std::function<void(const RunResult&, const Keep& keep)> gone;
};

struct RunCommand {
  AcquireCommand acquire;         // attachment is set here
  std::vector<std::string> argv;  // REQUIRES: not empty
  bool keep_going = false;
  std::int64_t kill_grace_ms = 10'000;
  // A feature whose pause is heeded (service/pause.h); empty: none. The gate is passed before
  // anything is taken (for as long as acquire.wait_ms says, else for ever), once more when the
  // lease is there, and when the command has ended, before its lease is freed: there for as long as
  // it is shut, with the lease kept renewed, until a signal asks the process to end.
  std::string feature;
  // Asked once, when the lease is there. True: nobody wants it any more (a Ctrl-C that came while
  // the grant was on its way); it is given back and the outcome is kInterrupted.
  std::function<bool()> given_up;
  std::string folder;            // where the command runs; empty: here
  const Stage* stage = nullptr;  // null: it shares our terminal
};

// A lock that is more than one lease of the table, such as a guard's.
struct Hold {
  // The lease that the command works under, and from then on all of it; nullopt: refused.
  std::function<Result<std::optional<AcquireResult>>()> take;
  // Asked at every look, twice a second: a text says why it is lost.
  std::function<std::optional<std::string>()> lost;
  // Called when the command is gone, or could not be started. What is lost is not given back.
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
  int exit_status = 0;   // of the command, as the shell has it
  bool at_gate = false;  // refused by the gate: `acquired` has the outcome and who has paused it
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

// The text that tells an agent its boundaries (LOCKKEEPER_SCOPE).
std::string scope_text(const core::Lease& lease, const realm::Realm& realm);

}  // namespace lockkeeper::service
