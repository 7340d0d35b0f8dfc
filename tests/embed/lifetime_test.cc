// The ends: of leases, realms, processes, and children of them.
#include <gmock/gmock.h>

#include <csignal>
#include <thread>

#include "embed/scene.h"

namespace lockkeeper::stage {
namespace {

using namespace std::chrono_literals;

using Ends = EmbedTest;

TEST_F(Ends, ReleaseSaysWhatCameOfIt) {
  const Realm mine = realm();
  Lease lease = granted(mine, {"a"});
  EXPECT_TRUE(lease.release());
  stage_.expect(0, "other", {"acquire", "a"});
  const auto again = lease.release();
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kNotFound);
  const auto current = lease.check();
  ASSERT_FALSE(current);
  EXPECT_EQ(current.error().code, Code::kNotFound);
  EXPECT_FALSE(lease.lost());
}

TEST_F(Ends, AMovedLeaseIsHeldByItsNewObjectAlone) {
  const Realm mine = realm();
  std::optional<Lease> target = granted(mine, {"b"});
  {
    Lease lease = granted(mine, {"a"});
    *target = std::move(lease);
  }
  EXPECT_TRUE(target->is_current());
  stage_.expect(0, "other", {"check", "b"});
  stage_.expect(75, "other", {"check", "a"});
  target.reset();
  stage_.expect(0, "other", {"check", "a"});
}

TEST_F(Ends, DestroyingARealmEndsItsWaits) {
  stage_.expect(0, "other", {"acquire", "a"});
  std::optional<Realm> mine = realm();
  std::optional<Acquired> waited;
  std::jthread waiter([&, &asking = *mine] { waited = asking.acquire({"a"}, {.wait = kForever}); });
  ASSERT_TRUE(stage_.queue_grows_to(1));
  mine.reset();
  waiter.join();
  ASSERT_NE(waited->refusal(), nullptr);
  EXPECT_EQ(waited->refusal()->why, Refusal::Why::kCancelled);
  EXPECT_EQ(stage_.waiters(), 0U);
}

TEST_F(Ends, AskedForTwiceItIsReleasedWithTheLastObject) {
  const Realm mine = realm();
  std::optional<Lease> one = granted(mine, {"a"});
  std::optional<Lease> two = granted(mine, {"a"});
  EXPECT_EQ(one->id(), two->id());
  ASSERT_TRUE(one->release());
  EXPECT_FALSE(one->is_current()) << "this object has let go";
  EXPECT_TRUE(two->is_current());
  stage_.expect(75, "other", {"check", "a"});
  two.reset();
  stage_.expect(0, "other", {"check", "a"});
}

TEST_F(Ends, ALeaseTakenElsewhereInTheOwnersNameIsNotReleased) {
  stage_.expect(0, "shared", {"acquire", "a", "--session", "s"});
  auto mine = Realm::open({.path = stage_.repo(), .agent = "shared", .session = "s"});
  ASSERT_TRUE(mine);
  {
    const Lease lease = granted(*mine, {"a"});
    EXPECT_TRUE(lease.is_current());
  }
  stage_.expect(75, "other", {"check", "a"});
}

TEST_F(Ends, L1_AKilledHolderIsFreeAtOnce) {
  Process killed = holder("hold", "a", 1h);
  expect_says(killed, "granted");
  const Realm mine = realm();
  EXPECT_FALSE(mine.acquire({"a"}));
  std::optional<Acquired> waited;
  std::jthread waiter([&] { waited = mine.acquire({"a"}, {.wait = 60s}); });
  ASSERT_TRUE(stage_.queue_grows_to(1));
  killed.signal(SIGKILL);
  waiter.join();
  ASSERT_TRUE(*waited) << waited->error().message;
}

TEST_F(Ends, F3_L6_AKilledWaiterDoesNotHoldUpTheQueue) {
  const Realm mine = realm();
  std::optional<Lease> lease = granted(mine, {"a"});
  Process waiting = holder("wait", "a", 1h);
  ASSERT_TRUE(stage_.queue_grows_to(1));
  waiting.signal(SIGKILL);
  waiting.wait();
  lease.reset();
  EXPECT_TRUE(realm().acquire({"a"}, {.wait = 60s}));
}

TEST_F(Ends, AForkedChildHoldsNothingAndKeepsNothingAlive) {
  Process parent = holder("fork", "a", 1h);
  expect_says(parent, "child lost");
  EXPECT_EQ(act(parent, 1), "ok") << "the child's end of it did not touch the parent's";
  parent.signal(SIGKILL);  // the child lives on
  EXPECT_TRUE(realm().acquire({"a"}, {.wait = 60s}));
}

TEST_F(Ends, FaultsAreHandledUnlessThatIsDisabledBeforeTheFirstUse) {
  if (*LOCKKEEPER_SANITIZED != '\0') GTEST_SKIP() << "a sanitizer handles faults itself";
  Process handling = holder("faults", "a", 1min);
  EXPECT_EQ(handling.wait(), 0) << handling.err();
  EXPECT_THAT(handling.out(), testing::EndsWith("SIGSEGV handled\nSIGBUS handled\ntoo late\n"));
  Process disabled = holder("no-faults", "a", 1min);
  EXPECT_EQ(disabled.wait(), 0) << disabled.err();
  EXPECT_THAT(disabled.out(), testing::EndsWith("SIGSEGV default\nSIGBUS default\ndisabled\n"));
}

TEST_F(Ends, AProcessThatExitsWithLeasesLeavesNone) {
  for (const char* mode : {"exit", "leak"}) {
    Process process = holder(mode, "a", 1h);
    EXPECT_EQ(process.wait(), 0) << mode << "\n" << process.err();
    EXPECT_TRUE(realm().acquire({"a"})) << mode;
  }
}

}  // namespace
}  // namespace lockkeeper::stage
