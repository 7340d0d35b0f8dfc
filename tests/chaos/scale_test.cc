// F30: very many sessions, locks and waiters at once, from several processes over the library: the
// queue keeps its order, what is beyond a limit is told its name, and nothing is lost.
//
// By default 1,000 sessions, 10,000 locks, 40 waiters; LOCKKEEPER_CHAOS_LONG: 10,000
// sessions, 100,000 locks, 100 waiters. LOCKKEEPER_CHAOS_WAITERS: others, up to 1,000.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <new>
#include <thread>

#include "base/test_folder.h"
#include "host/process.h"
#include "kv/lmdb/lmdb_store.h"
#include "layout/test_table.h"
#include "service/local/local_service.h"
#include "service/locks.h"
#include "support/campaign.h"
#include "support/stage.h"

namespace lockkeeper::chaos {
namespace {

using core::Outcome;
using service::AcquireCommand;
using service::Locks;
using testing::HasSubstr;

constexpr std::size_t kProcesses = 8;
constexpr std::size_t kWaitersMost = 1'000;
constexpr const char* kHot = "hot/path.c";

// Who was granted, in order; shared by all processes.
struct Arrivals {
  std::atomic<std::size_t> count = 0;
  std::atomic<std::uint32_t> waiter[kWaitersMost] = {};
  std::atomic<std::size_t> failed = 0;
};

class Scale : public testing::Test {
 protected:
  Scale() {
    runtime_.clock = &clock_;
    runtime_.random = &random_;
    runtime_.env = [](const char*) { return std::nullopt; };
    runtime_.make_service = service::local::make_service;
    runtime_.open_store = [this](const layout::StoreRequest& request) {
      return layout::open_test_store(request, clock_, kv::Durability::kProcess);
    };
    realm_.root = folder_.path();
    realm_.store_folder = folder_.file(".lockkeeper");
    realm_.name = "scale";
    settings_.durability.value = realm::Durability::kProcess;
    void* page = ::mmap(nullptr, sizeof(Arrivals), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(page, MAP_FAILED);
    arrivals_ = new (page) Arrivals;
  }
  ~Scale() override { ::munmap(arrivals_, sizeof(Arrivals)); }

  std::unique_ptr<service::Site> site() {
    return std::make_unique<service::Site>(runtime_, realm_, settings_);
  }

  static AcquireCommand wish(std::vector<std::string> texts) {
    AcquireCommand command;
    command.wanted.texts = std::move(texts);
    command.wanted.base.kind = realm::Base::kRoot;
    return command;
  }

  // `body` of each of kProcesses processes at once; all must end with 0.
  void in_processes(const std::function<int(std::size_t)>& body) {
    start(body);
    finish();
  }
  void start(const std::function<int(std::size_t)>& body) {
    for (std::size_t i = 0; i < kProcesses; ++i) {
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody waits on after a test that was given up
        ::_exit(body(i));
      }
      children_.push_back(child);
    }
  }
  void finish() {
    for (const pid_t child : children_) {
      int status = -1;
      EXPECT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    }
    children_.clear();
  }

  // Every session of this process takes its locks, each in a lease of its own.
  int hold_locks(std::size_t process, std::size_t sessions, std::size_t locks_each) {
    const auto mine = site();
    for (std::size_t s = process; s < sessions; s += kProcesses) {
      Locks locks(*mine, {"agent" + std::to_string(s % 100), "s" + std::to_string(s)});
      const std::string folder = "src/d" + std::to_string(s % 97) + "/s" + std::to_string(s) + "/f";
      for (std::size_t i = 0; i < locks_each; ++i) {
        auto got = locks.acquire(wish({folder + std::to_string(i) + ".c"}));
        // On a crowded machine nobody may get through the gate for two seconds: that is an answer.
        while (!got && got.error().code == Code::kStoreBusy) {
          got = locks.acquire(wish({folder + std::to_string(i) + ".c"}));
        }
        if (!got || got->outcome != Outcome::kGranted) return 1;
      }
    }
    return 0;
  }

  // Many waiters in one process, a thread each: granted, it writes itself down and gives back.
  int wait_in_line(std::size_t process, std::size_t waiters) {
    const auto mine = site();
    std::vector<std::thread> threads;
    for (std::size_t w = process; w < waiters; w += kProcesses) {
      threads.emplace_back([this, &mine, w] {
        Locks locks(*mine, {"waiter", "w" + std::to_string(w)});
        AcquireCommand command = wish({kHot});
        command.wait_ms = service::kWaitForever;
        const auto got = locks.acquire(command);
        if (!got || got->outcome != Outcome::kGranted) {
          ++arrivals_->failed;
          return;
        }
        arrivals_->waiter[arrivals_->count++] = static_cast<std::uint32_t>(w);
        service::ReleaseCommand release;
        release.lease_ids = {got->lease.id.text()};
        if (!locks.release(release)) ++arrivals_->failed;
      });
    }
    for (std::thread& thread : threads) thread.join();
    return 0;
  }

