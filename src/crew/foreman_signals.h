// The signals that a foreman hears while it is at work: those that ask it to end, and its
// children's.
#pragma once

#include <signal.h>

#include "base/fd.h"

namespace lockkeeper::crew {

// Holds them in a descriptor while it lives; what was set before comes back at the end. One at a
// time per process.
class ForemanSignals {
 public:
  ForemanSignals();
  ~ForemanSignals();
  ForemanSignals(const ForemanSignals&) = delete;
  ForemanSignals& operator=(const ForemanSignals&) = delete;

  int fd() const { return fd_.get(); }
  // How many asked to end since the last call; `first` is set by the first ever.
  int take(int& first) const;

 private:
  sigset_t before_{};
  struct sigaction child_before_{};
  Fd fd_;
};

}  // namespace lockkeeper::crew
