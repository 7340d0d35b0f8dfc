// Ctrl-C and its like while a command waits: noted, so that it can leave the queue cleanly, instead
// of dying with a request in it.
#pragma once

#include <csignal>

namespace lockkeeper::cli {

// Notes SIGINT, SIGTERM and SIGHUP for as long as it lives; what was set before comes back at the
// end. A signal that was ignored (nohup) stays ignored. One at a time per process.
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

}  // namespace lockkeeper::cli
