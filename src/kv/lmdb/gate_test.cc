#include "kv/lmdb/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <thread>
#include <vector>

#include "kv/lmdb/testing.h"

namespace lockkeeper::kv::internal {
namespace {

using ::testing::HasSubstr;
using testing::join;
using testing::join_stopped;
using testing::Line;
using testing::must;
using testing::spawn;

constexpr FilePolicy kPolicy;

// What all processes of a test see.
struct Shared {
  std::atomic<int> writers;
  std::atomic<int> readers;
  std::atomic<int> violations;
  std::atomic<long> passes[8];
};

class GateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    void* memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    shared_ = new (memory) Shared{};
    auto gate = open();
    auto pass = must(gate->enter(Access::kWrite));
    must(gate->make_page());
  }
  void TearDown() override { ::munmap(shared_, sizeof(Shared)); }

  std::string path() const { return folder_.file("gate"); }
  std::unique_ptr<Gate> open() { return must(Gate::open(path(), false, &kPolicy)); }

  // One passage that notices if anybody is inside who must not be.
  void pass_once(Gate& gate, Access access) {
    auto pass = must(gate.enter(access, 30'000));
    if (access == Access::kWrite) {
      if (shared_->writers.fetch_add(1) != 0 || shared_->readers != 0) ++shared_->violations;
      for (int i = 0; i < 50; ++i) {
        if (shared_->readers != 0) ++shared_->violations;
      }
      --shared_->writers;
    } else {
      ++shared_->readers;
      if (hold_us_ > 0) ::usleep(hold_us_ + static_cast<useconds_t>(::random()) % hold_us_);
      for (int i = 0; i < 50; ++i) {
        if (shared_->writers != 0) ++shared_->violations;
      }
      --shared_->readers;
    }
  }

  TestFolder folder_;
  Shared* shared_ = nullptr;
  useconds_t hold_us_ = 0;  // how long a reader stays inside
};

// Four readers that overlap all the time: without the turnstile no writer would ever find the store
// empty. Everybody goes on until everybody has had its turns.
TEST_F(GateTest, I1_L4_NeitherReadersNorWritersStarve) {
  constexpr int kProcesses = 6;
  constexpr int kWriters = 2;
  constexpr long kTurns = 40;
  hold_us_ = 5000;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(spawn([&, i] {
      auto gate = open();
      ::srandom(static_cast<unsigned>(i));  // out of step with the others
      const auto all_done = [&] {
        for (int p = 0; p < kProcesses; ++p) {
          if (shared_->passes[p] < kTurns) return false;
        }
        return true;
      };
      // Writers come last, to a store that is never empty.
      const auto readers_ready = [&] {
        for (int p = kWriters; p < kProcesses; ++p) {
          if (shared_->passes[p] == 0) return false;
        }
        return true;
      };
      while (i < kWriters && !readers_ready()) ::usleep(1000);
      while (!all_done()) {
        pass_once(*gate, i < kWriters ? Access::kWrite : Access::kRead);
        ++shared_->passes[i];
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(join(child), 0);
  EXPECT_EQ(shared_->violations, 0);
}

TEST_F(GateTest, I1_ThreadsOfOneProcessExcludeEachOther) {
  auto gate = open();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 300; ++n) {
        pass_once(*gate, i % 2 == 0 ? Access::kWrite : Access::kRead);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(shared_->violations, 0);
}

TEST_F(GateTest, F18_EqualPidsInTwoPidNamespacesExcludeEachOther) {
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    children.push_back(spawn([&] {
      if (::unshare(CLONE_NEWPID) != 0) return 77;
      return join(spawn([&] {
        if (::getpid() != 1) return 3;
        auto gate = open();
        for (int n = 0; n < 300; ++n) pass_once(*gate, n % 3 == 0 ? Access::kRead : Access::kWrite);
        return 0;
      }));
    }));
  }
  bool skipped = false;
  for (const pid_t child : children) {
    const int status = join(child);
    skipped = skipped || status == 77;
    EXPECT_TRUE(status == 0 || status == 77) << status;
  }
  EXPECT_EQ(shared_->violations, 0);
  if (skipped) GTEST_SKIP() << "a PID namespace needs privileges that this process does not have";
}

TEST_F(GateTest, F5_L7_StoppedReaderIsNamed) {
  const pid_t reader = spawn([&] {
    auto gate = open();
    auto pass = must(gate->enter(Access::kRead));
    ::raise(SIGSTOP);
    return 0;
  });
  join_stopped(reader);
  auto gate = open();
  auto refused = gate->enter(Access::kWrite, 200);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kStoreBusy);
  EXPECT_THAT(refused.error().message, HasSubstr("pid " + std::to_string(reader) + " ("));
  EXPECT_TRUE(gate->enter(Access::kRead, 200)) << "a stopped reader keeps only writers out";
  ::kill(reader, SIGCONT);
  EXPECT_TRUE(gate->enter(Access::kWrite, 30'000));
  EXPECT_EQ(join(reader), 0);
}

TEST_F(GateTest, F5_L7_StoppedWriterIsNamedToWritersAndReaders) {
  const pid_t writer = spawn([&] {
    auto gate = open();
    auto pass = must(gate->enter(Access::kWrite));
    ::raise(SIGSTOP);
    return 0;
  });
  join_stopped(writer);
  auto gate = open();
  for (const Access access : {Access::kRead, Access::kWrite}) {
    auto refused = gate->enter(access, 200);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kStoreBusy);
    EXPECT_THAT(refused.error().message, HasSubstr("pid " + std::to_string(writer) + " ("));
  }
  ::kill(writer, SIGCONT);
  EXPECT_TRUE(gate->enter(Access::kWrite, 30'000));
  EXPECT_EQ(join(writer), 0);
}

// The one that waits behind a waiting writer must name the reader that both wait for.
TEST_F(GateTest, L7_CulpritBehindAWaitingWriterIsTheStoppedReader) {
  const pid_t reader = spawn([&] {
    auto gate = open();
    auto pass = must(gate->enter(Access::kRead));
    ::raise(SIGSTOP);
    return 0;
  });
  join_stopped(reader);
  const pid_t writer = spawn([&] {
    auto gate = open();
    return gate->enter(Access::kWrite, 20'000) ? 0 : 1;
  });
  auto gate = open();
  // Until the writer waits at the turnstile, a reader still gets in.
  Result<Gate::Pass> refused;
  for (;;) {
    refused = gate->enter(Access::kRead, 100);
    if (!refused) break;
    refused->leave();
    ::usleep(1000);
  }
  EXPECT_THAT(refused.error().message, HasSubstr("pid " + std::to_string(reader) + " ("));
  ::kill(reader, SIGKILL);
  join(reader);
  EXPECT_EQ(join(writer), 0);
}

TEST_F(GateTest, F2_L1_KilledInsideLetsTheWaiterIn) {
  for (int i = 0; i < 20; ++i) {
    Line inside;
    const pid_t victim = spawn([&] {
      auto gate = open();
      auto pass = must(gate->enter(Access::kWrite));
      inside.say();
      ::pause();
      return 0;
    });
    inside.hear();
    const pid_t waiter = spawn([&] {
      auto gate = open();
      return gate->enter(i % 2 == 0 ? Access::kWrite : Access::kRead, 30'000) ? 0 : 1;
    });
    ::kill(victim, SIGKILL);
    EXPECT_EQ(join(victim), 1000 + SIGKILL);
    EXPECT_EQ(join(waiter), 0);
  }
}

// As long as somebody makes progress a waiter waits on, however short its patience.
TEST_F(GateTest, L7_CrowdedIsNotBusy) {
  std::atomic<bool> stop = false;
  auto busy = open();
  std::thread crowd([&] {
    while (!stop) {
      auto pass = must(busy->enter(Access::kWrite));
      ::usleep(2000);
    }
  });
  auto gate = open();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(gate->enter(Access::kRead, 500));
  stop = true;
  crowd.join();
}

// Whoever makes a store syncs a dozen times inside, which takes long on a slow disk. Others have
// opened the gate before it had a page.
TEST(GateOfANewStore, L7_WhoeverMakesItIsNotStuckAndHasAName) {
  const TestFolder folder;
  const auto open = [&] { return must(Gate::open(folder.file("gate"), false, &kPolicy)); };
  auto first = open();
  auto pass = must(first->enter(Access::kWrite));
  for (const Access access : {Access::kRead, Access::kWrite}) {
    auto late = open();
    std::atomic<bool> refused = false;
    std::thread waiter([&] {
      const auto entered = late->enter(access, 500);
      EXPECT_FALSE(entered);
      if (!entered) {
        EXPECT_THAT(entered.error().message, HasSubstr("pid " + std::to_string(::getpid()) + " ("));
      }
      refused = true;
    });
    must(first->make_page());
    for (int i = 0; i < 200; ++i) {
      first->moved();
      EXPECT_FALSE(refused);
      ::usleep(10'000);
    }
    waiter.join();
  }
}

// Writers of one process line up among themselves: that one does not move is told all the same.
TEST_F(GateTest, L7_AThreadThatStaysInsideIsNamedToItsSiblings) {
  auto gate = open();
  auto inside = must(gate->enter(Access::kWrite));
  std::thread([&] {
    const auto pass = gate->enter(Access::kWrite, 50);
    ASSERT_FALSE(pass);
    EXPECT_EQ(pass.error().code, Code::kStoreBusy);
    EXPECT_THAT(pass.error().message, ::testing::HasSubstr("pid " + std::to_string(::getpid())));
  }).join();
  inside.leave();
  std::thread([&] { EXPECT_TRUE(gate->enter(Access::kWrite, 50)); }).join();
}

TEST_F(GateTest, L7_ManyWritersOfOneProcessAreCrowdedNotBusy) {
  auto gate = open();
  std::atomic<bool> stop = false;
  std::vector<std::thread> crowd;
  for (int i = 0; i < 8; ++i) {
    crowd.emplace_back([&] {
      while (!stop) {
        auto pass = must(gate->enter(Access::kWrite));
        ::usleep(2000);
      }
    });
  }
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(gate->enter(Access::kWrite, 500));
  stop = true;
  for (std::thread& thread : crowd) thread.join();
}

TEST_F(GateTest, F6_JobControlSignalsWaitUntilOutside) {
  Line still_inside;
  const pid_t child = spawn([&] {
    ::setpgid(0, 0);  // not an orphaned group: those ignore SIGTSTP
    auto gate = open();
    {
      auto pass = must(gate->enter(Access::kWrite));
      ::kill(::getpid(), SIGTSTP);
      still_inside.say();
    }
    return 5;
  });
  still_inside.hear();
  join_stopped(child);
  auto gate = open();
  EXPECT_TRUE(gate->enter(Access::kWrite, 30'000)) << "it stopped outside";
  ::kill(child, SIGCONT);
  EXPECT_EQ(join(child), 5);
}

TEST_F(GateTest, ForkedChildNeitherHoldsNorReleasesThePassage) {
  auto gate = open();
  auto pass = must(gate->enter(Access::kWrite));
  Line go;
  Line done;
  const pid_t child = spawn([&] {
    pass.leave();  // a copy: must not let others in
    done.say();
    go.hear();
    return 0;
  });
  done.hear();
  auto other = open();
  EXPECT_FALSE(other->enter(Access::kRead, 100));
  pass.leave();
  EXPECT_TRUE(other->enter(Access::kWrite, 30'000)) << "the child does not hold it";
  go.say();
  EXPECT_EQ(join(child), 0);
}

// The parent dies inside; its child, which never executed anything, lives on.
TEST_F(GateTest, L1_ChildOfADeadHolderDoesNotKeepTheGate) {
  Line ready;
  Line go;
  const pid_t parent = spawn([&] {
    auto gate = open();
    auto pass = must(gate->enter(Access::kWrite));
    spawn([&] {
      ready.say();
      go.hear();
      return 0;
    });
    ::pause();
    return 0;
  });
  ready.hear();
  ::kill(parent, SIGKILL);
  join(parent);
  auto gate = open();
  EXPECT_TRUE(gate->enter(Access::kWrite, 30'000));
  go.say();
}

// A passage of a deleted gate leads nowhere, whether or not a seat is left over from before.
TEST_F(GateTest, F15_DeletedIsNoticedByWhoeverNeedsASeatOfItsOwn) {
  auto gate = open();
  const auto first = must(gate->enter(Access::kRead));
  EXPECT_TRUE(first.in_place());
  ASSERT_EQ(::unlink(path().c_str()), 0);
  const auto second = gate->enter(Access::kRead);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_FALSE(second->in_place());
}

TEST_F(GateTest, F15_TruncatedOrReplacedIsNoticedWithoutASignal) {
  auto gate = open();
  EXPECT_TRUE(must(gate->enter(Access::kRead)).in_place());
  ASSERT_EQ(::truncate(path().c_str(), 0), 0);
  EXPECT_FALSE(must(gate->enter(Access::kRead)).in_place());
  EXPECT_FALSE(must(gate->enter(Access::kWrite)).in_place());
  {
    auto pass = must(gate->enter(Access::kWrite));
    must(gate->make_page());
  }
  EXPECT_TRUE(must(gate->enter(Access::kWrite)).in_place());
  ASSERT_EQ(::rename(path().c_str(), folder_.file("elsewhere").c_str()), 0);
  EXPECT_FALSE(must(gate->enter(Access::kWrite)).in_place());
  auto other = open();  // a new file under the old name
  EXPECT_FALSE(must(gate->enter(Access::kWrite)).in_place());
}

TEST_F(GateTest, SymlinkIsRefused) {
  ASSERT_EQ(::rename(path().c_str(), folder_.file("real").c_str()), 0);
  ASSERT_EQ(::symlink(folder_.file("real").c_str(), path().c_str()), 0);
  const auto gate = Gate::open(path(), false, &kPolicy);
  ASSERT_FALSE(gate);
  EXPECT_EQ(gate.error().code, Code::kStoreUnavailable);
}

}  // namespace
}  // namespace lockkeeper::kv::internal
