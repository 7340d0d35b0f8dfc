// Rule 5: what ends hands over, in order, in the same commit. Rule 10: whom to wake.
#include <gmock/gmock.h>

#include "core/testing.h"

namespace lockkeeper::core {
namespace {

using testing::Contains;
using testing::ElementsAre;

const Owner kEve{"eve", ""};

class Rule05 : public OnBothFlavours {
 protected:
  Owner reader(int number) const { return {"reader" + std::to_string(number), ""}; }

  std::vector<Lease> queue_readers(int count, const std::vector<Claim>& claims) {
    std::vector<Lease> waiting;
    for (int i = 0; i < count; ++i) waiting.push_back(realm_.queued(reader(i), claims));
    return waiting;
  }

  std::size_t held_of(const std::vector<Lease>& some) {
    std::size_t held = 0;
    for (const Lease& lease : some) held += realm_.holds(lease.id) ? 1U : 0U;
    return held;
  }
};
class Rule10 : public OnBothFlavours {};
LOCKKEEPER_ON_BOTH_FLAVOURS(Rule05);
LOCKKEEPER_ON_BOTH_FLAVOURS(Rule10);

TEST_P(Rule05, ReleaseHandsOverInTheSameCommit) {
  realm_.granted(kAnn, {x("a")});
  const Lease waiting = realm_.queued(kBob, {x("a")});
  const kv::Version before = realm_.store().version();
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  EXPECT_EQ(realm_.store().version(), before + 1);
  EXPECT_TRUE(realm_.holds(waiting.id));
  EXPECT_FALSE(realm_.waits(waiting.id));
}

TEST_P(Rule05, L4ConflictingWaitersAreServedInTheOrderTheyCame) {
  realm_.granted(kAnn, {x("a")});
  std::vector<Lease> waiting;
  // Names chosen so that neither their order nor that of their ids is the order of arrival.
  for (const char* name : {"zoe", "bob", "yan", "cat", "xia", "dan"}) {
    waiting.push_back(realm_.queued({name, ""}, {x("a")}));
  }
  Owner holder = kAnn;
  std::uint64_t fence = 0;
  for (const Lease& next : waiting) {
    ASSERT_TRUE(realm_.release(holder, {"a"}));
    ASSERT_TRUE(realm_.holds(next.id)) << next.owner.agent;
    EXPECT_EQ(realm_.leases().size(), 1U);
    EXPECT_GT(realm_.lease(next.id).fence(), fence);  // I3
    fence = realm_.lease(next.id).fence();
    holder = next.owner;
  }
}

TEST_P(Rule05, I1AllCompatibleSharedWaitersAreGrantedTogether) {
  realm_.granted(kAnn, {x("a")});
  const std::vector<Lease> readers = queue_readers(5, {s("a")});
  const Lease writer = realm_.queued(kBob, {x("a")});
  const Lease late = realm_.queued(kCat, {s("a")});
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  EXPECT_EQ(held_of(readers), 5U);
  EXPECT_FALSE(realm_.holds(writer.id));
  EXPECT_FALSE(realm_.holds(late.id));  // not past the writer
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(realm_.release(reader(i), {"a"}));
  EXPECT_TRUE(realm_.holds(writer.id));
  ASSERT_TRUE(realm_.release(kBob, {"a"}));
  EXPECT_TRUE(realm_.holds(late.id));
}

TEST_P(Rule05, OneCommitGrantsNoMoreThanItsLimitAndTheNextGoesOn) {
  realm_.granted(kAnn, {x("a")});
  const std::vector<Lease> readers = queue_readers(33, {s("a")});
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  const std::size_t first = held_of(readers);
  if (optimistic()) {
    EXPECT_GE(first, 1U);  // as many as the backend's budget takes
    EXPECT_LE(first, 32U);
  } else {
    EXPECT_EQ(first, 32U);
  }
  // Whoever comes next, for whatever reason.
  for (int i = 0; held_of(readers) < 33 && i < 40; ++i) {
    const std::size_t before = held_of(readers);
    realm_.granted(kBob, {x("other" + std::to_string(i))});
    EXPECT_GT(held_of(readers), before);
  }
  EXPECT_EQ(held_of(readers), 33U);
  // Nothing is left over to be done.
  for (const auto& [key, value] : realm_.rows()) {
    EXPECT_FALSE(key.starts_with(due_key(0, 0, Due::kHandoff, "")));
  }
}

TEST_P(Rule05, L4WhoIsLeftOverIsNotOvertakenByANewcomer) {
  realm_.limits.grants_per_commit = 2;
  realm_.granted(kAnn, {x("a")});
  queue_readers(5, {s("a")});
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  realm_.maintain();
  EXPECT_EQ(realm_.leases().size(), 5U);
}

TEST_P(Rule05, AWaiterFiledUnderAWaiterFollowsItIntoItsLease) {
  realm_.granted(kAnn, {x("a")});
  const Lease second = realm_.queued(kBob, {x("a"), x("b")});
  const Lease third = realm_.queued(kCat, {x("b")});
  EXPECT_EQ(realm_.waiter(third.id).blocker, second.id);
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  EXPECT_TRUE(realm_.holds(second.id));
  EXPECT_EQ(realm_.waiter(third.id).blocker, second.id);  // now a lease
  ASSERT_TRUE(realm_.release(kBob, {"a", "b"}));
  EXPECT_TRUE(realm_.holds(third.id));
}

TEST_P(Rule05, ACancelledPredecessorLetsItsFollowersThrough) {
  realm_.granted(kAnn, {x("a")});
  const Lease second = realm_.queued(kBob, {x("a"), x("b")});
  const Lease third = realm_.queued(kCat, {x("b")});
  const auto reply = realm_.cancel(second.id);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->outcome, Outcome::kHeld);
  EXPECT_THAT(holders(*reply), ElementsAre("lease ann: a"));
  EXPECT_TRUE(realm_.holds(third.id));
  EXPECT_FALSE(realm_.waits(second.id));
  EXPECT_EQ(realm_.poll(second.id).error().code, Code::kLost);
  EXPECT_EQ(realm_.cancel(second.id).error().code, Code::kLost);
}

TEST_P(Rule05, ACancelThatComesAfterTheGrantGivesTheGrant) {
  realm_.granted(kAnn, {x("a")});
  const Lease waiting = realm_.queued(kBob, {x("a")});
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  const auto reply = realm_.cancel(waiting.id);
  EXPECT_EQ(reply->outcome, Outcome::kGranted);
  EXPECT_TRUE(realm_.holds(waiting.id));
}

TEST_P(Rule05, L4CancelInTheMiddleKeepsTheOrderOfTheRest) {
  realm_.granted(kAnn, {x("a")});
  const Lease bob = realm_.queued(kBob, {x("a")});
  const Lease cat = realm_.queued(kCat, {x("a")});
  const Lease dan = realm_.queued(kDan, {x("a")});
  ASSERT_TRUE(realm_.cancel(cat.id));
  EXPECT_EQ(realm_.waiter(dan.id).blocker, bob.id);
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  EXPECT_TRUE(realm_.holds(bob.id));
  ASSERT_TRUE(realm_.release(kBob, {"a"}));
  EXPECT_TRUE(realm_.holds(dan.id));
}

TEST_P(Rule05, L6ADeadWaiterIsSkipped) {
  realm_.granted(kAnn, {x("a")});
  const AcquireRequest doomed = realm_.wait(kBob, {x("a")});
  const Lease second = realm_.queued(doomed);
  const Lease third = realm_.queued(kCat, {x("a")});
  realm_.kill(doomed.waiting_process.slot);
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  EXPECT_FALSE(realm_.holds(second.id));
  EXPECT_FALSE(realm_.waits(second.id));
  EXPECT_TRUE(realm_.holds(third.id));
}

TEST_P(Rule05, ADeadWaiterStandsInNobodysWay) {
  realm_.granted(kAnn, {x("a")});
  const AcquireRequest doomed = realm_.wait(kBob, {x("a"), x("b")});
  realm_.queued(doomed);
  realm_.kill(doomed.waiting_process.slot);
  EXPECT_TRUE(realm_.check(realm_.ask(kCat, {x("b")}))->free);
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {x("b")})), Outcome::kGranted);
  EXPECT_TRUE(realm_.waiters().empty());
}

