#include "host/last_word.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>

namespace lockkeeper::host {
namespace {

// The handler reads it. A word that was replaced is never freed: there are two in a process.
std::atomic<const LastWord*> armed_word = nullptr;

void write_all(int fd, const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t n = ::write(fd, text.data() + at, text.size() - at);
    if (n <= 0) return;
    at += static_cast<std::size_t>(n);
  }
}

extern "C" void say_last_word(int /*signal*/) {
  const LastWord* const word = armed_word.load();
  if (word == nullptr) return;
  write_all(STDOUT_FILENO, word->out);
  write_all(STDERR_FILENO, word->err);
  ::_exit(word->exit_code);
}

}  // namespace

void arm_last_word(LastWord word, int after_ms) {
  const LastWord* const before = armed_word.exchange(new LastWord(std::move(word)));
  if (before != nullptr) return;
  struct sigaction action{};
  action.sa_handler = say_last_word;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGALRM, &action, nullptr);
  sigset_t alarm;
  ::sigemptyset(&alarm);
  ::sigaddset(&alarm, SIGALRM);
  ::sigprocmask(SIG_UNBLOCK, &alarm, nullptr);
  const itimerval timer{{0, 0}, {after_ms / 1000, suseconds_t{after_ms % 1000} * 1000}};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

void disarm_last_word() {
  armed_word.store(nullptr);
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
}

}  // namespace lockkeeper::host
