#include "crew/foreman_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

namespace lockkeeper::crew {

ForemanSignals::ForemanSignals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) {
    // What was ignored from the start (nohup) stays ignored.
    struct sigaction now{};
    const bool ignored = ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
    if (!ignored || signal == SIGCHLD) ::sigaddset(&set, signal);
  }
  ::sigprocmask(SIG_BLOCK, &set, &before_);
  // Where SIGCHLD is ignored the kernel reaps a keeper itself: its end would be silent.
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &usual, &child_before_);
  fd_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

ForemanSignals::~ForemanSignals() {
  ::sigaction(SIGCHLD, &child_before_, nullptr);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int ForemanSignals::take(int& first) const {
  int count = 0;
  signalfd_siginfo info{};
  while (::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;
    if (first == 0) first = signal;
    ++count;
  }
  return count;
}

}  // namespace lockkeeper::crew
