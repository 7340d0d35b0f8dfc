// From a release, and from a kill -9, to the next waiter running in another process.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/assert.h"
#include "bench.h"
#include "ours.h"

namespace lockkeeper::bench {
namespace {

constexpr int kRounds = 200;
constexpr int kKills = 40;

struct Shared {
  std::atomic<std::int64_t> granted_ns{0};
  std::atomic<int> held{0};
};

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

service::AcquireCommand ask(std::optional<std::int64_t> wait_ms) {
  service::AcquireCommand command;
  command.wanted.texts = {"src/api/users.py"};
  command.wait_ms = wait_ms;
  return command;
}

void release(service::Locks& locks) {
  service::ReleaseCommand command;
  command.all = true;
  LOCKKEEPER_ASSERT(locks.release(command));
}

std::size_t waiting(service::Locks& locks) {
  const auto listed = locks.list({});
  LOCKKEEPER_ASSERT(listed);
  return listed->waiters.size();
}

template <class Body>
pid_t child(const std::string& folder, Body body) {
  const pid_t pid = ::fork();
  LOCKKEEPER_ASSERT(pid >= 0);
  if (pid == 0) {
    Ours ours(folder, kv::Durability::kProcess, false);
    service::Locks locks(ours.table(), {"child" + std::to_string(::getpid()), ""});
    body(ours, locks);
    ::_exit(0);
  }
  return pid;
}

void wait_until(const std::function<bool()>& ready) {
  while (!ready()) std::this_thread::sleep_for(std::chrono::microseconds(500));
}

}  // namespace

void handoff(const Setup& setup, Report& report) {
  const std::string folder = setup.folder + "/handoff";
  auto* shared = new (::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared;
  Ours ours(folder, kv::Durability::kProcess);
  service::Locks locks(ours.table(), {"releaser", ""});
  Samples released;
  Samples killed;
  const pid_t waiter = child(folder, [&](Ours&, service::Locks& own) {
    for (int i = 0; i < kRounds; ++i) {
      while (shared->held.load() == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
      const auto got = own.acquire(ask(service::kWaitForEver));
      shared->granted_ns = now_ns();
      LOCKKEEPER_ASSERT(got && got->outcome == service::Ended::kGranted);
      shared->held = 0;
      release(own);
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    const auto got = locks.acquire(ask(10'000));
    LOCKKEEPER_ASSERT(got && got->outcome == service::Ended::kGranted);
    shared->granted_ns = 0;
    shared->held = 1;
    wait_until([&] { return waiting(locks) == 1; });
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const std::int64_t began = now_ns();
    release(locks);
    wait_until([&] { return shared->granted_ns.load() != 0; });
    released.micros.push_back(static_cast<double>(shared->granted_ns.load() - began) / 1000);
    wait_until([&] { return shared->held.load() == 0; });
  }
  ::waitpid(waiter, nullptr, 0);

  for (int i = 0; i < kKills; ++i) {
    shared->held = 0;
    shared->granted_ns = 0;
    const pid_t holder = child(folder, [&](Ours& own_ours, service::Locks& own) {
      service::AcquireCommand command = ask(10'000);
      const auto slot = own_ours.table().own_slot();
      LOCKKEEPER_ASSERT(slot);
      command.attachment = *slot;
      const auto got = own.acquire(command);
      LOCKKEEPER_ASSERT(got && got->outcome == service::Ended::kGranted);
      shared->held = 1;
      ::pause();
    });
    wait_until([&] { return shared->held.load() == 1; });
    const pid_t next = child(folder, [&](Ours&, service::Locks& own) {
      const auto got = own.acquire(ask(10'000));
      shared->granted_ns = now_ns();
      LOCKKEEPER_ASSERT(got && got->outcome == service::Ended::kGranted);
      release(own);
    });
    wait_until([&] { return waiting(locks) == 1; });
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    const std::int64_t began = now_ns();
    ::kill(holder, SIGKILL);
    wait_until([&] { return shared->granted_ns.load() != 0; });
    killed.micros.push_back(static_cast<double>(shared->granted_ns.load() - began) / 1000);
    ::waitpid(holder, nullptr, 0);
    ::waitpid(next, nullptr, 0);
  }
  report.rows.push_back({"release to the next waiter running", "process", std::move(released), ""});
  report.rows.push_back({"kill -9 to the next waiter running", "process", std::move(killed), ""});
  ::munmap(shared, sizeof(Shared));
}

}  // namespace lockkeeper::bench
