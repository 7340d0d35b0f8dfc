// Signals, noted by a handler while a command waits, or held in a descriptor while a process has
// children.
//
// Thread safety: none. Use it in a process with one thread, or before there are more.
#pragma once

#include <signal.h>

#include <optional>
#include <span>
#include <string>

#include "base/fd.h"

namespace lockkeeper::host {

// Notes SIGINT, SIGTERM and SIGHUP while it lives, so that a command can leave the queue cleanly
// instead of dying with a request in it. Restores the former actions at the end. A signal that was
// ignored (nohup) stays ignored. One at a time per process.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  // The first signal that came; 0: none.
  int signal() const;
  // What a shell reports for it: 128 + its number.
  int exit_status() const { return 128 + signal(); }

  // Sleeps until a signal comes, or for this long.
  void sleep_ms(int ms) const;

 private:
  struct sigaction before_[3];
};

struct HeldSignal {
  int signal = 0;
  bool by_kernel = false;  // such as the terminal's, which reaches the whole foreground group
};

// Holds signals in a descriptor while it lives, and restores the former actions at the end. SIGCHLD
// is always held and never ignored: if it were ignored, the kernel would reap children itself and
// their exit status would be lost. One at a time per process.
class HeldSignals {
 public:
  enum class Ignored {
    kHeld,  // what was ignored from the start (nohup) is held too
    kStays,
  };
  HeldSignals(std::span<const int> signals, Ignored ignored);
  ~HeldSignals() { restore(); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  int fd() const { return fd_.get(); }  // readable: one has come
  // The next one; nullopt: none has come.
  std::optional<HeldSignal> take() const;
  // Takes all that have come. Returns how many were not SIGCHLD; `first` gets the first of these.
  int take_all(int& first) const;
  // Restores the former actions; also for a new process before it becomes another program.
  void restore() const;

 private:
  sigset_t before_{};
  struct sigaction child_before_{};
  Fd fd_;
};

// Is it a request to end: SIGINT, SIGTERM, SIGHUP or SIGQUIT?
bool asks_to_end(int signal);

// From now on SIGINT, SIGTERM and SIGHUP make this descriptor readable instead, for the rest of
// this process. Later threads inherit that, so call it before there are any.
Fd hold_end_signals();

// "SIGTERM"; empty: no such signal.
std::string signal_name(int signal);

}  // namespace lockkeeper::host
