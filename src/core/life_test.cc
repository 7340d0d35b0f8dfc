// Rules 7 to 9: processes that die, orphans, and time.
#include <gmock/gmock.h>

#include "core/testing.h"

namespace lockkeeper::core {
namespace {

using testing::Contains;

class Life : public OnBothFlavours {
 protected:
  Lease attached(const Owner& owner, std::vector<Claim> claims, std::uint64_t slot,
                 std::int64_t grace_ms = 0) {
    AcquireRequest request = realm_.ask(owner, std::move(claims));
    request.attachment = process(slot);
    request.terms.orphan_grace_ms = grace_ms;
    request.terms.ttl_ms = 3'600'000;
    return realm_.granted(request);
  }
  bool is_free(std::string_view text) { return realm_.check(realm_.ask(kCat, {x(text)}))->free; }
};
class Rule07 : public Life {};
class Rule08 : public Life {};
class Rule09 : public Life {};
LOCKKEEPER_ON_BOTH_FLAVOURS(Rule07);
LOCKKEEPER_ON_BOTH_FLAVOURS(Rule08);
LOCKKEEPER_ON_BOTH_FLAVOURS(Rule09);

// --- rule 7 --------------------------------------------------------------------------------------

// The process of slot 7 dies as soon as somebody has looked.
class DyingProcess final : public Prober {
 public:
  Alive probe(const Attachment& attachment) const override {
    return attachment.slot != 7 || ++looks_ == 1 ? Alive::kAlive : Alive::kDead;
  }

 private:
  mutable int looks_ = 0;
};

TEST_P(Rule07, AProcessThatDiesMeanwhileIsOneThingInOneTransaction) {
  attached(kAnn, {x("a")}, 7);
  realm_.queued(kBob, {x("a")});
  const DyingProcess dying;
  for (const bool alive : {true, false}) {
    const auto txn = realm_.store().begin(kv::Access::kRead);
    ASSERT_TRUE(txn);
    const Context context{realm_.now(), realm_.store().epoch(), 77, &dying, realm_.limits};
    const auto told = Table(**txn, context).check(realm_.ask(kAnn, {x("a")}), 0, {});
    ASSERT_TRUE(told);
    // It holds what it asks for; or it does not, and stands behind the waiter.
    EXPECT_EQ(told->mine, alive);
    EXPECT_EQ(told->free, alive);
  }
}

TEST_P(Rule07, L1AnAttachedLeaseEndsWithItsProcess) {
  const Lease lease = attached(kAnnInS1, {x("a")}, 7);
  EXPECT_FALSE(is_free("a"));
  realm_.kill(7);
  EXPECT_TRUE(is_free("a"));
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kGranted);
  EXPECT_FALSE(realm_.holds(lease.id));
  EXPECT_THAT(realm_.story(), Contains("ended ann a [died]"));
}

TEST_P(Rule07, I5UnknownIsNeverDead) {
  const Lease lease = attached(kAnnInS1, {x("a")}, 7);
  realm_.prober.set(7, Alive::kUnknown);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  realm_.pass(3'600'000);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  EXPECT_TRUE(realm_.holds(lease.id));
  realm_.pass(1);  // its ttl still holds
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kGranted);
}

TEST_P(Rule07, I5ADetachedLeaseNeedsNoProcess) {
  realm_.granted(kAnnInS1, {x("a")});
  realm_.kill(0);
  EXPECT_FALSE(is_free("a"));
}

TEST_P(Rule07, AnAttachedLeaseEndsByItsLengthToo) {
  attached(kAnnInS1, {x("a")}, 7);
  realm_.pass(3'600'001);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kGranted);
  EXPECT_THAT(realm_.story(), Contains("expired ann a [expired]"));
}

TEST_P(Rule07, TheHolderOfADeadProcessCannotRenew) {
  const Lease lease = attached(kAnnInS1, {x("a")}, 7);
  realm_.kill(7);
  EXPECT_EQ(realm_.renew(kAnnInS1, lease.id, {}, process(8)).error().code, Code::kLost);
}

