// check, list, renew and break_lease: the same tests on disk and in memory.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "embed/scene.h"

namespace lockkeeper::stage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

enum class Where { kDisk, kMemory };

class Query : public EmbedTest, public testing::WithParamInterface<Where> {
 protected:
  Realm realm(const std::string& agent = "embedder") const {
    if (GetParam() == Where::kDisk) return EmbedTest::realm(agent);
    return opened(memory_.open({.agent = agent}));
  }

  ManualClock clock_;
  MemoryRealm memory_{clock_};
};

INSTANTIATE_TEST_SUITE_P(Realms, Query, testing::Values(Where::kDisk, Where::kMemory),
                         [](const auto& where) {
                           return where.param == Where::kDisk ? "Disk" : "Memory";
                         });

TEST_P(Query, CheckSaysWhetherItIsFreeAndMine) {
  const Realm mine = realm("mine"), other = realm("other");
  const auto before = mine.check({"src/"});
  ASSERT_TRUE(before) << before.error().message;
  EXPECT_TRUE(before->free);
  EXPECT_FALSE(before->mine);
  EXPECT_FALSE(exists(stage_.store())) << "asking creates nothing";
  const Lease lease = granted(mine, {"src/"}, {.reason = "a rewrite"});
  EXPECT_TRUE(mine.check({"src/a.py"})->mine);
  EXPECT_TRUE(mine.check({"src/a.py"})->free);
  EXPECT_FALSE(mine.check({"src/a.py", "b"})->mine);
  const auto theirs = other.check({"src/a.py", "b"});
  ASSERT_TRUE(theirs);
  EXPECT_FALSE(theirs->free);
  EXPECT_FALSE(theirs->mine);
  ASSERT_THAT(theirs->conflicts, SizeIs(1));
  EXPECT_EQ(theirs->conflicts[0].agent, "mine");
  EXPECT_EQ(theirs->conflicts[0].held, "src/");
  EXPECT_EQ(theirs->conflicts[0].requested, "src/a.py");
  EXPECT_EQ(theirs->conflicts[0].reason, "a rewrite");
  EXPECT_EQ(theirs->conflicts[0].lease_id, lease.id());
}

TEST_P(Query, I4_CheckSaysWhetherAFenceIsCurrent) {
  const Realm mine = realm();
  std::optional<Lease> lease = granted(mine, {"src/"});
  const std::uint64_t fence = lease->fence();
  EXPECT_FALSE(mine.check({"src/"})->fence_current);
  EXPECT_TRUE(mine.check({"src/a.py"}, {.fence = fence})->fence_current);
  EXPECT_FALSE(mine.check({"src/a.py", "b"}, {.fence = fence})->fence_current);
  EXPECT_FALSE(mine.check({"src/a.py"}, {.fence = fence + 1})->fence_current);
  lease.reset();
  EXPECT_FALSE(mine.check({"src/a.py"}, {.fence = fence})->fence_current);
}

TEST_P(Query, CheckAsksForTheMode) {
  const Realm mine = realm("mine"), other = realm("other");
  const Lease lease = granted(mine, {"docs/"}, {.mode = Mode::kShared});
  EXPECT_TRUE(other.check({"docs/x"}, {.mode = Mode::kShared})->free);
  EXPECT_FALSE(other.check({"docs/x"})->free);
  EXPECT_TRUE(mine.check({"docs/x"}, {.mode = Mode::kShared})->mine);
  EXPECT_FALSE(mine.check({"docs/x"})->mine);
}

TEST_P(Query, CheckOfNothingOrNonsenseIsAnError) {
  EXPECT_EQ(realm().check({}).error().code, Code::kUsage);
  EXPECT_EQ(realm().check({""}).error().code, Code::kInvalidResource);
}

