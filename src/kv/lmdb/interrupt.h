// Bounds a blocking system call: a timer interrupts the calling thread with EINTR.
#pragma once

#include <csignal>
#include <ctime>

namespace lockkeeper::kv::internal {

// While it lives, the calling thread is interrupted once `after_ms` have passed and then every 20
// ms, because a signal that comes just before the system call is entered is lost. Uses the first
// realtime signal whose action is still the default one, with a handler that does nothing.
class Interrupt {
 public:
  explicit Interrupt(int after_ms);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  void again(int after_ms);  // starts over

  // False if no timer could be had: then the caller must not block.
  bool armed() const { return armed_; }

 private:
  timer_t timer_{};
  sigset_t mask_{};
  bool armed_ = false;
};

}  // namespace lockkeeper::kv::internal