TEST_P(Rule07, AskingAgainAfterOnesProcessDiedIsANewGrant) {
  const Lease lease = attached(kAnnInS1, {x("a")}, 7);
  realm_.kill(7);
  const Lease next = attached(kAnnInS1, {x("a")}, 8);
  EXPECT_NE(next.id, lease.id);
  EXPECT_GT(next.fence(), lease.fence());
}

// --- rule 8 --------------------------------------------------------------------------------------

TEST_P(Rule08, GraceStartsAtTheCommitThatRecordsTheDeath) {
  const Lease lease = attached(kAnnInS1, {x("a")}, 7, 30'000);
  realm_.kill(7);
  realm_.pass(100'000);  // nobody looked meanwhile
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  EXPECT_EQ(realm_.lease(lease.id).orphaned_mono_ms, realm_.now().mono_ms);
  EXPECT_THAT(realm_.story(), Contains("orphaned ann a [died]"));
  realm_.pass(30'000);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  realm_.pass(1);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kGranted);
  EXPECT_THAT(realm_.story(), Contains("ended ann a [died]"));
}

TEST_P(Rule08, M7_TheGraceCountsFromTheFirstSight) {
  const Lease lease = attached(kAnnInS1, {x("a")}, 7, 30'000);
  realm_.kill(7);
  ASSERT_TRUE(realm_.run([&](Table& table) { return table.note_deaths({lease.id}); }));
  realm_.pass(30'001);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kGranted);
}

TEST_P(Rule08, M7_WithoutASessionNobodyComesBackSoThereIsNoGrace) {
  attached(kAnn, {x("a")}, 7, 30'000);
  realm_.kill(7);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kGranted);
}

TEST_P(Rule08, AnOrphanIsRecordedOnce) {
  attached(kAnnInS1, {x("a")}, 7, 30'000);
  realm_.kill(7);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  EXPECT_EQ(std::ranges::count(realm_.story(), "orphaned ann a [died]"), 1);
}

TEST_P(Rule08, TheSameKnownSessionReclaimsWithItsFence) {
  const Lease lease = attached(kAnnInS1, {x("a")}, 7, 30'000);
  realm_.kill(7);
  ASSERT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  const auto renewed = realm_.renew(kAnnInS1, lease.id, {}, process(8));
  ASSERT_TRUE(renewed.has_value()) << renewed.error().message;
  EXPECT_EQ(renewed->front().fence(), lease.fence());
  EXPECT_THAT(realm_.lease(lease.id).holds, testing::ElementsAre(process(8)));
  EXPECT_EQ(realm_.lease(lease.id).orphaned_mono_ms, 0);
  realm_.pass(60'000);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  EXPECT_THAT(realm_.story(), Contains("reclaimed ann a"));
}

TEST_P(Rule08, AskingForExactlyTheSameReclaims) {
  const Lease lease = attached(kAnnInS1, {x("a")}, 7, 30'000);
  realm_.kill(7);
  AcquireRequest request = realm_.ask(kAnnInS1, {x("a")});
  request.attachment = process(8);
  const auto reply = realm_.acquire(request);
  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(reply->outcome, Outcome::kRenewed);
  EXPECT_EQ(reply->lease.fence(), lease.fence());
}

TEST_P(Rule08, AnotherSessionOrNoneCannotReclaim) {
  const Lease lease = attached(kAnnInS1, {x("a")}, 7, 30'000);
  const Lease nameless = attached(kAnn, {x("b")}, 7, 30'000);
  realm_.kill(7);
  EXPECT_EQ(realm_.renew({"ann", "s2"}, lease.id, {}, process(8)).error().code, Code::kNotOwner);
  EXPECT_EQ(realm_.renew(kAnn, lease.id, {}, process(8)).error().code, Code::kNotOwner);
  // Two runs without a session cannot be told apart: this may be anybody.
  EXPECT_EQ(realm_.renew(kAnn, nameless.id, {}, process(8)).error().code, Code::kLost);
  EXPECT_EQ(realm_.renew(kAnnInS1, lease.id, {}, {}).error().code,
            Code::kLost);  // bound to nothing
}

TEST_P(Rule08, WhoCannotReclaimGetsALeaseOfItsOwnInstead) {
  // Nobody can take it back, so it ended with its process.
  const Lease orphan = attached(kAnn, {x("a")}, 7, 30'000);
  realm_.kill(7);
  AcquireRequest request = realm_.ask(kAnn, {x("a")});
  request.attachment = process(8);
  const auto reply = realm_.acquire(request);
  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(reply->outcome, Outcome::kGranted);
  EXPECT_GT(reply->lease.fence(), orphan.fence());
}

TEST_P(Rule08, WhoCannotSeeTheProcessHoldsToTheRecord) {
  const Lease lease = attached(kAnnInS1, {x("a")}, 7, 30'000);
  realm_.kill(7);
  ASSERT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);  // recorded
  realm_.prober.set(7, Alive::kUnknown);                                  // another container
  realm_.pass(30'001);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kGranted);
  EXPECT_FALSE(realm_.holds(lease.id));
}

TEST_P(Rule08, AReclaimFromWhereTheProcessCannotBeSeenCounts) {
  const Lease lease = attached(kAnnInS1, {x("a")}, 7, 30'000);
  realm_.kill(7);
  ASSERT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  realm_.prober.set(7, Alive::kUnknown);
  ASSERT_TRUE(realm_.renew(kAnnInS1, lease.id, {}, process(8)));
  realm_.pass(30'001);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  EXPECT_THAT(realm_.lease(lease.id).holds, testing::ElementsAre(process(8)));
}

TEST_P(Rule08, AfterTheGraceNobodyReclaims) {
  const Lease lease = attached(kAnnInS1, {x("a")}, 7, 30'000);
  realm_.kill(7);
  ASSERT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  realm_.pass(30'001);
  EXPECT_EQ(realm_.renew(kAnnInS1, lease.id, {}, process(8)).error().code, Code::kLost);
}

TEST_P(Rule08, AnOrphanFoundAliveAfterAllIsNoOrphan) {
  const Lease lease = attached(kAnnInS1, {x("a")}, 7, 30'000);
  realm_.kill(7);
  ASSERT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  realm_.prober.set(7, Alive::kAlive);
  realm_.pass(30'001);
  realm_.maintain();
  EXPECT_EQ(realm_.lease(lease.id).orphaned_mono_ms, 0);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
}

TEST_P(Rule08, TheLengthEndsAnOrphanInItsGraceToo) {
  const Lease lease = attached(kAnnInS1, {x("a")}, 7, 30'000);
  realm_.pass(3'590'000);
  realm_.kill(7);
  ASSERT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  realm_.pass(10'001);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kGranted);
  EXPECT_FALSE(realm_.holds(lease.id));
}

TEST_P(Rule08, WithoutGraceThereIsNoOrphan) {
  attached(kAnnInS1, {x("a")}, 7);
  realm_.kill(7);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kGranted);
  EXPECT_EQ(std::ranges::count(realm_.story(), "orphaned ann a [died]"), 0);
}

// --- rule 9 --------------------------------------------------------------------------------------

TEST_P(Rule09, I6ALeaseEndsStrictlyAfterItsLength) {
  realm_.granted(kAnnInS1, {x("a")});
  realm_.pass(60'000);
  realm_.maintain();
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  realm_.pass(1);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kGranted);
}

TEST_P(Rule09, I6TheWallClockDecidesNothing) {
  const Lease lease = realm_.granted(kAnnInS1, {x("a")});
  for (const std::int64_t wall : {std::int64_t{0}, std::int64_t{4'000'000'000'000}}) {
    realm_.set_wall(wall);
    realm_.maintain();
    EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  }
  EXPECT_TRUE(realm_.holds(lease.id));
}

TEST_P(Rule09, AnEndlessLeaseNeverEndsByTime) {
  AcquireRequest request = realm_.ask(kAnnInS1, {x("a")});
  request.terms.ttl_ms = kNoEnd;
  const Lease lease = realm_.granted(request);
  EXPECT_EQ(lease.expires_wall_ms, kNoEnd);
  realm_.pass(kLongestDurationMs);
  realm_.maintain();
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  realm_.reboot();
  realm_.pass(kLongestDurationMs);
  realm_.maintain();
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  ASSERT_TRUE(realm_.release(kAnnInS1, {"a"}));
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kGranted);
}

TEST_P(Rule09, AfterARebootAttachedLeasesEndWithThatCause) {
  attached(kAnnInS1, {x("a")}, 7, 30'000);
  realm_.reboot();
  EXPECT_TRUE(is_free("a"));
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kGranted);
  EXPECT_THAT(realm_.story(), Contains("ended ann a [reboot]"));
}

TEST_P(Rule09, I6AfterARebootADetachedLeaseHasItsFullLengthAgain) {
  const Lease lease = realm_.granted(kAnnInS1, {x("a")});
  realm_.pass(59'000);
  realm_.reboot();
  realm_.pass(60'000);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  EXPECT_EQ(realm_.lease(lease.id).fence(), lease.fence());
  realm_.pass(1);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kGranted);
}

TEST_P(Rule09, AfterARebootTheTimeShownIsTheNewOne) {
  const Lease lease = realm_.granted(kAnnInS1, {x("a")});
  realm_.pass(59'000);
  realm_.reboot();
  realm_.maintain();
  EXPECT_EQ(realm_.lease(lease.id).expires_wall_ms, realm_.now().wall_ms + 60'000);
}

TEST_P(Rule09, I3FencesGrowAcrossAReboot) {
  const Lease before = realm_.granted(kAnnInS1, {x("a")});
  realm_.reboot();
  const Lease after = realm_.granted(kBob, {x("b")});
  EXPECT_GT(after.fence(), before.fence());
  EXPECT_EQ(realm_.lease(before.id).fence(), before.fence());
  EXPECT_TRUE(realm_.check(realm_.ask(kAnnInS1, {x("a")}), before.fence())->fence_current);
}

TEST_P(Rule09, RenewalAfterARebootCountsOnTheNewClock) {
  const Lease lease = realm_.granted(kAnnInS1, {x("a")});
  realm_.reboot();
  realm_.pass(50'000);
  ASSERT_TRUE(realm_.renew(kAnnInS1, lease.id));
  realm_.pass(60'000);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  realm_.pass(1);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kGranted);
}

TEST_P(Rule09, AfterARebootTheQueueIsEmptyForEverybody) {
  realm_.granted(kAnnInS1, {x("a")});
  const Lease waiting = realm_.queued(kBob, {x("a"), x("b")});
  realm_.reboot();
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {x("b")})), Outcome::kGranted);
  EXPECT_FALSE(realm_.waits(waiting.id));
}

TEST_P(Rule09, AnUnconfirmedHandoffDoesNotSurviveAReboot) {
  realm_.granted(kAnnInS1, {x("a")});
  const Lease waiting = realm_.queued(kBob, {x("a")});
  ASSERT_TRUE(realm_.release(kAnnInS1, {"a"}));
  realm_.reboot();
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {x("a")})), Outcome::kGranted);
  EXPECT_FALSE(realm_.holds(waiting.id));
}

TEST_P(Rule09, UpkeepAfterARebootFilesEverythingUnderTheNewEpoch) {
  for (int i = 0; i < 30; ++i) realm_.granted(kAnnInS1, {x("f" + std::to_string(i))});
  realm_.reboot();
  realm_.maintain(7);
  for (const auto& [key, value] : realm_.rows()) {
    if (key.starts_with(kDuePrefix)) {
      EXPECT_EQ(read_due_key(key)->epoch, 2U);
    }
  }
  EXPECT_EQ(realm_.leases().size(), 30U);
}

}  // namespace
}  // namespace lockkeeper::core
