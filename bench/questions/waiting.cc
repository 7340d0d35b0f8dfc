#include "bench/questions/waiting.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/assert.h"
#include "bench/child.h"
#include "bench/must.h"

namespace lockkeeper::bench {
namespace {

constexpr double kPatienceSeconds = 60;
constexpr auto kLookAgain = std::chrono::milliseconds(20);

}  // namespace

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

void take_it(service::Locks& locks, Bound bound) {
  service::AcquireCommand command;
  command.wanted.texts = {"src/api/users.py"};
  command.wait_ms = service::kWaitForever;
  if (bound == Bound::kAttached) {
    command.attachment = must(locks.site().table().own_slot());
  }
  const service::AcquireResult got = must(locks.acquire(command));
  LOCKKEEPER_ASSERT(got.outcome == core::Outcome::kGranted);
}

void free_it(service::Locks& locks) {
  service::ReleaseCommand command;
  command.all = true;
  must(locks.release(command));
}

std::size_t waiters_of(service::Locks& locks) {
  return must(locks.list({})).waiters.size();
}

Waiting::Waiting(int count, const std::function<void(int)>& wait) {
  for (int i = 0; i < count; ++i) pids_.push_back(fork_child([&] { wait(i); }));
}

Waiting::~Waiting() {
  for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
  for (const pid_t pid : pids_) join(pid);
}

bool Waiting::any_failed() const {
  return std::ranges::any_of(pids_, [](pid_t pid) {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid == pid && info.si_status != 0;
  });
}

bool Waiting::in_time(const std::function<bool()>& ready) const {
  const auto began = std::chrono::steady_clock::now();
  while (!ready()) {
    if (micros_since(began) > kPatienceSeconds * 1e6 || any_failed()) return false;
    std::this_thread::sleep_for(kLookAgain);
  }
  return true;
}

bool Waiting::all_queued(service::Locks& locks) const {
  return in_time([&] { return waiters_of(locks) == pids_.size(); });
}

}  // namespace lockkeeper::bench