TEST_P(Rule05, L6AHandoffUnconfirmedForTenSecondsIsWithdrawn) {
  realm_.granted(kAnn, {x("a")});
  const Lease second = realm_.queued(kBob, {x("a")});
  const Lease third = realm_.queued(kCat, {x("a")});
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  realm_.pass(10'000);
  realm_.maintain();
  EXPECT_TRUE(realm_.holds(second.id));  // not a millisecond early
  realm_.pass(1);
  realm_.maintain();
  EXPECT_FALSE(realm_.holds(second.id));
  EXPECT_TRUE(realm_.holds(third.id));
  EXPECT_EQ(realm_.poll(second.id).error().code, Code::kLost);
  EXPECT_THAT(realm_.story(), Contains("ended bob a [unconfirmed]"));
}

TEST_P(Rule05, L6AHandoffToAProcessThatThenDiedGoesOnAtOnce) {
  realm_.granted(kAnn, {x("a")});
  AcquireRequest doomed = realm_.wait(kBob, {x("a")});
  doomed.terms.orphan_grace_ms = 30'000;  // of the lease, which it never confirmed
  realm_.queued(doomed);
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  realm_.kill(doomed.waiting_process.slot);
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {x("a")})), Outcome::kGranted);
}

TEST_P(Rule05, L6_F3WhoeverOnlyLooksConfirmsNothing) {
  realm_.granted(kAnn, {x("a")});
  const AcquireRequest doomed = realm_.wait(kBob, {x("a")});
  const Lease waiting = realm_.queued(doomed);
  const Lease third = realm_.queued(kCat, {x("a")});
  EXPECT_EQ(realm_.poll(waiting.id, Table::Poll::kLooks)->outcome, Outcome::kQueued);
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  EXPECT_EQ(realm_.poll(waiting.id, Table::Poll::kLooks)->outcome, Outcome::kGranted);
  EXPECT_NE(realm_.lease(waiting.id).confirm_by_mono_ms, 0);
  realm_.kill(doomed.waiting_process.slot);
  EXPECT_EQ(realm_.poll(third.id)->outcome, Outcome::kGranted);
}

