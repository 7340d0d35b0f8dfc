#include "cli/signals.h"

#include <ctime>
#include <iterator>

namespace lockkeeper::cli {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t noted = 0;

void note(int signal) {
  if (noted == 0) noted = signal;
}

}  // namespace

SignalWatch::SignalWatch() {
  noted = 0;
  struct sigaction action{};
  action.sa_handler = note;  // no SA_RESTART: a sleep must end
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

SignalWatch::~SignalWatch() {
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaction(kSignals[i], &before_[i], nullptr);
  }
}

int SignalWatch::signal() const {
  return noted;
}

void SignalWatch::sleep_ms(int ms) const {
  timespec time{ms / 1000, (ms % 1000) * 1'000'000L};
  if (noted == 0) ::nanosleep(&time, nullptr);
}

}  // namespace lockkeeper::cli
