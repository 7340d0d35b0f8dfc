// Signals without surprises: noted by a handler while a command waits, or held in a descriptor
// while a process has others below it.
//
// Thread safety: none. To be used by a process that has one thread, or before it has more.
#pragma once

#include <signal.h>

#include <optional>
#include <span>
#include <string>

#include "base/fd.h"

namespace lockkeeper::host {

// Ctrl-C and its like are noted for as long as it lives, so that a command can leave the queue
// cleanly instead of dying with a request in it. SIGINT, SIGTERM and SIGHUP; what was set before
// comes back at the end. A signal that was ignored (nohup) stays ignored. One at a time per
// process.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  // The first signal that came; 0: none.
  int signal() const;
  // What a shell would report for it: 128 + its number.
  int exit_status() const { return 128 + signal(); }

  // Sleeps, less if a signal comes.
  void sleep_ms(int ms) const;

 private:
  struct sigaction before_[3];
};

struct HeldSignal {
  int signal = 0;
  bool by_kernel = false;  // such as the terminal's, which reach the whole foreground group
};

// Holds signals in a descriptor while it lives; what was set before comes back at the end. SIGCHLD
// is always among them, and not ignored: else the kernel would reap a child itself, and its end
// would be silent and its exit status gone. One at a time per process.
class HeldSignals {
 public:
  enum class Ignored {
    kHeld,  // what was ignored from the start (nohup) is held, too
    kStays,
  };
  HeldSignals(std::span<const int> signals, Ignored ignored);
  ~HeldSignals() { restore(); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  int fd() const { return fd_.get(); }  // readable: one has come
  // The next one; nullopt: none has come.
  std::optional<HeldSignal> take() const;
  // Takes all that have come. How many were not of a child; the first of these ever is in `first`.
  int take_all(int& first) const;
  // As it was before; also for a new process, before it becomes another program.
  void restore() const;

 private:
  sigset_t before_{};
  struct sigaction child_before_{};
  Fd fd_;
};

// Does it ask a process to end? SIGINT, SIGTERM, SIGHUP, SIGQUIT.
bool asks_to_end(int signal);

// SIGINT, SIGTERM and SIGHUP from now on in a descriptor that becomes readable instead, for the
// rest of this process. Threads that come later inherit that: to be called before there are any.
Fd hold_end_signals();

// "SIGTERM"; empty: there is no such signal.
std::string signal_name(int signal);

}  // namespace lockkeeper::host