TEST_P(Rule05, I6TheLengthOfAConfirmedHandoffCountsFromItsConfirmation) {
  realm_.granted(kAnn, {x("a")});
  AcquireRequest request = realm_.wait(kBob, {x("a")});
  request.terms.ttl_ms = 2'000;
  const Lease waiting = realm_.queued(request);
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  realm_.pass(9'000);  // its ttl alone would be over by now
  const auto reply = realm_.poll(waiting.id);
  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(reply->outcome, Outcome::kGranted);
  realm_.kill(request.waiting_process.slot);  // confirmed: it is detached, as was asked
  realm_.pass(2'000);
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {x("a")})), Outcome::kHeld);
  realm_.pass(1);
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {x("a")})), Outcome::kGranted);
}

TEST_P(Rule05, AConfirmedHandoffIsBoundToWhatItsRequestNamed) {
  realm_.granted(kAnn, {x("a")});
  AcquireRequest request = realm_.wait(kBob, {x("a")});
  request.attachment = process(42);
  const Lease waiting = realm_.queued(request);
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  ASSERT_TRUE(realm_.poll(waiting.id));
  EXPECT_THAT(realm_.lease(waiting.id).holds, ElementsAre(process(42)));
  realm_.kill(request.waiting_process.slot);
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {x("a")})), Outcome::kHeld);
  realm_.kill(42);
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {x("a")})), Outcome::kGranted);
}

TEST_P(Rule05, PollAfterItsProcessDiedDoesNotRaiseAConfirmedLease) {
  realm_.granted(kAnn, {x("a")});
  AcquireRequest request = realm_.wait(kBob, {x("a")});
  request.attachment = process(42);
  const Lease waiting = realm_.queued(request);
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  ASSERT_TRUE(realm_.poll(waiting.id));
  realm_.kill(42);
  const auto reply = realm_.poll(waiting.id);
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, Code::kLost);
}

