// The realm in memory: what is the same as on disk, and what its clock does to waits.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>
#include <thread>

#include "embed/realms.h"

namespace lockkeeper::stage {
namespace {

using testing::ElementsAre;
using namespace std::chrono_literals;

using Memory = MemoryTest;

TEST_F(Memory, AWaitEndsByTheClock) {
  const Realm first = realm("first"), second = realm("second");
  const Lease lease = granted(first, {"a"}, {.ttl = kForever});
  std::optional<Acquired> waited;
  std::jthread waiter([&] { waited = second.acquire({"a"}, {.wait = 1min}); });
  await_waiters(first, 1);
  clock_.advance(1min - 1ms);
  EXPECT_EQ(first.list()->waiters.size(), 1U);
  clock_.advance(1ms);
  waiter.join();
  ASSERT_NE(waited->refusal(), nullptr);
  EXPECT_EQ(waited->refusal()->why, Refusal::Why::kTimeout);
  EXPECT_TRUE(first.list()->waiters.empty());
}

TEST_F(Memory, I3_L4_AWaiterGetsWhatExpires) {
  const Realm first = realm("first"), second = realm("second");
  const Lease lease = granted(first, {"a"}, {.ttl = 1min});
  std::optional<Acquired> waited;
  std::jthread waiter([&] { waited = second.acquire({"a"}, {.wait = kForever}); });
  await_waiters(first, 1);
  clock_.advance(1min);
  EXPECT_TRUE(lease.lost());
  clock_.advance(1ms);  // a lease is over after its end
  waiter.join();
  ASSERT_TRUE(*waited) << waited->error().message;
  EXPECT_GT((*waited)->fence(), lease.fence());
}

TEST_F(Memory, L4_AWaiterGetsWhatIsReleased) {
  const Realm first = realm("first"), second = realm("second");
  std::optional<Lease> lease = granted(first, {"a"});
  std::optional<Acquired> waited;
  std::jthread waiter([&] { waited = second.acquire({"a"}, {.wait = kForever}); });
  await_waiters(first, 1);
  lease.reset();
  waiter.join();
  EXPECT_TRUE(*waited);
}

TEST_F(Memory, AWaitIsCancelled) {
  const Realm first = realm("first"), second = realm("second");
  const Lease lease = granted(first, {"a"});
  std::stop_source stop;
  std::optional<Acquired> waited;
  std::jthread waiter(
      [&] { waited = second.acquire({"a"}, {.wait = kForever, .cancel = stop.get_token()}); });
  await_waiters(first, 1);
  stop.request_stop();
  waiter.join();
  ASSERT_NE(waited->refusal(), nullptr);
  EXPECT_EQ(waited->refusal()->why, Refusal::Why::kCancelled);
}

TEST_F(Memory, L5_ADeadlockIsFoundWhileTheClockStands) {
  const Realm one = realm("one"), two = realm("two");
  std::optional<Lease> a = granted(one, {"a"});
  const Lease b = granted(two, {"b"});
  std::jthread waiter([&] { EXPECT_TRUE(two.acquire({"a"}, {.wait = kForever})); });
  await_waiters(one, 1);
  const Acquired refused = one.acquire({"b"}, {.wait = kForever});
  ASSERT_NE(refused.refusal(), nullptr);
  EXPECT_EQ(refused.refusal()->why, Refusal::Why::kDeadlock);
  a.reset();
}

TEST_F(Memory, I1_ThreadsExcludeEachOther) {
  constexpr int kThreads = 4;
  constexpr int kTurns = 100;
  std::atomic<int> inside = 0;
  int turns = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, mine = realm()] {
        for (int turn = 0; turn < kTurns; ++turn) {
          const Acquired lease = mine.acquire({"a"}, {.wait = kForever});
          ASSERT_TRUE(lease) << lease.error().message;
          EXPECT_EQ(inside++, 0);
          ++turns;
          EXPECT_EQ(--inside, 0);
        }
      });
    }
  }
  EXPECT_EQ(turns, kThreads * kTurns);
}

