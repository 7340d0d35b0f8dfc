// Rule 6: a request that would wait forever is refused, and no other.
#include "core/deadlock.h"

#include <gmock/gmock.h>

#include "core/testing.h"

namespace lockkeeper::core {
namespace {

using testing::ElementsAre;

class Rule06 : public OnBothFlavours {
 protected:
  // "bob(a) ann(b)": who waits, for what.
  static std::vector<std::string> cycle(const AcquireReply& reply) {
    std::vector<std::string> steps;
    for (const CycleStep& step : reply.cycle) {
      std::string line = step.owner.agent + ":";
      for (const std::string& text : step.waits_for) line += " " + text;
      steps.push_back(std::move(line));
    }
    return steps;
  }
};
LOCKKEEPER_ON_BOTH_FLAVOURS(Rule06);

TEST_P(Rule06, L5TwoThatWaitForEachOther) {
  realm_.granted(kAnn, {x("a")});
  realm_.granted(kBob, {x("b")});
  realm_.queued(kAnn, {x("b")});
  const auto reply = realm_.acquire(realm_.wait(kBob, {x("a")}));
  ASSERT_EQ(reply->outcome, Outcome::kDeadlock);
  EXPECT_THAT(cycle(*reply), ElementsAre("bob: a", "ann: b"));
  EXPECT_THAT(holders(*reply), ElementsAre("lease ann: a"));
  EXPECT_EQ(realm_.waiters().size(), 1U);  // exactly one was told; the other waits on
  EXPECT_THAT(realm_.story().back(), "refused bob a [deadlock]");
}

TEST_P(Rule06, L5ThreeInACycle) {
  realm_.granted(kAnn, {x("a")});
  realm_.granted(kBob, {x("b")});
  realm_.granted(kCat, {x("c")});
  realm_.queued(kAnn, {x("b")});
  realm_.queued(kBob, {x("c")});
  const auto reply = realm_.acquire(realm_.wait(kCat, {x("a")}));
  ASSERT_EQ(reply->outcome, Outcome::kDeadlock);
  EXPECT_THAT(cycle(*reply), ElementsAre("cat: a", "ann: b", "bob: c"));
}

TEST_P(Rule06, L5ALongCycle) {
  const int cycle = 40;
  const auto who = [](int i) { return Owner{"agent" + std::to_string(i), ""}; };
  const auto what = [&](int i) { return "r" + std::to_string(i % cycle); };
  for (int i = 0; i < cycle; ++i) realm_.granted(who(i), {x(what(i))});
  for (int i = 0; i + 1 < cycle; ++i) realm_.queued(who(i), {x(what(i + 1))});
  const auto reply = realm_.acquire(realm_.wait(who(cycle - 1), {x(what(cycle))}));
  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(reply->outcome, Outcome::kDeadlock);
  EXPECT_EQ(reply->cycle.size(), static_cast<std::size_t>(cycle));
}

TEST_P(Rule06, L5ThroughAnEarlierWaiter) {
  // Ann holds a; bob holds b and waits for a and c; ann may not wait for cat, who stands behind
  // bob.
  realm_.granted(kAnn, {x("a")});
  realm_.granted(kCat, {x("d")});
  realm_.queued(kBob, {x("a"), x("c")});
  realm_.queued(kCat, {x("c")});  // free, but bob is before her: a soft edge
  const auto reply = realm_.acquire(realm_.wait(kAnn, {x("d")}));
  ASSERT_EQ(reply->outcome, Outcome::kDeadlock);
  EXPECT_THAT(cycle(*reply), ElementsAre("ann: d", "cat: c", "bob: a"));
}

TEST_P(Rule06, L5OneOfSeveralResourcesClosesTheCycle) {
  realm_.granted(kAnn, {x("a")});
  realm_.granted(kBob, {x("b")});
  realm_.granted(kCat, {x("c")});
  realm_.queued(kAnn, {x("b"), x("z")});
  EXPECT_EQ(realm_.outcome(realm_.wait(kBob, {x("c"), x("a/b"), x("y")})), Outcome::kDeadlock);
}

TEST_P(Rule06, L5FoldersAndPatternsCloseACycleToo) {
  realm_.granted(kAnn, {x("src/")});
  realm_.granted(kBob, {x("docs/a.md")});
  realm_.queued(kAnn, {x("**/*.md")});
  EXPECT_EQ(realm_.outcome(realm_.wait(kBob, {x("src/b/c")})), Outcome::kDeadlock);
}

TEST_P(Rule06, L5ThroughTheLeaseItWorksUnder) {
  const Lease parent = realm_.granted(kAnn, {x("a")});
  realm_.granted(kBob, {x("b")});
  realm_.queued(kBob, {x("a")});
  AcquireRequest inner = realm_.wait(kCat, {x("b")});
  inner.under = parent.id;
  inner.under_fence = parent.fence();
  // Ann's lease lasts until cat is done, and cat would wait for bob, who waits for ann.
  EXPECT_EQ(realm_.outcome(inner), Outcome::kDeadlock);
}

TEST_P(Rule06, L5ThroughTheLeaseItWorksUnderClosedFromTheOtherSide) {
  const Lease parent = realm_.granted(kAnn, {x("a")});
  realm_.granted(kBob, {x("b")});
  AcquireRequest inner = realm_.wait(kCat, {x("b")});
  inner.under = parent.id;
  inner.under_fence = parent.fence();
  realm_.queued(inner);
  EXPECT_EQ(realm_.outcome(realm_.wait(kBob, {x("a")})), Outcome::kDeadlock);
}

TEST_P(Rule06, L5ThroughAGrandchildClosedFromTheOtherSide) {
  const Lease parent = realm_.granted(kAnn, {x("a")});
  realm_.granted(kBob, {x("b")});
  AcquireRequest child = realm_.ask(kDan, {x("a/x")});
  child.under = parent.id;
  child.under_fence = parent.fence();
  const Lease middle = realm_.granted(child);
  AcquireRequest inner = realm_.wait(kCat, {x("b")});
  inner.under = middle.id;
  inner.under_fence = middle.fence();
  realm_.queued(inner);
  const auto reply = realm_.acquire(realm_.wait(kBob, {x("a")}));
  EXPECT_EQ(reply->outcome, Outcome::kDeadlock);
}

TEST_P(Rule06, NoFalsePositiveInAChain) {
  realm_.granted(kAnn, {x("a")});
  realm_.granted(kBob, {x("b")});
  realm_.granted(kCat, {x("c")});
  realm_.queued(kAnn, {x("b")});
  realm_.queued(kBob, {x("c")});
  EXPECT_EQ(realm_.outcome(realm_.wait(kDan, {x("a")})), Outcome::kQueued);
  EXPECT_EQ(realm_.outcome(realm_.wait({"eve", ""}, {x("a"), x("b"), x("c")})), Outcome::kQueued);
}

TEST_P(Rule06, NoFalsePositiveForOneThatHoldsNothing) {
  realm_.granted(kAnn, {x("a")});
  realm_.queued(kBob, {x("a")});
  EXPECT_EQ(realm_.outcome(realm_.wait(kCat, {x("a")})), Outcome::kQueued);
}

TEST_P(Rule06, NoFalsePositiveAgainstALaterWaiter) {
  // Bob waits behind nothing of ann's: he came before her request, not after.
  realm_.granted(kAnn, {x("a")});
  realm_.granted(kCat, {x("c")});
  realm_.queued(kBob, {x("c")});
  EXPECT_EQ(realm_.outcome(realm_.wait(kAnn, {x("c")})), Outcome::kQueued);
}

TEST_P(Rule06, NoFalsePositiveForSharedHoldersOfOneThing) {
  realm_.granted(kAnn, {s("a")});
  realm_.granted(kBob, {s("a")});
  realm_.granted(kCat, {x("c")});
  realm_.queued(kBob, {x("c")});
  EXPECT_EQ(realm_.outcome(realm_.wait(kAnn, {x("c")})), Outcome::kQueued);
}

TEST_P(Rule06, WithoutWaitingThereIsNoDeadlock) {
  realm_.granted(kAnn, {x("a")});
  realm_.granted(kBob, {x("b")});
  realm_.queued(kAnn, {x("b")});
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
}

TEST_P(Rule06, TheDeadAreReapedBeforeAConflictIsDeclared) {
  AcquireRequest mortal = realm_.ask(kAnn, {x("a")});
  mortal.attachment = process(7);
  const Lease dead = realm_.granted(mortal);
  realm_.kill(7);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kGranted);
  EXPECT_FALSE(realm_.holds(dead.id));
}

TEST_P(Rule06, L5TheDeadAreReapedBeforeACycleIsDeclared) {
  AcquireRequest mortal = realm_.ask(kAnn, {x("a")});
  mortal.attachment = process(7);
  realm_.granted(mortal);
  realm_.granted(kBob, {x("b")});
  AcquireRequest waiting = realm_.wait(kAnn, {x("b")});
  waiting.waiting_process = process(7);
  realm_.queued(waiting);
  realm_.kill(7);
  EXPECT_EQ(realm_.outcome(realm_.wait(kBob, {x("a")})), Outcome::kGranted);
}

TEST_P(Rule06, L5ADeadLinkInTheMiddleOfTheCycleIsNoCycle) {
  realm_.granted(kAnn, {x("a")});
  AcquireRequest mortal = realm_.ask(kBob, {x("b")});
  mortal.attachment = process(7);
  realm_.granted(mortal);
  realm_.granted(kCat, {x("c")});
  realm_.queued(kAnn, {x("b")});
  AcquireRequest waiting = realm_.wait(kBob, {x("c")});
  waiting.waiting_process = process(7);
  realm_.queued(waiting);
  realm_.kill(7);
  EXPECT_EQ(realm_.outcome(realm_.wait(kCat, {x("a")})), Outcome::kQueued);
}

TEST_P(Rule06, L5ACycleThatOnlyShowsLaterIsFoundByAPoll) {
  // Ann's request passes bob, who waits for her h. When she gives h up she stands behind him, and
  // he waits for cat, who waits for ann's g.
  realm_.granted(kAnn, {x("h")});
  realm_.granted(kAnn, {x("g")});
  realm_.granted(kCat, {x("c")});
  realm_.granted(kDan, {x("k")});
  const Lease bob = realm_.queued(kBob, {x("h"), x("c"), x("m")});
  const Lease cat = realm_.queued(kCat, {x("g")});
  const Lease ann = realm_.queued(kAnn, {x("k"), x("m")});
  ASSERT_TRUE(realm_.release(kAnn, {"h"}));
  int victims = 0;
  for (const LeaseId& id : {ann.id, bob.id, cat.id}) {
    const auto reply = realm_.poll(id);
    ASSERT_TRUE(reply.has_value());
    victims += reply->outcome == Outcome::kDeadlock ? 1 : 0;
  }
  EXPECT_EQ(victims, 1);
  EXPECT_EQ(realm_.waiters().size(), 2U);
}

TEST_P(Rule06, L5WhoIsLetInUnderALeaseLooksForACycleThroughItsOtherRequest) {
  const Lease parent = realm_.granted(kAnn, {x("src/")});
  realm_.granted(kBob, {x("b")});
  AcquireRequest other = realm_.wait(kCat, {x("b")});
  other.wake = 77;
  const Lease waiting = realm_.queued(other);
  realm_.queued(kBob, {x("src/")});
  // Bob waits for ann, not for cat, who waits for bob. But then ann lets cat in.
  AcquireRequest inner = realm_.ask(kCat, {x("src/a")});
  inner.under = parent.id;
  inner.under_fence = parent.fence();
  realm_.granted(inner);
  EXPECT_THAT(realm_.woken, testing::Contains(77u));
  EXPECT_EQ(realm_.poll(waiting.id)->outcome, Outcome::kDeadlock);
}

TEST_P(Rule06, L5AHandoffToOneLetInLooksForACycleThroughItsOtherRequestToo) {
  const Lease parent = realm_.granted(kAnn, {x("src/")});
  AcquireRequest first = realm_.ask(kDan, {x("src/a")});
  first.under = parent.id;
  first.under_fence = parent.fence();
  const Lease sibling = realm_.granted(first);
  realm_.granted(kBob, {x("b")});
  AcquireRequest other = realm_.wait(kCat, {x("b")});
  other.wake = 77;
  const Lease waiting = realm_.queued(other);
  realm_.queued(kBob, {x("src/a/b")});
  AcquireRequest inner = realm_.wait(kCat, {x("src/a")});
  inner.under = parent.id;
  inner.under_fence = parent.fence();
  const Lease second = realm_.queued(inner);
  ASSERT_TRUE(realm_.release(kDan, sibling.id));
  ASSERT_TRUE(realm_.holds(second.id));
  EXPECT_THAT(realm_.woken, testing::Contains(77u));
  EXPECT_EQ(realm_.poll(waiting.id)->outcome, Outcome::kDeadlock);
}

TEST_P(Rule06, L5WhoTakesWhatWasAskedForUnderItsLeaseWakesTheOneItLetIn) {
  const Lease parent = realm_.granted(kAnn, {x("src/")});
  realm_.granted(kBob, {x("b")});
  AcquireRequest inner = realm_.wait(kCat, {x("src/"), x("b"), s("d")});
  inner.under = parent.id;
  inner.under_fence = parent.fence();
  inner.wake = 77;
  const Lease waiting = realm_.queued(inner);
  // Ann's lease lasts until cat is done, and cat now waits for what ann takes besides.
  realm_.granted(kAnn, {x("d")});
  EXPECT_THAT(realm_.woken, testing::Contains(77u));
  EXPECT_EQ(realm_.poll(waiting.id)->outcome, Outcome::kDeadlock);
}

TEST_P(Rule06, L5WhoCanPassAnotherForWhatItGotLooksAgain) {
  // Only then does the table know that its request must look for cycles when that lease ends.
  realm_.granted(kCat, {x("c")});
  realm_.queued(kBob, {x("c"), x("m")});
  AcquireRequest behind = realm_.wait(kAnn, {x("c/d")});
  behind.wake = 77;
  const Lease waiting = realm_.queued(behind);
  EXPECT_FALSE(must_look_for_cycles(realm_.waiter(waiting.id).request));
  AcquireRequest passing = realm_.ask(kAnn, {x("h")});
  realm_.granted(passing);
  EXPECT_THAT(realm_.woken, testing::Contains(77u));
}

// Ann passes cat, who waits for what ann holds. Once that has run out she stands behind cat.
TEST_P(Rule06, L5WhoCanNoLongerPassAnotherClosesTheCycle) {
  for (const bool run_out : {false, true}) {
    Realm realm(GetParam());
    AcquireRequest reads = Realm::ask(kAnn, {s("b")});
    reads.terms.ttl_ms = 3;
    realm.granted(reads);
    realm.granted(kBob, {x("c")});
    realm.granted(kDan, {x("a")});
    const Lease ahead = realm.queued(kBob, {s("a"), s("b")});
    realm.queued(kCat, {x("b"), x("c")});
    const Lease upgrade = realm.queued(kAnn, {x("b")});
    if (run_out) realm.pass(4);
    EXPECT_EQ(realm.cancel(ahead.id)->outcome, Outcome::kHeld);
    EXPECT_EQ(realm.holds(upgrade.id), !run_out);
    const auto reply = realm.acquire(realm.wait(kBob, {x("a"), x("b")}));
    ASSERT_EQ(reply->outcome, run_out ? Outcome::kDeadlock : Outcome::kQueued);
    if (!run_out) continue;
    EXPECT_THAT(cycle(*reply), ElementsAre("bob: b", "ann: b", "cat: c"));
  }
}

TEST_P(Rule06, AfterTheVictimReleasesTheOtherGoesOn) {
  realm_.granted(kAnn, {x("a")});
  realm_.granted(kBob, {x("b")});
  const Lease waiting = realm_.queued(kAnn, {x("b")});
  ASSERT_EQ(realm_.outcome(realm_.wait(kBob, {x("a")})), Outcome::kDeadlock);
  ASSERT_TRUE(realm_.release(kBob, {"b"}));
  EXPECT_TRUE(realm_.holds(waiting.id));
}

}  // namespace
}  // namespace lockkeeper::core