TEST_P(Query, ListGivesLeasesAndWaiters) {
  const Realm first = realm("first"), second = realm("second");
  EXPECT_THAT(first.list()->leases, IsEmpty());
  std::optional<Lease> held =
      granted(first, {"src/", "db:migration-slot"}, {.ttl = 10min, .reason = "why", .task = "T-1"});
  const Lease shared = granted(second, {"docs/"}, {.mode = Mode::kShared, .ttl = kForever});
  std::jthread waiter([&] {
    EXPECT_TRUE(
        second.acquire({"src/a.py"}, {.wait = kForever, .reason = "me too", .task = "T-2"}));
  });
  await_waiters(first, 1);

  const auto all = first.list();
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_THAT(all->leases, SizeIs(2));
  const bool ordered = all->leases[0].agent == "first";
  const LeaseInfo& one = all->leases[ordered ? 0 : 1];
  const LeaseInfo& two = all->leases[ordered ? 1 : 0];
  EXPECT_EQ(one.id, held->id());
  EXPECT_EQ(one.agent, "first");
  EXPECT_EQ(one.session, first.session());
  EXPECT_THAT(one.claims, testing::UnorderedElementsAre(Claim{"src/"}, Claim{"db:migration-slot"}));
  EXPECT_EQ(one.fence, held->fence());
  EXPECT_EQ(one.reason, "why");
  EXPECT_EQ(one.task, "T-1");
  EXPECT_EQ(one.ttl, 10min);
  EXPECT_EQ(one.until, one.since + 10min);
  EXPECT_EQ(one.alive, Alive::kYes);
  EXPECT_THAT(two.claims, ElementsAre(Claim{"docs/", Mode::kShared}));
  EXPECT_EQ(two.ttl, std::nullopt);
  EXPECT_EQ(two.until, std::nullopt);

  ASSERT_THAT(all->waiters, SizeIs(1));
  const WaiterInfo& waiting = all->waiters[0];
  EXPECT_EQ(waiting.agent, "second");
  EXPECT_EQ(waiting.session, second.session());
  EXPECT_THAT(waiting.claims, ElementsAre(Claim{"src/a.py"}));
  EXPECT_EQ(waiting.reason, "me too");
  EXPECT_EQ(waiting.task, "T-2");
  EXPECT_EQ(waiting.waits_for, held->id());
  EXPECT_GE(waiting.since, one.since);
  held.reset();
}

TEST_P(Query, ListCanBeNarrowed) {
  const Realm first = realm("first"), second = realm("second");
  const Lease a = granted(first, {"src/"}, {.task = "T-1"});
  const Lease b = granted(second, {"docs/x"});
  const auto ids = [&](const ListOptions& options) {
    std::vector<std::string> found;
    const auto listing = first.list(options);
    EXPECT_TRUE(listing) << listing.error().message;
    for (const LeaseInfo& lease : listing->leases) found.push_back(lease.id);
    return found;
  };
  EXPECT_THAT(ids({}), SizeIs(2));
  EXPECT_THAT(ids({.agent = "second"}), ElementsAre(b.id()));
  EXPECT_THAT(ids({.task = "T-1"}), ElementsAre(a.id()));
  EXPECT_THAT(ids({.overlapping = "src/deep/er.h"}), ElementsAre(a.id()));
  EXPECT_THAT(ids({.overlapping = "**/x"}), ElementsAre(testing::_, testing::_));
  EXPECT_THAT(ids({.agent = "second", .overlapping = "src/"}), IsEmpty());
  EXPECT_EQ(first.list({.overlapping = "../.."}).error().code, Code::kInvalidResource);
}

TEST_P(Query, RenewGivesWhatWasRenewed) {
  const Realm mine = realm("mine");
  const Lease lease = granted(mine, {"src/"}, {.ttl = 1min});
  const Lease second = granted(mine, {"b"}, {.ttl = 1min});
  const auto same = mine.renew({"src/"});
  ASSERT_TRUE(same) << same.error().message;
  ASSERT_THAT(*same, SizeIs(1));
  EXPECT_EQ(same->front().id, lease.id());
  EXPECT_EQ(same->front().ttl, 1min);
  EXPECT_EQ(same->front().fence, lease.fence());
  EXPECT_EQ(same->front().alive, Alive::kYes);

  const auto longer = mine.renew({}, {.ttl = 1h, .lease_ids = {lease.id()}});
  ASSERT_TRUE(longer) << longer.error().message;
  EXPECT_EQ(longer->front().ttl, 1h);
  EXPECT_EQ(lease.ttl(), 1h);
  EXPECT_EQ(second.ttl(), 1min);
  EXPECT_GT(*longer->front().until, *same->front().until + 50min);
  EXPECT_EQ(mine.renew({"src/"}, {.ttl = 1s})->front().until, longer->front().until)
      << "a lease is never shortened";
  EXPECT_EQ(lease.ttl(), 1h);

  EXPECT_THAT(*mine.renew({}, {.all = true}), SizeIs(2));
  EXPECT_EQ(mine.renew({"b"}, {.ttl = kForever})->front().ttl, std::nullopt);
  EXPECT_EQ(second.ttl(), std::nullopt);
}