TEST_P(Rule05, AskingForExactlyAnUnconfirmedHandoffConfirmsIt) {
  realm_.granted(kAnn, {x("a")});
  const Lease waiting = realm_.queued(kBob, {x("a")});
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  const auto reply = realm_.acquire(realm_.ask(kBob, {x("a")}));
  EXPECT_EQ(reply->outcome, Outcome::kRenewed);
  realm_.pass(10'001);  // bob was told that he has it: it may not be withdrawn
  realm_.maintain();
  EXPECT_TRUE(realm_.holds(waiting.id));
}

TEST_P(Rule05, PartialReleaseHandsOver) {
  const Lease held = realm_.granted(kAnn, {x("a"), x("b")});
  const Lease first = realm_.queued(kBob, {x("a")});
  const Lease second = realm_.queued(kCat, {x("b")});
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  EXPECT_TRUE(realm_.holds(first.id));
  EXPECT_FALSE(realm_.holds(second.id));
  EXPECT_TRUE(realm_.holds(held.id));
  ASSERT_TRUE(realm_.release(kAnn, {"b"}));
  EXPECT_TRUE(realm_.holds(second.id));
}

TEST_P(Rule05, PartialReleaseToManyGoesOnInTheNextCommits) {
  realm_.auditing = false;
  const Lease held = realm_.granted(kAnn, {x("a"), x("b")});
  const std::vector<Lease> stay = queue_readers(70, {s("b")});
  std::vector<Lease> go;
  for (int i = 100; i < 170; ++i) go.push_back(realm_.queued(reader(i), {s("a")}));
  const auto reply = realm_.release(kAnn, {"a"});
  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  for (int i = 0; held_of(go) < go.size() && i < 100; ++i) {
    realm_.granted(kBob, {x("other" + std::to_string(i))});
  }
  EXPECT_EQ(held_of(go), go.size());
  EXPECT_EQ(held_of(stay), 0U);
  EXPECT_TRUE(realm_.holds(held.id));
  for (const auto& [key, value] : realm_.rows()) {
    EXPECT_FALSE(key.starts_with(due_key(0, 0, Due::kHandoff, "")));
  }
  realm_.audit();
}

TEST_P(Rule05, ExpiryHandsOver) {
  realm_.granted(kAnn, {x("a")});
  const Lease waiting = realm_.queued(kBob, {x("a")});
  realm_.pass(60'001);
  realm_.granted(kCat, {x("other")});  // whoever comes
  EXPECT_TRUE(realm_.holds(waiting.id));
}

TEST_P(Rule05, BreakHandsOver) {
  const Lease held = realm_.granted(kAnn, {x("a")});
  const Lease waiting = realm_.queued(kBob, {x("a")});
  ASSERT_TRUE(realm_.break_lease({.by = kCat, .reason = "stuck"}, held.id));
  EXPECT_TRUE(realm_.holds(waiting.id));
}

TEST_P(Rule05, DeathHandsOverWhenTheWaiterLooks) {
  AcquireRequest mortal = realm_.ask(kAnn, {x("a")});
  mortal.attachment = process(7);
  realm_.granted(mortal);
  const Lease waiting = realm_.queued(kBob, {x("a")});
  EXPECT_EQ(realm_.poll(waiting.id)->outcome, Outcome::kQueued);
  realm_.kill(7);
  EXPECT_EQ(realm_.poll(waiting.id)->outcome, Outcome::kGranted);
}

TEST_P(Rule05, L4TheFirstInLineGetsADeadHoldersResourceWhoeverFindsOut) {
  AcquireRequest mortal = realm_.ask(kAnn, {x("a")});
  mortal.attachment = process(7);
  realm_.granted(mortal);
  const Lease first = realm_.queued(kBob, {x("a")});
  const Lease second = realm_.queued(kCat, {x("a")});
  realm_.kill(7);
  EXPECT_EQ(realm_.poll(second.id)->outcome, Outcome::kQueued);
  EXPECT_TRUE(realm_.holds(first.id));
  EXPECT_EQ(realm_.outcome(realm_.ask(kDan, {x("a")})), Outcome::kHeld);
}

TEST_P(Rule05, ANewcomerThatFindsADeadHolderDoesNotBarge) {
  AcquireRequest mortal = realm_.ask(kAnn, {x("a")});
  mortal.attachment = process(7);
  realm_.granted(mortal);
  const Lease first = realm_.queued(kBob, {x("a")});
  realm_.kill(7);
  EXPECT_EQ(realm_.outcome(realm_.ask(kDan, {x("a")})), Outcome::kHeld);
  EXPECT_TRUE(realm_.holds(first.id));
}

TEST_P(Rule05, AWaiterWithSeveralBlockersMovesFromOneToTheNext) {
  realm_.granted(kAnn, {x("a")});
  realm_.granted(kBob, {x("b")});
  const Lease dan = realm_.granted(kDan, {x("c")});
  const Lease waiting = realm_.queued(kCat, {x("a"), x("b"), x("c")});
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  ASSERT_TRUE(realm_.release(kBob, {"b"}));
  EXPECT_EQ(realm_.waiter(waiting.id).blocker, dan.id);
  ASSERT_TRUE(realm_.release(kDan, {"c"}));
  EXPECT_TRUE(realm_.holds(waiting.id));
}

TEST_P(Rule05, L4AFollowerDoesNotPassAnEarlierWaiterThatItsBlockerNeverStoodBehind) {
  // Bob waits for a and b; eve, compatible with bob, gets in for c; dan stands behind both.
  realm_.granted(kAnn, {x("a")});
  const Lease bob = realm_.queued(kBob, {x("a"), x("b")});
  const Lease eve = realm_.granted(kEve, {x("c")});
  const Lease dan = realm_.queued(kDan, {x("b"), x("c")});
  EXPECT_FALSE(realm_.waiter(dan.id).alone && realm_.waiter(dan.id).blocker == eve.id);
  ASSERT_TRUE(realm_.release(kEve, {"c"}));
  EXPECT_FALSE(realm_.holds(dan.id));
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  EXPECT_TRUE(realm_.holds(bob.id));
  EXPECT_FALSE(realm_.holds(dan.id));
}

TEST_P(Rule05, L4AnOwnersSecondRequestDoesNotHideItsFirst) {
  // Bob has two requests in the queue. The later one is granted first, which is his own affair;
  // cat, who came after both, must still stand behind the earlier one.
  realm_.granted(kAnn, {x("a")});
  realm_.granted(kDan, {x("b")});
  const Lease early = realm_.queued(kBob, {x("a"), x("b")});
  const Lease late = realm_.queued(kBob, {x("a")});
  const Lease cat = realm_.queued(kCat, {x("a")});
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  ASSERT_TRUE(realm_.holds(late.id));
  ASSERT_TRUE(realm_.release(kBob, late.id));
  EXPECT_FALSE(realm_.holds(cat.id));
  ASSERT_TRUE(realm_.release(kDan, {"b"}));
  EXPECT_TRUE(realm_.holds(early.id));
  ASSERT_TRUE(realm_.release(kBob, early.id));
  EXPECT_TRUE(realm_.holds(cat.id));
}

TEST_P(Rule05, L4APassedWaiterIsNotPassedByThoseBehindThePasser) {
  // Ann holds a, bob waits for a and b, ann passes him for b; dan waits for b behind bob.
  realm_.granted(kAnn, {x("a")});
  const Lease bob = realm_.queued(kBob, {x("a"), x("b")});
  realm_.granted(kAnn, {x("b")});
  const Lease dan = realm_.queued(kDan, {x("b")});
  ASSERT_TRUE(realm_.release(kAnn, {"b"}));
  EXPECT_FALSE(realm_.holds(dan.id));
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  EXPECT_TRUE(realm_.holds(bob.id));
}

// By rule 2 a part does not stand behind its session, nor behind another part where the session
// holds what both want. When they can all be served, the order is that of the queue all the same,
// whatever their ids are.
TEST_P(Rule05, L4ASessionIsServedBeforeItsPartThatCameLater) {
  for (int i = 0; i < 8; ++i) {
    const std::string session = "s" + std::to_string(i);
    realm_.granted(kAnn, {x("a")});
    const Lease whole = realm_.queued({"bob", session}, {x("a")});
    const Lease part = realm_.queued({"bob", session + "/x"}, {x("a")});
    ASSERT_TRUE(realm_.release(kAnn, {"a"}));
    EXPECT_TRUE(realm_.holds(whole.id)) << session;
    EXPECT_TRUE(realm_.holds(part.id)) << session;
    ASSERT_TRUE(realm_.release(whole.owner, {"a"}));
    ASSERT_TRUE(realm_.release(part.owner, {"a"}));
  }
}

TEST_P(Rule05, L4PartsInWhatTheirSessionHoldsAreServedInTheOrderTheyCame) {
  for (int i = 0; i < 8; ++i) {
    const std::string session = "s" + std::to_string(i);
    realm_.granted({"bob", session}, {x("d/")});
    const Lease first = realm_.granted({"bob", session + "/x"}, {x("d/a")});
    const Lease second = realm_.queued({"bob", session + "/y"}, {x("d/a")});
    const Lease third = realm_.queued({"bob", session + "/z"}, {x("d/a")});
    ASSERT_TRUE(realm_.release(first.owner, {"d/a"}));
    EXPECT_TRUE(realm_.holds(second.id)) << session;
    EXPECT_FALSE(realm_.holds(third.id)) << session;
    ASSERT_TRUE(realm_.cancel(third.id));
    for (const char* part : {"", "/y", "/z"}) {
      for (const char* name : {"d/", "d/a"}) (void)realm_.release({"bob", session + part}, {name});
    }
    ASSERT_TRUE(realm_.leases().empty());
  }
}

TEST_P(Rule05, L4APartThatFindsAnExpiredLeaseIsNotServedBeforeItsSession) {
  realm_.granted(kAnn, {x("a")});
  const Lease whole = realm_.queued({"bob", "s"}, {x("a")});
  const Lease part = realm_.queued({"bob", "s/x"}, {x("a")});
  realm_.pass(60'001);
  ASSERT_EQ(realm_.poll(part.id)->outcome, Outcome::kGranted);
  EXPECT_TRUE(realm_.holds(whole.id));
}

TEST_P(Rule05, WhatAQuotaCheckClearsAwayIsHandedOver) {
  // Enough that ended before ann's leases to keep the sweep of one acquire busy.
  for (int i = 0; i < 6; ++i) {
    AcquireRequest brief = realm_.ask(kDan, {x("brief" + std::to_string(i))});
    brief.terms.ttl_ms = 1'000;
    realm_.granted(brief);
  }
  realm_.granted(kAnn, {x("a")});
  realm_.granted(kAnn, {x("b")});
  const Lease waiting = realm_.queued(kBob, {x("b")});
  AcquireRequest endless = realm_.ask(kCat, {x("c")});
  endless.terms.ttl_ms = kNoEnd;
  realm_.granted(endless);
  realm_.pass(60'001);
  realm_.limits.claims_per_agent = 2;
  EXPECT_EQ(realm_.outcome(realm_.wait(kAnn, {x("c")})), Outcome::kQueued);
  EXPECT_TRUE(realm_.holds(waiting.id));
}

TEST_P(Rule05, AWaiterKnowsWhatItStillWaitsFor) {
  realm_.granted(kAnn, {x("a")});
  realm_.granted(kBob, {x("b")});
  const Lease waiting = realm_.queued(kCat, {x("a"), x("b")});
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  const auto reply = realm_.poll(waiting.id);
  EXPECT_EQ(reply->outcome, Outcome::kQueued);
  EXPECT_THAT(holders(*reply), ElementsAre("lease bob: b"));
  EXPECT_EQ(reply->position, 1U);
}

TEST_P(Rule05, L4OrderHoldsForFoldersPatternsAndFiles) {
  realm_.granted(kAnn, {x("src/a.h")});
  const Lease glob = realm_.queued(kBob, {x("**/*.h")});
  const Lease folder = realm_.queued(kCat, {x("src/")});
  const Lease file = realm_.queued(kDan, {x("src/b.c")});
  const Lease other = realm_.queued(kEve, {x("lib/z.h")});
  ASSERT_TRUE(realm_.release(kAnn, {"src/a.h"}));
  EXPECT_TRUE(realm_.holds(glob.id));
  EXPECT_FALSE(realm_.holds(folder.id));
  EXPECT_FALSE(realm_.holds(file.id));
  ASSERT_TRUE(realm_.release(kBob, glob.id));
  EXPECT_TRUE(realm_.holds(folder.id));
  EXPECT_TRUE(realm_.holds(other.id));
  EXPECT_FALSE(realm_.holds(file.id));
  ASSERT_TRUE(realm_.release(kCat, folder.id));
  EXPECT_TRUE(realm_.holds(file.id));
}

TEST_P(Rule10, WhoIsGrantedOrDroppedIsWoken) {
  realm_.granted(kAnn, {x("a")});
  const AcquireRequest doomed = realm_.wait(kBob, {x("a")});
  realm_.queued(doomed);
  const AcquireRequest next = realm_.wait(kCat, {x("a")});
  realm_.queued(next);
  const AcquireRequest last = realm_.wait(kDan, {x("a")});
  realm_.queued(last);
  realm_.kill(doomed.waiting_process.slot);
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  EXPECT_THAT(realm_.woken, testing::UnorderedElementsAre(doomed.wake, next.wake));
}

TEST_P(Rule10, APollFindsAGrantThatNoWakeToldOf) {
  const Lease held = realm_.granted(kAnn, {x("a")});
  const Lease waiting = realm_.queued(kBob, {x("a")});
  realm_.pass(60'001);  // nobody ends ann's lease, nobody wakes bob
  EXPECT_EQ(realm_.poll(waiting.id)->outcome, Outcome::kGranted);
  EXPECT_FALSE(realm_.holds(held.id));
}

}  // namespace
}  // namespace lockkeeper::core