  // The order in which they stand, as the table has it.
  std::vector<std::uint32_t> queue(Locks& locks) {
    const auto list = locks.list({});
    EXPECT_TRUE(list) << list.error().message;
    std::vector<std::pair<kv::Version, std::uint32_t>> order;
    for (const core::Waiter& waiter : list->waiters) {
      const std::string number = waiter.request.owner.session.substr(1);
      order.emplace_back(waiter.request.created,
                         static_cast<std::uint32_t>(std::strtoul(number.c_str(), nullptr, 10)));
    }
    std::sort(order.begin(), order.end());
    std::vector<std::uint32_t> names;
    for (const auto& [version, name] : order) names.push_back(name);
    return names;
  }

  static double since(std::chrono::steady_clock::time_point began) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }

  TestFolder folder_;
  SystemClock clock_;
  SystemRandom random_;
  service::Runtime runtime_;
  realm::Realm realm_;
  realm::Settings settings_;
  Arrivals* arrivals_ = nullptr;
  std::vector<pid_t> children_;
};

TEST_F(Scale, F30_L4_L8_ManySessionsLocksAndWaiters) {
  const std::size_t scale = stage::number_from("LOCKKEEPER_CHAOS_LONG", 0) == 0 ? 1 : 10;
  const std::size_t sessions = 1'000 * scale;
  const std::size_t waiters =
      std::min(stage::number_from("LOCKKEEPER_CHAOS_WAITERS", scale == 1 ? 40 : 100), kWaitersMost);
  constexpr std::size_t kLocksEach = 10;
  const auto mine = site();
  Locks holder(*mine, {"holder", "h"});
  const auto hot = holder.acquire(wish({kHot}));
  ASSERT_TRUE(hot && hot->outcome == Outcome::kGranted);

  auto began = std::chrono::steady_clock::now();
  in_processes([&](std::size_t i) { return hold_locks(i, sessions, kLocksEach); });
  const double held_s = since(began);
  const auto list = holder.list({});
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->leases.size(), sessions * kLocksEach + 1);

  began = std::chrono::steady_clock::now();
  start([&](std::size_t i) { return wait_in_line(i, waiters); });
  std::vector<std::uint32_t> line;
  ASSERT_TRUE(stage::eventually(
      [&] {
        stage::pause_ms(100);
        line = queue(holder);
        return line.size() == waiters;
      },
      600'000));
  const double queued_s = since(began);

  began = std::chrono::steady_clock::now();
  service::ReleaseCommand release;
  release.lease_ids = {hot->lease.id.text()};
  ASSERT_TRUE(holder.release(release));
  finish();
  const double handed_s = since(began);
  EXPECT_EQ(arrivals_->failed, 0U);
  ASSERT_EQ(arrivals_->count, waiters);
  for (std::size_t i = 0; i < waiters; ++i) {
    ASSERT_EQ(arrivals_->waiter[i], line[i]) << "L4: out of turn at place " << i;
  }
  std::printf(
      "%zu sessions took %zu locks in %.1f s; %zu waiters queued in %.1f s, served in order "
      "in %.2f s, %.2f ms each\n",
      sessions, sessions * kLocksEach, held_s, waiters, queued_s, handed_s,
      handed_s * 1000 / static_cast<double>(waiters));
}

// Beyond a limit there is an answer that names it, and nothing is held by it.
TEST_F(Scale, F30_L8_LimitsAreNamed) {
  const auto mine = site();
  Locks big(*mine, {"big", "b"});
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < settings_.resources_per_request.value; ++i) {
    texts.push_back("many/f" + std::to_string(i));
  }
  std::vector<std::string> more = texts;
  more.push_back("many/one-more");
  const auto refused = big.acquire(wish(more));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kLimitExceeded);
  EXPECT_THAT(refused.error().message, HasSubstr("10000")) << refused.error().message;
  const auto granted = big.acquire(wish(texts));
  ASSERT_TRUE(granted && granted->outcome == Outcome::kGranted);
  EXPECT_EQ(granted->lease.claims.size(), texts.size());
  const auto over = big.acquire(wish({"other"}));
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, Code::kLimitExceeded);
  EXPECT_THAT(over.error().message, HasSubstr("10000")) << over.error().message;
  Locks other(*mine, {"other", "o"});
  EXPECT_EQ(other.acquire(wish({"other"}))->outcome, Outcome::kGranted);
}

}  // namespace
}  // namespace lockkeeper::chaos
