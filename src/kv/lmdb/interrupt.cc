#include "kv/lmdb/interrupt.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace lockkeeper::kv::internal {
namespace {

void do_nothing(int) {}

// Installed once per process and never removed: removing it would race with a late timer.
int choose_signal() {
  for (int signal = SIGRTMIN + 3; signal <= SIGRTMAX; ++signal) {
    struct sigaction old{};
    if (::sigaction(signal, nullptr, &old) != 0) continue;
    if ((old.sa_flags & SA_SIGINFO) != 0 || old.sa_handler != SIG_DFL) continue;
    struct sigaction action{};
    action.sa_handler = do_nothing;  // and no SA_RESTART: the point is EINTR
    if (::sigaction(signal, &action, nullptr) == 0) return signal;
  }
  return 0;
}

int interrupt_signal() {
  static const int kSignal = choose_signal();
  return kSignal;
}

}  // namespace

Interrupt::Interrupt(int after_ms) {
  const int signal = interrupt_signal();
  if (signal == 0) return;
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal;
  event._sigev_un._tid = static_cast<pid_t>(::syscall(SYS_gettid));
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0) return;
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &only, &mask_);
  armed_ = true;
  again(after_ms);
}

void Interrupt::again(int after_ms) {
  if (!armed_) return;
  itimerspec when{};
  when.it_value.tv_sec = after_ms / 1000;
  when.it_value.tv_nsec = static_cast<long>(after_ms % 1000) * 1'000'000 + 1;
  when.it_interval.tv_nsec = 20'000'000;
  ::timer_settime(timer_, 0, &when, nullptr);
}

Interrupt::~Interrupt() {
  if (!armed_) return;
  ::timer_delete(timer_);
  ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
}

}  // namespace lockkeeper::kv::internal