TEST_P(Query, RenewOfWhatIsNotHeldIsAnError) {
  const Realm mine = realm("mine"), other = realm("other");
  Lease lease = granted(mine, {"a"});
  EXPECT_EQ(mine.renew({}).error().code, Code::kUsage);
  EXPECT_EQ(mine.renew({"b"}).error().code, Code::kNotFound);
  EXPECT_EQ(mine.renew({}, {.lease_ids = {"nonsense"}}).error().code, Code::kNotFound);
  EXPECT_EQ(mine.renew({"a"}, {.ttl = -1s}).error().code, Code::kInvalidInput);
  EXPECT_EQ(mine.renew({"a"}, {.ttl = 24h * 365}).error().code, Code::kLimitExceeded);
  EXPECT_EQ(other.renew({"a"}).error().code, Code::kNotFound);
  EXPECT_EQ(other.renew({}, {.lease_ids = {lease.id()}}).error().code, Code::kNotOwner);
  ASSERT_TRUE(other.break_lease(lease.id(), "why not"));
  EXPECT_EQ(mine.renew({}, {.lease_ids = {lease.id()}}).error().code, Code::kLost);
}

TEST_P(Query, BreakLeaseEndsItForItsHolder) {
  const Realm mine = realm("mine"), lead = realm("lead");
  Lease lease = granted(mine, {"a"}, {.task = "T-1"});
  const auto broken = lead.break_lease(lease.id(), "taking over");
  ASSERT_TRUE(broken) << broken.error().message;
  EXPECT_EQ(broken->id, lease.id());
  EXPECT_EQ(broken->agent, "mine");
  EXPECT_EQ(broken->task, "T-1");
  EXPECT_THAT(broken->claims, ElementsAre(Claim{"a"}));
  EXPECT_TRUE(lead.check({"a"})->free);
  EXPECT_THAT(lead.list()->leases, IsEmpty());
  EXPECT_EQ(lease.check().error().code, Code::kLost);
  EXPECT_EQ(lease.release().error().code, Code::kLost);
  if (GetParam() == Where::kDisk) {
    EXPECT_THAT(stage_.json("lead", {"log"}).out, HasSubstr("taking over")) << "it is on record";
  }
}

TEST_P(Query, BreakLeaseNeedsAReasonAndALease) {
  const Realm mine = realm("mine"), lead = realm("lead");
  const Lease lease = granted(mine, {"a"});
  EXPECT_EQ(lead.break_lease(lease.id(), "").error().code, Code::kUsage);
  EXPECT_EQ(lead.break_lease("nonsense", "why").error().code, Code::kNotFound);
  EXPECT_EQ(lead.break_lease("", "why").error().code, Code::kNotFound);
  EXPECT_EQ(lead.break_lease(std::string(32, '0'), "why").error().code, Code::kNotFound);
  EXPECT_TRUE(lease.is_current());
}

TEST_P(Query, WarningsAreAboutTheRequest) {
  const Realm mine = realm();
  const Acquired known = mine.acquire({"feature:login:pause"});
  ASSERT_TRUE(known) << known.error().message;
  EXPECT_THAT(known.warnings(), IsEmpty());
  const Acquired unknown = mine.acquire({"feature:login:nonsense"});
  ASSERT_TRUE(unknown) << unknown.error().message;
  EXPECT_THAT(unknown.warnings(), SizeIs(1));
}

TEST_P(Query, AForkedChildIsToldThatTheRealmIsNotItsOwn) {
  const Realm mine = realm();
  const Lease lease = granted(mine, {"a"});
  const pid_t child = ::fork();
  if (child == 0) {
    const bool refused = mine.check({"a"}).error().code == Code::kLost &&
                         mine.list().error().code == Code::kLost &&
                         mine.renew({"a"}).error().code == Code::kLost &&
                         mine.break_lease(lease.id(), "why").error().code == Code::kLost;
    ::_exit(refused ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(lease.is_current());
}

}  // namespace
}  // namespace lockkeeper::stage
