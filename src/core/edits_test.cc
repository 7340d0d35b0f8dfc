// Rules 15 and 16: worktrees, and the edits of coding agents.
#include <gmock/gmock.h>

#include "core/testing.h"

namespace lockkeeper::core {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Then = ReportRequest::Then;

const Owner kClaude{"claude", "s"};
const Owner kPart{"claude", "s/1"};
const Owner kOtherPart{"claude", "s/2"};

class Edits : public OnBothFlavours {
 protected:
  static AcquireRequest edit(const Owner& owner, std::vector<Claim> claims, std::string call,
                             std::string worktree = "/w") {
    AcquireRequest request = Realm::ask(owner, std::move(claims));
    request.call = std::move(call);
    request.terms.worktree = std::move(worktree);
    request.terms.ttl_ms = 24 * 3'600'000;
    request.attachment = process(7);
    return request;
  }
  static AcquireRequest in(std::string worktree, const Owner& owner, std::vector<Claim> claims) {
    AcquireRequest request = Realm::ask(owner, std::move(claims));
    request.terms.worktree = std::move(worktree);
    return request;
  }
  ReportReply report(const ReportRequest& request) {
    const auto reply = realm_.run([&](Table& table) { return table.report(request); });
    EXPECT_TRUE(reply.has_value());
    return reply ? *reply : ReportReply{};
  }
  static ReportRequest of(const Owner& owner) {
    ReportRequest request;
    request.owner = owner;
    return request;
  }
  ReportReply done(const Owner& owner, std::string call) {
    ReportRequest request = of(owner);
    request.done = {std::move(call)};
    return report(request);
  }
  ReportReply failed(const Owner& owner, std::string call) {
    ReportRequest request = of(owner);
    request.failed = {std::move(call)};
    return report(request);
  }
  ReportReply begun(const Owner& owner, std::string call) {
    ReportRequest request = of(owner);
    request.begun = {std::move(call)};
    return report(request);
  }
  ReportReply ends(const Owner& owner, Then then) {
    ReportRequest request = of(owner);
    request.then = then;
    return report(request);
  }
  Lease confirmed(const Owner& owner, std::string_view path, const std::string& call = "c") {
    const Lease lease = realm_.granted(edit(owner, {x(path)}, call));
    done(owner, call);
    return lease;
  }
  Outcome bob_asks(std::string_view path) {
    const AcquireReply reply = *realm_.acquire(Realm::ask(kBob, {x(path)}));
    if (reply.outcome == Outcome::kGranted) {
      EXPECT_TRUE(realm_.release(kBob, {path}).has_value());
    }
    return reply.outcome;
  }
};

class Rule15 : public Edits {};
LOCKKEEPER_ON_BOTH_FLAVOURS(Rule15);

TEST_P(Rule15, TwoWorktreesDoNotExcludeEachOther) {
  realm_.granted(in("/w", kAnn, {x("a")}));
  const AcquireReply reply = *realm_.acquire(in("/v", kBob, {x("a")}));
  EXPECT_EQ(reply.outcome, Outcome::kGranted);
  ASSERT_THAT(reply.elsewhere, SizeIs(1));
  EXPECT_EQ(reply.elsewhere.front().holder.owner, kAnn);
  EXPECT_EQ(realm_.outcome(in("/w", kBob, {x("a")})), Outcome::kHeld);
}

TEST_P(Rule15, I1WithoutAWorktreeALeaseCoversAllOfThem) {
  const Lease all = realm_.granted(kAnn, {x("src/")});
  EXPECT_EQ(realm_.outcome(in("/w", kBob, {x("src/a")})), Outcome::kHeld);
  ASSERT_TRUE(realm_.release(kAnn, all.id).has_value());
  realm_.granted(in("/w", kBob, {x("src/a")}));
  EXPECT_EQ(realm_.outcome(Realm::ask(kAnn, {x("src/")})), Outcome::kHeld);
}

TEST_P(Rule15, I8ALeaseOfAWorktreeIsNoRenewalForAnother) {
  const Lease here = realm_.granted(in("/w", kAnn, {x("a")}));
  EXPECT_EQ(realm_.acquire(in("/w", kAnn, {x("a")}))->outcome, Outcome::kRenewed);
  const AcquireReply there = *realm_.acquire(in("/v", kAnn, {x("a")}));
  EXPECT_EQ(there.outcome, Outcome::kGranted);
  EXPECT_NE(there.lease.id, here.id);
  EXPECT_EQ(realm_.acquire(Realm::ask(kAnn, {x("a")}))->outcome, Outcome::kGranted);
}

TEST_P(Rule15, ACheckForAllWorktreesIsNotMineByALeaseOfOne) {
  realm_.granted(in("/w", kAnn, {x("a")}));
  EXPECT_TRUE(realm_.check(in("/w", kAnn, {x("a")}))->mine);
  EXPECT_FALSE(realm_.check(in("/v", kAnn, {x("a")}))->mine);
  EXPECT_FALSE(realm_.check(Realm::ask(kAnn, {x("a")}))->mine);
  EXPECT_FALSE(realm_.check(in("/w", kBob, {x("a")}))->free);
  EXPECT_TRUE(realm_.check(in("/v", kBob, {x("a")}))->free);
}

// What covers one worktree does not let its owner past those who wait for all of them.
TEST_P(Rule15, L4AClaimOfAWorktreeDoesNotCoverOneForAll) {
  realm_.granted(in("/w", kAnn, {s("a")}));
  const Lease cat = realm_.granted(in("/v", kCat, {s("a")}));
  AcquireRequest waiting = realm_.wait(kBob, {x("a")});
  waiting.terms.worktree = "/v";
  realm_.queued(waiting);
  EXPECT_EQ(realm_.outcome(Realm::ask(kAnn, {s("a")})), Outcome::kHeld);
  EXPECT_EQ(realm_.acquire(in("/w", kAnn, {s("a")}))->outcome, Outcome::kRenewed);
  EXPECT_TRUE(realm_.holds(cat.id));
}

TEST_P(Rule15, L4WaitersOfTwoWorktreesDoNotStandBehindEachOther) {
  const Lease first = realm_.granted(in("/w", kAnn, {x("a")}));
  AcquireRequest bob = realm_.wait(kBob, {x("a")});
  bob.terms.worktree = "/w";
  const Lease waits = realm_.queued(bob);
  EXPECT_EQ(realm_.outcome(in("/v", kCat, {x("a")})), Outcome::kGranted);
  ASSERT_TRUE(realm_.release(kAnn, first.id).has_value());
  EXPECT_TRUE(realm_.holds(waits.id));
}

TEST_P(Rule15, L4ALeaseOfAWorktreeLetsItsOwnerPassNobodyInAnother) {
  realm_.granted(in("/w", kAnn, {x("a")}));
  realm_.granted(in("/v", kCat, {x("a")}));
  AcquireRequest waiting = realm_.wait(kBob, {x("a"), x("b")});
  waiting.terms.worktree = "/v";
  realm_.queued(waiting);
  EXPECT_EQ(realm_.outcome(in("/v", kAnn, {x("b")})), Outcome::kHeld);
  EXPECT_EQ(realm_.outcome(in("/w", kAnn, {x("b")})), Outcome::kGranted);
}

class Rule16 : public Edits {};
LOCKKEEPER_ON_BOTH_FLAVOURS(Rule16);

TEST_P(Rule16, I1AnEditIsAsExclusiveAsAnyLease) {
  const Lease lease = realm_.granted(edit(kClaude, {x("a"), x("b")}, "c1"));
  EXPECT_EQ(bob_asks("a"), Outcome::kHeld);
  done(kClaude, "c1");
  EXPECT_EQ(bob_asks("b"), Outcome::kHeld);
  EXPECT_TRUE(realm_.lease(lease.id).edit->confirmed);
}

TEST_P(Rule16, I8TheSameCallIsClaimedOnce) {
  const Lease first = realm_.granted(edit(kClaude, {x("a")}, "c1"));
  const AcquireReply again = *realm_.acquire(edit(kClaude, {x("a")}, "c1"));
  EXPECT_EQ(again.outcome, Outcome::kRenewed);
  EXPECT_EQ(again.lease.id, first.id);
  EXPECT_THAT(realm_.lease(first.id).edit->calls, ElementsAre("c1"));
  EXPECT_THAT(realm_.leases(), SizeIs(1));
}

TEST_P(Rule16, ACallThatFailedLeavesNothingBehind) {
  realm_.granted(edit(kClaude, {x("a")}, "c1"));
  EXPECT_THAT(failed(kClaude, "c1").ended, ElementsAre("a"));
  EXPECT_THAT(realm_.leases(), IsEmpty());
  EXPECT_THAT(realm_.notices(kClaude), IsEmpty());
}

TEST_P(Rule16, AFailedCallDoesNotUndoAnEarlierOne) {
  const Lease lease = confirmed(kClaude, "a");
  EXPECT_EQ(realm_.acquire(edit(kClaude, {x("a")}, "c2"))->outcome, Outcome::kRenewed);
  EXPECT_THAT(failed(kClaude, "c2").ended, IsEmpty());
  EXPECT_TRUE(realm_.holds(lease.id));
}

TEST_P(Rule16, WhenABatchIsOverWhatWasNotReportedFailed) {
  const Lease kept = realm_.granted(edit(kClaude, {x("a")}, "c1"));
  realm_.granted(edit(kClaude, {x("b")}, "c2"));
  ReportRequest batch = of(kClaude);
  batch.done = {"c1"};
  batch.no_call_left = true;
  EXPECT_THAT(report(batch).ended, ElementsAre("b"));
  EXPECT_TRUE(realm_.holds(kept.id));
}

TEST_P(Rule16, ANewTurnShowsThatEarlierCallsWereInterrupted) {
  realm_.granted(edit(kClaude, {x("a")}, "c1"));
  ReportRequest turn = of(kClaude);
  turn.turn_begins = true;
  EXPECT_THAT(report(turn).ended, ElementsAre("a"));
}

TEST_P(Rule16, I7AnUnreportedCallGivesWayAfterAMinute) {
  const Lease lease = realm_.granted(edit(kClaude, {x("a")}, "c1"));
  realm_.pass(kUnreportedMs);
  EXPECT_EQ(bob_asks("a"), Outcome::kHeld);
  realm_.pass(1);
  EXPECT_TRUE(realm_.holds(lease.id));  // nobody asked
  EXPECT_EQ(bob_asks("a"), Outcome::kGranted);
  const std::vector<LostLease> notices = realm_.notices(kClaude);
  ASSERT_THAT(notices, SizeIs(1));
  EXPECT_EQ(notices.front().cause, "yielded");
  EXPECT_EQ(notices.front().by, kBob);
}

TEST_P(Rule16, I7AConfirmedEditGivesWayAfterFiveMinutesWithoutACall) {
  confirmed(kClaude, "a");
  realm_.pass(kUntouchedMs);
  EXPECT_EQ(bob_asks("a"), Outcome::kHeld);
  realm_.pass(1);
  EXPECT_TRUE(realm_.check(Realm::ask(kBob, {x("a")}))->free);
  EXPECT_EQ(bob_asks("a"), Outcome::kGranted);
  EXPECT_THAT(realm_.notices(kClaude), SizeIs(1));
}

TEST_P(Rule16, ACallOfTheOwnerKeepsItsEditsForTenMinutes) {
  confirmed(kClaude, "a");
  begun(kClaude, "make");
  realm_.pass(kCallCountsMs);
  EXPECT_EQ(bob_asks("a"), Outcome::kHeld);
  realm_.pass(1);
  EXPECT_EQ(bob_asks("a"), Outcome::kGranted);
}

TEST_P(Rule16, WhenThatCallIsDoneTheEditIsOnItsOwn) {
  confirmed(kClaude, "a");
  begun(kClaude, "make");
  realm_.pass(kUntouchedMs + 1);
  EXPECT_EQ(bob_asks("a"), Outcome::kHeld);
  done(kClaude, "make");
  EXPECT_EQ(bob_asks("a"), Outcome::kGranted);
}

TEST_P(Rule16, AnotherCallOnTheFileKeepsTheEdit) {
  confirmed(kClaude, "a");
  realm_.pass(kUntouchedMs);
  EXPECT_EQ(realm_.acquire(edit(kClaude, {x("a")}, "c2"))->outcome, Outcome::kRenewed);
  done(kClaude, "c2");
  realm_.pass(kUntouchedMs);
  EXPECT_EQ(bob_asks("a"), Outcome::kHeld);
}

TEST_P(Rule16, L4WhoeverIsIdleGivesWayAtOnce) {
  const Lease lease = confirmed(kClaude, "a");
  const Lease waits = realm_.queued(kBob, {x("a")});
  ends(kClaude, Then::kIdle);
  EXPECT_FALSE(realm_.holds(lease.id));
  EXPECT_TRUE(realm_.holds(waits.id));
}

TEST_P(Rule16, WhoeverWorksAgainIsNotIdle) {
  confirmed(kClaude, "a");
  ends(kClaude, Then::kIdle);
  begun(kClaude, "make");
  EXPECT_EQ(bob_asks("a"), Outcome::kHeld);
}

// Nobody is thrown out for somebody who does not get it.
TEST_P(Rule16, I2AnEditGivesWayOnlyToWhoeverThenGetsAll) {
  const Lease lease = confirmed(kClaude, "a");
  realm_.granted(kCat, {x("b")});
  realm_.pass(kUntouchedMs + 1);
  AcquireRequest both = Realm::ask(kBob, {x("a"), x("b")});
  both.terms.ttl_ms = 3'600'000;
  EXPECT_EQ(realm_.outcome(both), Outcome::kGranted);  // cat's minute is over
  EXPECT_FALSE(realm_.holds(lease.id));
}

TEST_P(Rule16, I2AnEditStaysIfSomethingElseIsInTheWay) {
  const Lease lease = confirmed(kClaude, "a");
  AcquireRequest long_held = Realm::ask(kCat, {x("b")});
  long_held.terms.ttl_ms = 3'600'000;
  const Lease cat = realm_.granted(long_held);
  realm_.pass(kUntouchedMs + 1);
  EXPECT_EQ(realm_.outcome(Realm::ask(kBob, {x("a"), x("b")})), Outcome::kHeld);
  const Lease waits = realm_.queued(kBob, {x("a"), x("b")});
  EXPECT_TRUE(realm_.holds(lease.id));
  ASSERT_TRUE(realm_.release(kCat, cat.id).has_value());
  EXPECT_TRUE(realm_.holds(waits.id));
  EXPECT_FALSE(realm_.holds(lease.id));
}

TEST_P(Rule16, L4AWaiterIsServedWhenItsTurnToLookComes) {
  const Lease lease = confirmed(kClaude, "a");
  const Lease waits = realm_.queued(kBob, {x("a")});
  realm_.pass(kUntouchedMs + 1);
  EXPECT_EQ(realm_.poll(waits.id)->outcome, Outcome::kGranted);
  EXPECT_FALSE(realm_.holds(lease.id));
}

TEST_P(Rule16, L4AnEditThatGivesWayLetsItsOwnerPassNobody) {
  confirmed(kClaude, "a");
  AcquireRequest firm = Realm::ask(kCat, {x("b")});
  firm.terms.ttl_ms = 3'600'000;
  realm_.granted(firm);
  realm_.pass(kUntouchedMs + 1);
  realm_.queued(kBob, {x("a"), x("b"), x("c")});
  EXPECT_EQ(realm_.outcome(in("/w", kClaude, {x("a")})), Outcome::kHeld);
  EXPECT_EQ(realm_.outcome(Realm::ask(kClaude, {x("c")})), Outcome::kHeld);
  begun(kClaude, "make");
  EXPECT_EQ(realm_.outcome(Realm::ask(kClaude, {x("c")})), Outcome::kGranted);
}

TEST_P(Rule16, I1AnEditThatIsHandedOverGivesWayToNobody) {
  const Lease cat = realm_.granted(kCat, {x("a")});
  ends(kClaude, Then::kIdle);
  AcquireRequest request = realm_.wait(kClaude, {x("a")});
  request.call = "c1";
  const Lease waits = realm_.queued(request);
  ASSERT_TRUE(realm_.release(kCat, cat.id).has_value());
  EXPECT_EQ(bob_asks("a"), Outcome::kHeld);
  EXPECT_EQ(realm_.poll(waits.id)->outcome, Outcome::kGranted);
}

TEST_P(Rule16, ItEndsWithTheTurn) {
  confirmed(kClaude, "a");
  realm_.granted(edit(kClaude, {x("b")}, "c2"));
  const Lease on_purpose = realm_.granted(kClaude, {x("c")});
  EXPECT_THAT(ends(kClaude, Then::kTurnOver).ended, SizeIs(2));
  EXPECT_EQ(bob_asks("a"), Outcome::kGranted);
  EXPECT_TRUE(realm_.holds(on_purpose.id));
  EXPECT_THAT(realm_.notices(kClaude), IsEmpty());
}

TEST_P(Rule16, I5ItEndsWithItsClient) {
  confirmed(kClaude, "a");
  realm_.kill(7);
  EXPECT_EQ(bob_asks("a"), Outcome::kGranted);
}

TEST_P(Rule16, ALeaseOnPurposeIsAnotherLease) {
  AcquireRequest on_purpose = Realm::ask(kClaude, {x("a")});
  on_purpose.terms.worktree = "/w";
  const Lease first = realm_.granted(on_purpose);
  const Lease second = realm_.granted(edit(kClaude, {x("a")}, "c1"));
  EXPECT_NE(first.id, second.id);
  failed(kClaude, "c1");
  EXPECT_TRUE(realm_.holds(first.id));
  EXPECT_FALSE(realm_.holds(second.id));
}

TEST_P(Rule16, TwoPartsOfASessionExcludeEachOther) {
  confirmed(kPart, "a");
  EXPECT_EQ(realm_.outcome(edit(kOtherPart, {x("a")}, "d")), Outcome::kHeld);
  confirmed(kClaude, "b");
  EXPECT_EQ(realm_.outcome(edit(kPart, {x("b")}, "d")), Outcome::kGranted);
}

TEST_P(Rule16, WhatAPartLeavesIsItsSessions) {
  const Lease lease = confirmed(kPart, "a");
  realm_.granted(edit(kPart, {x("b")}, "unreported"));
  ends(kPart, Then::kPassedOn);
  EXPECT_FALSE(realm_.holds(lease.id));
  EXPECT_EQ(bob_asks("a"), Outcome::kHeld);
  EXPECT_EQ(bob_asks("b"), Outcome::kGranted);
  EXPECT_EQ(realm_.outcome(edit(kOtherPart, {x("a")}, "d")), Outcome::kGranted);
  EXPECT_THAT(realm_.notices(kPart), IsEmpty());
  ends(kClaude, Then::kTurnOver);
  EXPECT_THAT(realm_.leases(), IsEmpty());
}

TEST_P(Rule16, I3WhatIsPassedOnHasAGreaterFence) {
  const Lease lease = confirmed(kPart, "a");
  ends(kPart, Then::kPassedOn);
  const std::vector<Lease> left = realm_.leases();
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_EQ(left.front().owner, kClaude);
  EXPECT_GT(left.front().fence(), lease.fence());
  EXPECT_TRUE(left.front().edit->confirmed);
}

TEST_P(Rule16, PassedOnToASessionThatHasTheSameItIsOne) {
  confirmed(kClaude, "a");
  confirmed(kPart, "a");
  ends(kPart, Then::kPassedOn);
  EXPECT_THAT(realm_.leases(), SizeIs(1));
}

// An agent's session has let in the parts of another agent's, but not that one itself.
TEST_P(Rule16, I1NotPassedOnToWhomTheHolderHasNotLetIn) {
  const Lease host = realm_.granted({"bob", "s"}, {x("a")});
  confirmed(kPart, "a");
  EXPECT_THAT(ends(kPart, Then::kPassedOn).ended, ElementsAre("a"));
  ASSERT_THAT(realm_.leases(), SizeIs(1));
  EXPECT_TRUE(realm_.holds(host.id));
}

TEST_P(Rule16, L4WaitersStayInOrderWhenAnEditIsPassedOn) {
  confirmed(kPart, "a");
  const Lease waits = realm_.queued(kBob, {x("a")});
  ends(kPart, Then::kPassedOn);
  EXPECT_TRUE(realm_.waits(waits.id));
  ends(kClaude, Then::kTurnOver);
  EXPECT_TRUE(realm_.holds(waits.id));
}

TEST_P(Rule16, ATurnEndsWhatItsPartsLeftBehind) {
  confirmed(kPart, "a");
  confirmed({"claude", "s/1/x"}, "b");
  EXPECT_THAT(ends(kClaude, Then::kTurnOver).ended, SizeIs(2));
  EXPECT_THAT(realm_.leases(), IsEmpty());
}

TEST_P(Rule16, APartWithPartsPassesEverythingOn) {
  confirmed({"claude", "s/1/x"}, "b");
  confirmed(kPart, "a");
  ends(kPart, Then::kPassedOn);
  for (const Lease& lease : realm_.leases()) EXPECT_EQ(lease.owner, kClaude);
  EXPECT_THAT(realm_.leases(), SizeIs(2));
}

TEST_P(Rule16, ManyEditsEndInSeveralCommits) {
  realm_.limits.ends_per_commit = 3;
  for (int i = 0; i < 10; ++i) confirmed(kPart, "f" + std::to_string(i));
  EXPECT_THAT(realm_.leases(), SizeIs(10));
  ends(kClaude, Then::kTurnOver);
  EXPECT_THAT(realm_.leases(), IsEmpty());
}

TEST_P(Rule16, L5AnEditThatIsTouchedAgainWakesWhoeverMustLookForACycle) {
  confirmed(kClaude, "a");
  AcquireRequest firm = Realm::ask(kBob, {x("b")});
  firm.terms.ttl_ms = 3'600'000;
  realm_.granted(firm);
  AcquireRequest claude = realm_.wait(kClaude, {x("b")});
  claude.wake = 77;
  realm_.queued(claude);
  realm_.pass(kUntouchedMs + 1);
  begun(kClaude, "make");
  EXPECT_THAT(realm_.woken, Contains(77));
}

TEST_P(Rule16, L5ACycleThroughEditsIsRefused) {
  confirmed(kClaude, "a");
  AcquireRequest firm = Realm::ask(kBob, {x("b")});
  firm.terms.ttl_ms = 3'600'000;
  realm_.granted(firm);
  realm_.queued(kBob, {x("a")});
  AcquireRequest closes = realm_.wait(kClaude, {x("b")});
  EXPECT_EQ(realm_.outcome(closes), Outcome::kDeadlock);
}

TEST_P(Rule16, AHandoffGivesItsCallAFreshMinute) {
  const Lease cat = realm_.granted(kCat, {x("a")});
  AcquireRequest request = realm_.wait(kClaude, {x("a")});
  request.call = "c1";
  request.attachment = process(7);
  const Lease waits = realm_.queued(request);
  realm_.pass(50'000);
  ASSERT_TRUE(realm_.release(kCat, cat.id).has_value());
  EXPECT_EQ(realm_.poll(waits.id)->outcome, Outcome::kGranted);
  realm_.pass(kUnreportedMs);
  EXPECT_EQ(bob_asks("a"), Outcome::kHeld);
}

TEST_P(Rule16, F11AfterARebootNobodyKeepsAnEdit) {
  AcquireRequest detached = edit(kClaude, {x("a")}, "c1");
  detached.attachment = {};
  realm_.granted(detached);
  done(kClaude, "c1");
  realm_.reboot();
  // A check carries nothing over into this boot.
  EXPECT_TRUE(realm_.check(Realm::ask(kBob, {x("a")}))->free);
  EXPECT_EQ(bob_asks("a"), Outcome::kGranted);
}

TEST_P(Rule16, L8ACrowdOfUnreportedCallsIsLimited) {
  for (std::size_t i = 0; i < kCallsMax + 20; ++i) begun(kClaude, "c" + std::to_string(i));
  const auto activity = realm_.run([](Table& table) { return table.state().activity(kClaude); });
  EXPECT_THAT(activity->calls, SizeIs(kCallsMax));
}

TEST_P(Rule16, WhatAnOwnerDidIsForgottenInTheEnd) {
  begun(kClaude, "make");
  realm_.pass(realm_.limits.remember_ms / 2);
  done(kClaude, "make");
  const auto kept = [&] {
    const auto rows = realm_.rows();
    return std::ranges::count_if(rows, [](const auto& row) { return row.first[0] == 'h'; });
  };
  realm_.pass(realm_.limits.remember_ms / 2 + 1);
  realm_.maintain();
  EXPECT_EQ(kept(), 1);
  realm_.pass(realm_.limits.remember_ms);
  realm_.maintain();
  EXPECT_EQ(kept(), 0);
}

TEST_P(Rule16, WhatWasRefusedIsKeptForTheTurn) {
  ReportRequest request = of(kClaude);
  request.refused = {"a", "b"};
  EXPECT_THAT(report(request).refused, ElementsAre("a", "b"));
  request.refused = {"b"};
  request.settled = {"a"};
  EXPECT_THAT(report(request).refused, ElementsAre("b"));
  ReportRequest turn = of(kClaude);
  turn.turn_begins = true;
  EXPECT_THAT(report(turn).refused, IsEmpty());
}

TEST_P(Rule16, WhatIsSaidOnceIsNewsOnceAndNotesAreHistory) {
  ReportRequest request = of(kClaude);
  request.once = {"x", "y"};
  request.notes = {{"warned", {"a"}, kBob, "edit"}};
  EXPECT_THAT(report(request).news, ElementsAre("x", "y"));
  request.once = {"y", "z"};
  request.notes.clear();
  EXPECT_THAT(report(request).news, ElementsAre("z"));
  EXPECT_THAT(realm_.story(), Contains("warned claude a [edit]"));
}

TEST_P(Rule16, OtherTablesOfTheTurnAreForgottenWithIt) {
  ReportRequest request = of(kClaude);
  request.also_in = "/other";
  EXPECT_THAT(report(request).also_in, ElementsAre("/other"));
  EXPECT_THAT(ends(kClaude, Then::kTurnOver).also_in, ElementsAre("/other"));
  EXPECT_THAT(report(of(kClaude)).also_in, IsEmpty());
}

TEST_P(Rule16, PartsThatGoOnKeepTheirEdits) {
  confirmed(kPart, "a");
  ReportRequest over = of(kClaude);
  over.then = Then::kTurnOver;
  over.parts_go_on = true;
  EXPECT_THAT(report(over).ended, IsEmpty());
  EXPECT_EQ(bob_asks("a"), Outcome::kHeld);
  EXPECT_THAT(ends(kClaude, Then::kTurnOver).ended, ElementsAre("a"));
}

TEST_P(Rule16, ARefusedEditIsRecordedByWhoeverAskedForIt) {
  ASSERT_TRUE(realm_.acquire(Realm::ask(kBob, {x("a")})).has_value());
  EXPECT_EQ(realm_.acquire(edit(kClaude, {x("a")}, "c"))->outcome, Outcome::kHeld);
  EXPECT_THAT(realm_.story(), testing::Not(Contains(testing::StartsWith("refused claude a"))));
}

TEST_P(Rule16, I9WhoeverLosesItsParentIsToldOnceThatIsOnRecord) {
  const Lease parent = confirmed(kClaude, "a");
  realm_.pass(6 * 60'000);
  realm_.granted(kBob, {x("b")});
  const Lease cat = realm_.queued(kCat, {x("a"), x("b")});
  AcquireRequest inside = realm_.wait(kClaude, {x("b")});
  inside.under = parent.id;
  inside.under_fence = parent.fence();
  const Lease waiting = realm_.queued(inside);
  // Bob's lease is over, and the edit gives way: the look ends both, and cat's turn has come.
  realm_.pass(61'000);
  const auto lost = realm_.poll(waiting.id);
  ASSERT_FALSE(lost.has_value());
  EXPECT_EQ(lost.error().code, Code::kLost);
  EXPECT_FALSE(realm_.holds(parent.id));
  EXPECT_TRUE(realm_.holds(cat.id));
}

TEST_P(Rule16, WhatAPartOfAPartHasPassedOnEndsWithTheSession) {
  const Owner inner{"claude", "s/1/x"};
  confirmed(inner, "a");
  ends(inner, Then::kPassedOn);
  EXPECT_EQ(bob_asks("a"), Outcome::kHeld);
  EXPECT_THAT(ends(kClaude, Then::kTurnOver).ended, ElementsAre("a"));
}

TEST_P(Rule16, AfterARebootASessionFindsItsPartsAgain) {
  AcquireRequest request = edit(kPart, {x("a")}, "c");
  request.attachment = {};
  realm_.granted(request);
  realm_.reboot();
  done(kPart, "c");
  EXPECT_THAT(ends(kClaude, Then::kTurnOver).ended, ElementsAre("a"));
}

}  // namespace
}  // namespace lockkeeper::core
