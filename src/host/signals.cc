#include "host/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <ctime>
#include <iterator>

namespace lockkeeper::host {
namespace {

constexpr int kEndSignals[] = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t noted = 0;

void note(int signal) {
  if (noted == 0) noted = signal;
}

bool is_ignored(int signal) {
  struct sigaction now{};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

// Blocks the signals and delivers them through a descriptor from now on.
Fd hold(const sigset_t& set, sigset_t* before) {
  ::sigprocmask(SIG_BLOCK, &set, before);
  return Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

SignalWatch::SignalWatch() {
  noted = 0;
  struct sigaction action{};
  action.sa_handler = note;  // no SA_RESTART: a sleep must end
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < std::size(kEndSignals); ++i) {
    ::sigaction(kEndSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(kEndSignals[i], &action, nullptr);
  }
}

SignalWatch::~SignalWatch() {
  for (std::size_t i = 0; i < std::size(kEndSignals); ++i) {
    ::sigaction(kEndSignals[i], &before_[i], nullptr);
  }
}

int SignalWatch::signal() const {
  return noted;
}

void SignalWatch::sleep_ms(int ms) const {
  timespec time{ms / 1000, (ms % 1000) * 1'000'000L};
  if (noted == 0) ::nanosleep(&time, nullptr);
}

HeldSignals::HeldSignals(std::span<const int> signals, Ignored ignored) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCHLD);
  for (const int signal : signals) {
    if (ignored == Ignored::kHeld || !is_ignored(signal)) ::sigaddset(&set, signal);
  }
  fd_ = hold(set, &before_);
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &usual, &child_before_);
}

std::optional<HeldSignal> HeldSignals::take() const {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) {
    return std::nullopt;
  }
  return HeldSignal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

int HeldSignals::take_all(int& first) const {
  int count = 0;
  while (const auto came = take()) {
    if (came->signal == SIGCHLD) continue;
    if (first == 0) first = came->signal;
    ++count;
  }
  return count;
}

void HeldSignals::restore() const {
  ::sigaction(SIGCHLD, &child_before_, nullptr);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

bool asks_to_end(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

Fd hold_end_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : kEndSignals) ::sigaddset(&set, signal);
  return hold(set, nullptr);
}

std::string signal_name(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name == nullptr ? "" : std::string("SIG") + name;
}

}  // namespace lockkeeper::host
