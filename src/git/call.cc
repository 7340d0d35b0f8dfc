#include "git/call.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <vector>

#include "base/fd.h"
#include "host/pipes.h"

namespace lockkeeper::git {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kLookAround{100};
constexpr Milliseconds kMoment{300};
constexpr Milliseconds kGrace{5'000};
constexpr int kEndPollMs = 10;

bool has_ended(pid_t pid) {
  siginfo_t info{};
  const int options = WEXITED | WNOHANG | WNOWAIT;
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, options) == 0 && info.si_pid == pid;
}

class Reading {
 public:
  Reading(const Fd& from, pid_t pid, const Limits& limits, const GoOn& go_on)
      : from_(from), pid_(pid), limits_(limits), go_on_(go_on) {}

  Result<std::string> to_the_end() {
    const auto deadline = SteadyClock::now() + Milliseconds(limits_.patience_ms);
    for (;;) {
      const auto left = std::chrono::ceil<Milliseconds>(deadline - SteadyClock::now());
      if (left.count() <= 0) {
        return fail(Code::kTimeout,
                    "git did not answer for " + std::to_string(limits_.patience_ms / 1000) + " s");
      }
      if (go_on_ && !go_on_()) return fail(Code::kFailed, "git was stopped");
      // Before the look: what git printed last is there when it has ended.
      const bool ended = has_ended(pid_);
      LK_ASSIGN(const Got got, more(ended ? Milliseconds(0) : std::min(left, kLookAround)));
      if (got == Got::kEnd || (got == Got::kNothing && ended)) return std::move(answer_);
    }
  }

 private:
  enum class Got { kNothing, kSome, kEnd };

  Result<Got> more(Milliseconds wait) {
    pollfd waiting{from_.get(), POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(wait.count()));
    if (ready < 0 && errno != EINTR) return fail(errno_error(errno, "poll", Code::kFailed));
    if (ready <= 0) return Got::kNothing;
    const ssize_t count = ::read(from_.get(), buffer_.data(), buffer_.size());
    if (count < 0 && errno == EINTR) return Got::kNothing;
    if (count < 0) return fail(errno_error(errno, "git's answer", Code::kFailed));
    if (count == 0) return Got::kEnd;
    answer_.append(buffer_.data(), static_cast<std::size_t>(count));
    if (answer_.size() <= limits_.answer_bytes) return Got::kSome;
    return fail(Code::kLimitExceeded,
                "git's answer is longer than " + std::to_string(limits_.answer_bytes) + " bytes");
  }

  const Fd& from_;
  const pid_t pid_;
  const Limits& limits_;
  const GoOn& go_on_;
  std::string answer_;
  std::vector<char> buffer_ = std::vector<char>(64U << 10);
};

void wait_for_end(pid_t pid, Milliseconds at_most) {
  const auto deadline = SteadyClock::now() + at_most;
  while (!has_ended(pid) && SteadyClock::now() < deadline) ::poll(nullptr, 0, kEndPollMs);
}

// Git removes its lock files when it is asked to end, but not one that it is just making. So it
// first gets a moment to end by itself.
void end_group(pid_t pid) {
  wait_for_end(pid, kMoment);
  ::kill(-pid, SIGTERM);
  wait_for_end(pid, kGrace);
  ::kill(-pid, SIGKILL);
}

}  // namespace

Result<Answer> carry_out(host::Program program, const Limits& limits, bool errors,
                         const GoOn& go_on) {
  LK_ASSIGN(host::Pipe pipe, host::make_pipe());
  program.in = host::kNothing;
  program.out = pipe.writer.get();
  program.err = errors ? pipe.writer.get() : host::kNothing;
  program.group = host::Program::Group::kOwn;  // Ctrl-C at the terminal is for us to handle
  LK_ASSIGN(const pid_t pid, host::start_program(program));
  pipe.writer.reset();
  Result<std::string> text = Reading(pipe.reader, pid, limits, go_on).to_the_end();
  if (!text) end_group(pid);
  const std::optional<int> status = host::wait_for(pid);
  if (!text) return fail(std::move(text.error()));
  if (!status) return fail(Code::kFailed, "git ended unseen");
  return Answer{*status, std::move(*text)};
}

}  // namespace lockkeeper::git
