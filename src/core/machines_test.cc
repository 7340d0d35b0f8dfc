// Several machines on one store (rules 7 and 9): each has a clock of its own, and hears only some
// of the processes.
#include <gmock/gmock.h>

#include "core/audit.h"
#include "core/machines_fixture.h"
#include "core/traces.h"

namespace lockkeeper::core {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::Not;

constexpr std::int64_t kMinuteMs = 60'000;

TEST_F(Machines, Rule09_I6_ALeaseEndsTheWholeTtlAfterItWasFirstSeen) {
  for (const std::size_t other : {1U, 2U}) {  // whose clock is far ahead, and behind
    const Lease lease = on(0).granted(kAnn, {x("a")});
    pass(30'000);
    EXPECT_TRUE(held(other));  // the first sight
    pass(kMinuteMs);
    EXPECT_TRUE(held(other));
    pass(1);
    const auto got = on(other).acquire(Realm::ask(kBob, {x("a")}));
    ASSERT_EQ(got->outcome, Outcome::kGranted);
    EXPECT_FALSE(on(other).holds(lease.id));
    ASSERT_TRUE(on(other).release(kBob, got->lease.id));
  }
}

TEST_F(Machines, Rule09_I6_WhoeverWroteItEndsItByItsOwnClock) {
  on(0).granted(kAnn, {x("a")});
  pass(30'000);
  EXPECT_TRUE(held(1));
  pass(30'000);
  EXPECT_TRUE(held(0));
  pass(1);
  EXPECT_TRUE(held(1));
  EXPECT_FALSE(held(0));
}

TEST_F(Machines, Rule09_I6_ARenewalIsSeenAnew) {
  const Lease lease = on(0).granted(kAnn, {x("a")});
  EXPECT_TRUE(held(1));
  pass(50'000);
  ASSERT_TRUE(on(0).renew(kAnn, lease.id));
  pass(5'000);
  EXPECT_TRUE(held(1));
  pass(kMinuteMs);
  EXPECT_TRUE(held(1));
  pass(1);
  EXPECT_FALSE(held(1));
}

// A renewal through another machine than the one that granted it.
TEST_F(Machines, Rule09_I6_ItIsRenewedWhereverItsOwnerIs) {
  const Lease lease = on(0).granted(kAnn, {x("a")});
  pass(50'000);
  ASSERT_TRUE(on(1).renew(kAnn, lease.id));
  EXPECT_EQ(realm_.lease(lease.id).fence(), lease.fence());
  pass(kMinuteMs);
  EXPECT_TRUE(held(0));
  EXPECT_TRUE(held(1));
  pass(1);
  EXPECT_TRUE(held(0));  // it has seen it only now
  EXPECT_FALSE(held(1));
}

// Whoever writes a row for another reason says what is left, not more.
TEST_F(Machines, Rule09_L2_WhatIsLeftIsPassedOn) {
  AcquireRequest request = Realm::ask(kAnn, {x("a")});
  request.attachment = process(1);
  const Lease lease = on(0).granted(request);
  request.attachment = process(2);
  request.terms.ttl_ms = 1;  // never shortens
  ASSERT_EQ(on(0).outcome(request), Outcome::kRenewed);
  pass(40'000);
  EXPECT_TRUE(held(1));
  pass(10'000);
  ASSERT_TRUE(
      on(1).run([&](Table& table) { return table.give_back(kAnn, {lease.id}, process(1)); }));
  pass(5'000);
  EXPECT_TRUE(held(2));  // 50 s are left: of the 60 since the first sight, 10 had passed
  pass(50'000);
  EXPECT_TRUE(held(2));
  pass(1);
  EXPECT_FALSE(held(2));
}

TEST_F(Machines, Rule09_L2_WhoeverWalksOnceASecondEndsWhatNobodyAsksFor) {
  const Lease lease = on(0).granted(kAnn, {x("a")});
  const Lease next = on(0).queued(kBob, {x("a")});
  machines_[0]->stop();
  on(1).maintain();  // sees it
  pass(kMinuteMs);
  on(1).maintain();
  EXPECT_TRUE(on(1).holds(lease.id));
  pass(Sightings::kWalkEveryMs);
  on(1).maintain();
  EXPECT_FALSE(on(1).holds(lease.id));
  EXPECT_TRUE(on(1).holds(next.id));
  EXPECT_THAT(realm_.story(), Contains("expired ann a [expired]"));
}

TEST_F(Machines, Rule09_I6_AMachineThatStartedAgainHasSeenNothing) {
  on(0).granted(kAnn, {x("a")});
  for (int boots = 0; boots < 3; ++boots) {
    EXPECT_TRUE(held(1));
    pass(kMinuteMs);
    machines_[1]->stop();
    machines_[1]->start(1'000'000'000);  // its clock says nothing
  }
  EXPECT_TRUE(held(1));
  pass(kMinuteMs + 1);
  EXPECT_FALSE(held(1));
}

TEST_F(Machines, Rule05_Rule09_AHandoffIsWithdrawnTheWholeTimeAfterItWasFirstSeen) {
  const Lease first = on(0).granted(kAnn, {x("a")});
  const Lease next = on(0).queued(kBob, {x("a")});
  ASSERT_TRUE(on(0).release(kAnn, first.id));
  pass(9'000);
  EXPECT_TRUE(held(1));
  pass(realm_.limits.confirm_ms);
  EXPECT_TRUE(held(1));
  EXPECT_TRUE(on(1).holds(next.id));
  pass(1);
  EXPECT_FALSE(held(1));
  EXPECT_THAT(realm_.story(), Contains("ended bob a [unconfirmed]"));
}

TEST_F(Machines, Rule05_Rule09_AHandoffIsConfirmedWhereItsWaiterIsNow) {
  const Lease first = on(0).granted(kAnn, {x("a")});
  const Lease next = on(0).queued(kBob, {x("a")});
  ASSERT_TRUE(on(0).release(kAnn, first.id));
  pass(9'000);
  ASSERT_EQ(on(1).poll(next.id)->outcome, Outcome::kGranted);
  pass(kMinuteMs);  // its ttl counts from there
  EXPECT_TRUE(held(1));
  pass(1);
  EXPECT_FALSE(held(1));
}

TEST_F(Machines, Rule08_Rule09_AGraceCountsFromItsFirstSight) {
  const Attachment one = begun(0, 77, 1);
  AcquireRequest request = kept_by(kAnnInS1, one);
  request.terms.orphan_grace_ms = 20'000;
  const Lease lease = on(0).granted(request);
  machines_[0]->prober.dead.insert(1);
  EXPECT_TRUE(held(0));  // records that it is gone
  EXPECT_THAT(realm_.story(), Contains("orphaned ann a [died]"));
  pass(15'000);
  EXPECT_TRUE(held(1));
  pass(20'000);
  EXPECT_TRUE(held(1));
  ASSERT_TRUE(takes_over(1, 77));
  const Attachment two = heard(1, 77, 2);
  ASSERT_TRUE(on(1).renew(kAnnInS1, lease.id, {}, two));
  EXPECT_THAT(realm_.story(), Contains("reclaimed ann a"));
  machines_[1]->prober.dead.insert(2);
  EXPECT_TRUE(held(1));
  pass(20'000);
  EXPECT_TRUE(held(1));
  pass(1);
  EXPECT_FALSE(held(1));
}

TEST_F(Machines, Rule16_Rule09_AnEditGivesWayTheWholeTimeAfterItWasFirstSeen) {
  on(0).granted(edit_of(kAnn, "c1"));
  pass(kUnreportedMs);
  EXPECT_TRUE(held(1));
  pass(kUnreportedMs);
  EXPECT_TRUE(held(1));
  pass(1);
  EXPECT_FALSE(held(1));
  EXPECT_THAT(realm_.story(), Contains("ended ann a [yielded]"));
}

TEST_F(Machines, Rule16_Rule09_ACallThatRunsCountsFromItsFirstSightToo) {
  on(0).granted(edit_of(kAnn, "c1"));
  ReportRequest work;
  work.owner = kAnn;
  work.done = {"c1"};
  work.begun = {"c2"};
  report(0, work);
  pass(100'000);
  EXPECT_TRUE(held(1));  // the first sight of the edit and of the call
  pass(kCallCountsMs);
  EXPECT_TRUE(held(1));
  pass(1);
  EXPECT_FALSE(held(1));
}

// What nobody asks about for long is not seen anew each time.
TEST_F(Machines, Rule16_L2_ACallIsNotSeenAnewWithEachLook) {
  on(0).granted(edit_of(kAnn, "c1"));
  ReportRequest work;
  work.owner = kAnn;
  work.done = {"c1"};
  work.begun = {"c2"};
  report(0, work);
  for (std::int64_t passed = 0; passed <= kCallCountsMs; passed += 10'000) {
    on(1).maintain();
    pass(10'000);
  }
  EXPECT_FALSE(held(1));
}

TEST_F(Machines, Rule12_L8_WhatIsRememberedIsForgottenByWhoeverIsLeft) {
  AcquireRequest request = Realm::ask(kAnn, {x("a")});
  request.terms.request_id = "r1";
  const Lease lease = on(0).granted(request);
  pass(kMinuteMs + 1);
  on(0).maintain();
  ASSERT_FALSE(on(0).holds(lease.id));
  report(0, [] {
    ReportRequest work;
    work.owner = kAnn;
    work.worktree = "/w";
    work.changed = {{"a", {1, 1, 1, 1}, ""}};
    return work;
  }());
  machines_[0]->stop();
  // Each is kept for its time by the clock that counts it, and once more where nobody knows when it
  // was written last.
  for (std::int64_t passed = 0; passed < 3 * kTraceKeptMs; passed += kDayMs / 8) {
    on(1).maintain();
    pass(kDayMs / 8);
    vanish();
  }
  on(1).maintain();
  for (const auto& [key, value] : realm_.rows()) {
    EXPECT_THAT(key.substr(0, 1), AnyOf("e", "t")) << testing::PrintToString(key);
  }
}

TEST_F(Machines, Rule12_I8_ARequestIsRememberedTheWholeDayOnEveryMachine) {
  AcquireRequest request = Realm::ask(kAnn, {x("a")});
  request.terms.request_id = "r1";
  const Lease lease = on(0).granted(request);
  ASSERT_TRUE(on(0).release(kAnn, lease.id));
  machines_[0]->stop();
  pass(kDayMs / 2);
  on(1).maintain();
  pass(kDayMs);
  on(1).maintain();
  EXPECT_EQ(on(1).acquire(request).error().code, Code::kLost);
  pass(1'001);
  on(1).maintain();
  EXPECT_EQ(on(1).outcome(request), Outcome::kGranted);
}

TEST_F(Machines, Rule09_I3_ANewEpochEndsWhatWasAttachedAndFencesGrow) {
  const Lease attached = on(0).granted(kept_by(kAnn, begun(0, 77, 1)));
  AcquireRequest other = Realm::ask(kBob, {x("b")});
  const Lease detached = on(0).granted(other);
  pass(50'000);
  realm_.store().begin_epoch({.id = 2, .fence_offset = 5'000'000});
  EXPECT_EQ(on(0).acquire(Realm::ask(kBob, {x("c")})).error().code, Code::kStoreUnavailable);
  for (const auto& machine : machines_) {
    machine->stop();
    machine->start(machine->mono_ms());
  }
  const auto got = on(1).acquire(Realm::ask(kCat, {x("a")}));
  ASSERT_EQ(got->outcome, Outcome::kGranted);
  EXPECT_GT(got->lease.fence(), std::max(attached.fence(), detached.fence()) + 1'000'000);
  EXPECT_THAT(realm_.story(), Contains("ended ann a [reboot]"));
  pass(kMinuteMs);  // the whole ttl again, from when the epoch was first seen
  EXPECT_EQ(on(1).outcome(Realm::ask(kCat, {x("b")})), Outcome::kHeld);
  pass(1);
  EXPECT_EQ(on(1).outcome(Realm::ask(kCat, {x("b")})), Outcome::kGranted);
}

TEST_F(Machines, Rule09_WhatIsListedSaysTheTimeThatIsLeftHere) {
  const Lease lease = on(0).granted(kAnn, {x("a")});
  pass(10'000);
  for (const std::size_t there : {0U, 1U}) {
    const auto conflict = on(there).check(Realm::ask(kCat, {x("a")}))->conflicts.front().holder;
    const std::int64_t left = conflict.deadline_mono_ms - machines_[there]->mono_ms();
    EXPECT_EQ(left, there == 0 ? 50'000 : kMinuteMs);
  }
  EXPECT_EQ(realm_.lease(lease.id).written.mono_ms, 5'000);
}

// Clocks whose rates differ: each end is right by the clock that decides it.
TEST_F(Machines, Rule09_I6_F9_ARateDecidesOnlyHowLate) {
  machines_.push_back(std::make_unique<Machine>(realm_.store(), 3'000, 900));
  machines_.push_back(std::make_unique<Machine>(realm_.store(), 3'000, 1'100));
  on(0).granted(kAnn, {x("a")});
  EXPECT_TRUE(held(3));
  EXPECT_TRUE(held(4));
  pass(54'545);
  EXPECT_TRUE(held(4));
  pass(10'000);
  EXPECT_TRUE(held(3));
  pass(2'121);
  EXPECT_TRUE(held(3));
  pass(3);
  EXPECT_FALSE(held(3));
}

// Where one clock counts for all, nothing says whose it is.
TEST_F(Machines, Rule09_WithOneClockRowsSayNothingOfClocks) {
  Realm alone(kv::Flavour::kOptimistic);
  const Lease lease = alone.granted(kAnn, {x("a")});
  EXPECT_EQ(alone.lease(lease.id).written, Stamp{});
  for (const auto& [key, value] : alone.rows()) EXPECT_THAT(key[0], Not('F'));
  EXPECT_EQ(lease.written, Stamp{});
}

TEST(SightingsTest, ARowIsSeenOnceUntilItIsWrittenAgain) {
  Sightings seen(7);
  EXPECT_EQ(seen.own_clock(), 7U);
  EXPECT_EQ(seen.first_sight("a", 5, 100), 100);
  EXPECT_EQ(seen.first_sight("a", 5, 200), 100);
  EXPECT_EQ(seen.first_sight("a", 6, 300), 300);
  // Read by a transaction that began earlier: it is no longer so, and never counts as older.
  EXPECT_EQ(seen.first_sight("a", 5, 400), 400);
  EXPECT_EQ(seen.first_sight("a", 6, 500), 300);
  EXPECT_EQ(seen.first_sight("b", 1, 600), 600);
}

TEST(SightingsTest, L8_WhatIsNotSeenForTwoRoundsIsForgotten) {
  Sightings seen(7);
  std::string from;
  seen.first_sight("gone", 1, 0);
  for (std::int64_t round = 0; round < 3; ++round) {
    const std::int64_t now = round * Sightings::kWalkEveryMs;
    ASSERT_TRUE(seen.begin_walk(now, from));
    EXPECT_EQ(from, "");
    EXPECT_EQ(seen.first_sight("kept", 1, now), 0);
    seen.end_walk("b");
    ASSERT_TRUE(seen.begin_walk(now, from));  // goes on within the round
    EXPECT_EQ(from, "b");
    seen.end_walk("");
    EXPECT_FALSE(seen.begin_walk(now + Sightings::kWalkEveryMs - 1, from));
  }
  EXPECT_EQ(seen.size(), 1U);
}

TEST(SightingsTest, L8_I6_BeyondTheBoundARowIsSeenForTheFirstTimeAgain) {
  Sightings seen(7, 2);
  seen.first_sight("a", 1, 0);
  seen.first_sight("b", 1, 0);
  EXPECT_EQ(seen.first_sight("c", 1, 10), 10);
  EXPECT_EQ(seen.first_sight("c", 1, 20), 20);
  EXPECT_EQ(seen.first_sight("a", 1, 20), 0);
  EXPECT_EQ(seen.size(), 2U);
}

// "None" stays none, and no time becomes none by accident.
TEST(SightingsTest, I6_TimesThatAreMovedNeverMeanNone) {
  Lease lease;
  lease.edit.emplace();
  move_times(lease, 50);
  EXPECT_EQ(lease.deadline_mono_ms, kNoEnd);
  EXPECT_EQ(lease.confirm_by_mono_ms, 0);
  EXPECT_EQ(lease.orphaned_mono_ms, 0);
  EXPECT_EQ(lease.edit->touched_mono_ms, 50);
  lease.deadline_mono_ms = lease.confirm_by_mono_ms = lease.orphaned_mono_ms = 100;
  move_times(lease, -101);
  EXPECT_EQ(lease.deadline_mono_ms, 0);
  EXPECT_EQ(lease.confirm_by_mono_ms, 1);
  EXPECT_EQ(lease.orphaned_mono_ms, -1);
  lease.orphaned_mono_ms = 100;
  move_times(lease, -100);
  EXPECT_EQ(lease.orphaned_mono_ms, 1);
  lease.terms.orphan_grace_ms = 5;
  lease.orphaned_mono_ms = -100;
  EXPECT_EQ(due_of(lease), 0);
}

}  // namespace
}  // namespace lockkeeper::core