TEST_F(Memory, NamesMeanWhatTheySay) {
  const Realm mine = realm(), other = realm("other");
  EXPECT_EQ(mine.root(), "/");
  // A folder of the disk, but nobody has written it as one.
  EXPECT_THAT(granted(mine, {"tmp"}).resources(), ElementsAre("tmp"));
  EXPECT_THAT(granted(mine, {"/src/./a.cc"}).resources(), ElementsAre("src/a.cc"));
  EXPECT_THAT(granted(mine, {"/"}).resources(), ElementsAre("./"));
  EXPECT_THAT(granted(mine, {"db:migration-slot"}).resources(), ElementsAre("db:migration-slot"));
  const Lease lease = granted(mine, {"src/**/*.h"});
  EXPECT_FALSE(other.acquire({"src/a/b.h"}));
  EXPECT_TRUE(other.acquire({"src/a/b.cc"}));
  EXPECT_EQ(mine.acquire({"../x"}).error().code, Code::kInvalidResource);
}

TEST_F(Memory, TimesAreThoseOfTheClock) {
  const Realm first = realm("first"), second = realm("second");
  const Lease lease = granted(first, {"a"}, {.ttl = 10min});
  clock_.advance(1min);
  const Acquired refused = second.acquire({"a"});
  ASSERT_NE(refused.refusal(), nullptr);
  const Conflict& conflict = refused.refusal()->conflicts.at(0);
  EXPECT_EQ(conflict.since, clock_.now() - 1min);
  EXPECT_EQ(conflict.until, clock_.now() + 9min);
  EXPECT_EQ(conflict.alive, Alive::kYes);
}

TEST_F(Memory, TwoRealmsOfOneClockAreTwoTables) {
  const MemoryRealm elsewhere(clock_);
  const Lease here = granted(realm(), {"a"}, {.ttl = 1min});
  const Lease there = granted(opened(elsewhere.open()), {"a"}, {.ttl = 1min});
  clock_.advance(1min);
  EXPECT_TRUE(here.lost());
  EXPECT_TRUE(there.lost());
}

TEST_F(Memory, IdentityIsThatOfTheOptions) {
  ::setenv("LOCKKEEPER_AGENT", "somebody", 1);
  ::setenv("LOCKKEEPER_SESSION", "sometime", 1);
  const Realm plain = opened(memory_.open());
  ::unsetenv("LOCKKEEPER_AGENT");
  ::unsetenv("LOCKKEEPER_SESSION");
  EXPECT_EQ(plain.agent(), "embedder");
  EXPECT_NE(plain.session(), "sometime");
  EXPECT_NE(plain.session(), realm().session());
  const Realm named = opened(memory_.open({.agent = "a", .session = "s"}));
  EXPECT_EQ(named.agent(), "a");
  EXPECT_EQ(named.session(), "s");
  EXPECT_EQ(memory_.open({.path = "."}).error().code, Code::kInvalidInput);
  EXPECT_EQ(memory_.open({.store = "lmdb:"}).error().code, Code::kInvalidInput);
  EXPECT_EQ(memory_.open({.agent = "\n"}).error().code, Code::kInvalidInput);
}

TEST_F(Memory, ALeaseTakenElsewhereInTheOwnersNameIsNotReleased) {
  const Realm one = opened(memory_.open({.agent = "a", .session = "s"}));
  const Realm two = opened(memory_.open({.agent = "a", .session = "s"}));
  const Lease lease = granted(one, {"a"});
  {
    const Lease same = granted(two, {"a"});
    EXPECT_EQ(same.id(), lease.id());
  }
  EXPECT_TRUE(lease.is_current());
}

TEST_F(Memory, LeasesOutliveTheClockAndTheRealm) {
  std::optional<Lease> lease;
  {
    ManualClock clock;
    const MemoryRealm memory(clock);
    lease = granted(opened(memory.open()), {"a"});
  }
  EXPECT_TRUE(lease->is_current());
  EXPECT_TRUE(lease->release());
}

TEST_F(Memory, MakesNoFiles) {
  const Lease lease = granted(realm(), {"a"});
  EXPECT_NE(::access(realm().store().c_str(), F_OK), 0);
}

}  // namespace
}  // namespace lockkeeper::stage
