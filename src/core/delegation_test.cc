// Rule 11: working under a lease.
#include <gmock/gmock.h>

#include "core/testing.h"

namespace lockkeeper::core {
namespace {

using testing::Contains;
using testing::ElementsAre;

const Owner kSibling{"sub", "s1/y"};

class Rule11 : public OnBothFlavours {
 protected:
  AcquireRequest inside(const Lease& parent, const Owner& owner, std::vector<Claim> claims) {
    AcquireRequest request = realm_.ask(owner, std::move(claims));
    request.under = parent.id;
    request.under_fence = parent.fence();
    return request;
  }
};
LOCKKEEPER_ON_BOTH_FLAVOURS(Rule11);

TEST_P(Rule11, WhoPresentsTheLeaseWithItsFenceDoesNotConflictWithIt) {
  const Lease parent = realm_.granted(kAnnInS1, {x("src/")});
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("src/a")})), Outcome::kHeld);
  const Lease child = realm_.granted(inside(parent, kBob, {x("src/a")}));
  EXPECT_EQ(realm_.lease(child.id).parent, parent.id);
  EXPECT_TRUE(realm_.check(inside(parent, kBob, {x("src/b")}))->free);
}

TEST_P(Rule11, CheckSaysMineInsideALeaseOnesWorksUnder) {
  const Lease parent = realm_.granted(kAnnInS1, {x("src/"), s("doc/")});
  EXPECT_TRUE(realm_.check(realm_.ask(kSub, {x("src/a")}))->mine);
  EXPECT_TRUE(realm_.check(realm_.ask(kSub, {s("doc/a")}))->mine);
  EXPECT_FALSE(realm_.check(realm_.ask(kSub, {x("doc/a")}))->mine);
  EXPECT_TRUE(realm_.check(inside(parent, kBob, {x("src/a")}))->mine);
  EXPECT_FALSE(realm_.check(realm_.ask(kBob, {x("src/a")}))->mine);
  const Lease child = realm_.granted(inside(parent, kBob, {x("src/b/")}));
  EXPECT_TRUE(realm_.check(inside(child, kCat, {x("src/c")}))->mine);
  realm_.pass(60'001);
  EXPECT_FALSE(realm_.check(realm_.ask(kSub, {x("src/a")}))->mine);
}

TEST_P(Rule11, I4AStaleFenceIsLost) {
  const Lease parent = realm_.granted(kAnnInS1, {x("src/")});
  AcquireRequest request = inside(parent, kBob, {x("src/a")});
  request.under_fence -= 1;
  EXPECT_EQ(realm_.acquire(request).error().code, Code::kLost);
  EXPECT_EQ(realm_.check(request).error().code, Code::kLost);
  request.under_fence += 2;
  EXPECT_EQ(realm_.acquire(request).error().code, Code::kLost);
}

TEST_P(Rule11, I4ALeaseThatHasEndedIsLost) {
  const Lease parent = realm_.granted(kAnnInS1, {x("src/")});
  const AcquireRequest request = inside(parent, kBob, {x("src/a")});
  realm_.pass(60'001);
  EXPECT_EQ(realm_.acquire(request).error().code, Code::kLost);  // over, not yet swept
  realm_.maintain();
  EXPECT_EQ(realm_.acquire(request).error().code, Code::kLost);
}

TEST_P(Rule11, TheExemptionIsForThatLeaseAlone) {
  const Lease parent = realm_.granted(kAnnInS1, {x("src/")});
  realm_.granted(kAnnInS1, {x("docs/")});
  EXPECT_EQ(realm_.outcome(inside(parent, kBob, {x("docs/a")})), Outcome::kHeld);
  realm_.granted(kCat, {x("lib/")});
  EXPECT_EQ(realm_.outcome(inside(parent, kBob, {x("src/a"), x("lib/a")})), Outcome::kHeld);
}

TEST_P(Rule11, I1AChildExcludesItsSiblings) {
  const Lease parent = realm_.granted(kAnnInS1, {x("src/")});
  realm_.granted(inside(parent, kBob, {x("src/a")}));
  const auto reply = realm_.acquire(inside(parent, kCat, {x("src/a")}));
  EXPECT_EQ(reply->outcome, Outcome::kHeld);
  EXPECT_THAT(holders(*reply), ElementsAre("lease bob: src/a"));
  EXPECT_EQ(realm_.outcome(inside(parent, kCat, {x("src/b")})), Outcome::kGranted);
}

TEST_P(Rule11, TheParentsNewRequestConflictsWithTheChild) {
  const Lease parent = realm_.granted(kAnnInS1, {x("src/")});
  realm_.granted(inside(parent, kBob, {x("src/a")}));
  EXPECT_EQ(realm_.outcome(realm_.ask(kAnnInS1, {x("src/a")})), Outcome::kHeld);
  // A renewal of the parent is not a new request. It says who works there.
  const auto renewed = realm_.acquire(realm_.ask(kAnnInS1, {x("src/")}));
  ASSERT_EQ(renewed->outcome, Outcome::kRenewed);
  ASSERT_EQ(renewed->conflicts.size(), 1U);
  EXPECT_EQ(renewed->conflicts.front().holder.owner, kBob);
}

TEST_P(Rule11, AChildEndsWithItsParent) {
  const Lease parent = realm_.granted(kAnnInS1, {x("src/")});
  const Lease child = realm_.granted(inside(parent, kBob, {x("src/a")}));
  const Lease grandchild = realm_.granted(inside(child, kCat, {x("src/a")}));
  ASSERT_TRUE(realm_.release(kAnnInS1, parent.id));
  EXPECT_TRUE(realm_.leases().empty());
  EXPECT_THAT(realm_.story(), Contains("released cat src/a [parent_ended]"));
  EXPECT_EQ(realm_.renew(kBob, child.id).error().code, Code::kLost);
  EXPECT_EQ(realm_.renew(kCat, grandchild.id).error().code, Code::kLost);
  EXPECT_EQ(realm_.notices(kBob).size(), 1U);
}

TEST_P(Rule11, AChildOfAnOverParentCountsForNobody) {
  const Lease parent = realm_.granted(kAnnInS1, {x("src/")});
  AcquireRequest request = inside(parent, kBob, {x("src/a")});
  request.terms.ttl_ms = kNoEnd;
  const Lease child = realm_.granted(request);
  realm_.pass(60'001);
  EXPECT_TRUE(realm_.check(realm_.ask(kCat, {x("src/a")}))->free);
  EXPECT_EQ(realm_.renew(kBob, child.id).error().code, Code::kLost);
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {x("src/a")})), Outcome::kGranted);
  EXPECT_FALSE(realm_.holds(child.id));
}

TEST_P(Rule11, AWaitingChildLeavesTheQueueWithItsParent) {
  const Lease parent = realm_.granted(kAnnInS1, {x("src/")});
  realm_.granted(kCat, {x("lib/")});
  AcquireRequest request = inside(parent, kBob, {x("lib/")});
  request.wait = true;
  request.waiting_process = process(99);
  request.wake = 99;
  const Lease waiting = realm_.queued(request);
  ASSERT_TRUE(realm_.release(kAnnInS1, parent.id));
  EXPECT_FALSE(realm_.waits(waiting.id));
  EXPECT_THAT(realm_.woken, Contains(99U));
  EXPECT_EQ(realm_.poll(waiting.id).error().code, Code::kLost);
}

TEST_P(Rule11, ManyChildrenEndOverSeveralCommitsAndCountForNobodyMeanwhile) {
  const Lease parent = realm_.granted(kAnnInS1, {x("src/")});
  realm_.limits.ends_per_commit = 3;
  for (int i = 0; i < 10; ++i) {
    realm_.granted(
        inside(parent, {"child" + std::to_string(i), ""}, {x("src/" + std::to_string(i))}));
  }
  ASSERT_TRUE(realm_.release(kAnnInS1, parent.id));
  EXPECT_TRUE(realm_.check(realm_.ask(kCat, {x("src/")}))->free);
  realm_.maintain();
  EXPECT_TRUE(realm_.leases().empty());
}

TEST_P(Rule11, ALongLineOfChildrenEndsOverSeveralCommitsAndCountsForNobodyMeanwhile) {
  const Lease top = realm_.granted(kAnnInS1, {x("src/")});
  std::vector<Lease> line{top};
  for (int i = 0; i < 5; ++i) {
    line.push_back(realm_.granted(inside(line.back(), {"n" + std::to_string(i), ""}, {x("src/")})));
  }
  realm_.limits.ends_per_commit = 2;
  ASSERT_TRUE(realm_.release(line[1].owner, line[1].id));
  EXPECT_TRUE(realm_.holds(line.back().id));  // still there, and the audit takes no offence
  EXPECT_EQ(realm_.outcome(inside(top, kBob, {x("src/")})), Outcome::kGranted);
  realm_.maintain();
  EXPECT_EQ(realm_.leases().size(), 2U);
}

TEST_P(Rule11, AChildPassesThoseWhoWaitForItsParent) {
  const Lease parent = realm_.granted(kAnnInS1, {x("src/")});
  realm_.queued(kCat, {x("src/")});
  EXPECT_EQ(realm_.outcome(inside(parent, kBob, {x("src/a")})), Outcome::kGranted);
}

TEST_P(Rule11, DepthIsLimitedByName) {
  Lease parent = realm_.granted(kAnnInS1, {x("a")});
  for (int depth = 0; depth < 8; ++depth) {
    parent = realm_.granted(inside(parent, {"n" + std::to_string(depth), ""}, {x("a")}));
  }
  const auto reply = realm_.acquire(inside(parent, kBob, {x("a")}));
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, Code::kLimitExceeded);
  EXPECT_THAT(reply.error().message, testing::HasSubstr("the limit is 8"));
}

TEST_P(Rule11, AGrandchildDoesNotConflictWithTheGrandparent) {
  const Lease parent = realm_.granted(kAnnInS1, {x("src/")});
  const Lease child = realm_.granted(inside(parent, kBob, {x("src/a")}));
  EXPECT_EQ(realm_.outcome(inside(child, kCat, {x("src/b")})), Outcome::kGranted);
}

// Both of the leases in its way have let it in. What the outer one lies around is not its side's;
// what the inner one lies in is.
TEST_P(Rule11, OfNestedLeasesTheInnermostLetsIn) {
  for (const std::string_view folder : {"src/lib/", "src/"}) {
    const Lease outer = realm_.granted(kAnnInS1, {x("src/")});
    const Lease inner = realm_.granted(inside(outer, kBob, {x(folder)}));
    realm_.granted(inside(inner, kCat, {x("src/lib/c")}));
    const Lease let_in = realm_.granted(kCat, {x("src/lib/d")});
    EXPECT_EQ(realm_.lease(let_in.id).parent, inner.id);
    EXPECT_TRUE(realm_.check(realm_.ask(kCat, {x("src/lib/e")}))->free);
    ASSERT_TRUE(realm_.release(kAnnInS1, outer.id));
  }
}

TEST_P(Rule11, ASubagentOfTheSessionNeedsToPresentNothing) {
  const Lease parent = realm_.granted(kAnnInS1, {x("src/")});
  const Lease child = realm_.granted(kSub, {x("src/a")});
  EXPECT_TRUE(realm_.lease(child.id).parent.empty());
  EXPECT_EQ(realm_.outcome(realm_.ask(kSibling, {x("src/a")})), Outcome::kHeld);
  EXPECT_EQ(realm_.outcome(realm_.ask(kSibling, {x("src/b")})), Outcome::kGranted);
  ASSERT_TRUE(realm_.release(kAnnInS1, parent.id));
  EXPECT_EQ(realm_.leases().size(), 2U) << "what it took is its own";
}

TEST_P(Rule11, OnlyATrueSubagentIsOne) {
  EXPECT_TRUE(is_part_of({"q", "S/x"}, {"p", "S"}));
  EXPECT_TRUE(is_part_of({"q", "S/x/y"}, {"p", "S"}));
  EXPECT_FALSE(is_part_of({"q", "S"}, {"p", "S"}));
  EXPECT_FALSE(is_part_of({"q", "S"}, {"p", "S/x"}));
  EXPECT_FALSE(is_part_of({"q", "S/"}, {"p", "S"}));
  EXPECT_FALSE(is_part_of({"q", "Sx/y"}, {"p", "S"}));
  EXPECT_FALSE(is_part_of({"q", "/x"}, {"p", ""}));
  EXPECT_FALSE(is_part_of({"q", "x"}, {"p", ""}));
  EXPECT_FALSE(is_part_of({"q", "/out/inner"}, {"p", "/out"}));  // paths: a dialect's sessions
}

TEST_P(Rule11, ASubagentsLeaseOutsideIsItsOwn) {
  const Lease parent = realm_.granted(kAnnInS1, {x("src/")});
  const Lease other = realm_.granted(kSub, {x("lib/")});
  EXPECT_TRUE(realm_.lease(other.id).parent.empty());
  ASSERT_TRUE(realm_.release(kAnnInS1, parent.id));
  EXPECT_TRUE(realm_.holds(other.id));
}

TEST_P(Rule11, I4TheParentsFenceIsCurrentForThoseWhoWorkUnderIt) {
  const Lease parent = realm_.granted(kAnnInS1, {x("src/")});
  EXPECT_TRUE(realm_.check(realm_.ask(kSub, {x("src/a")}), parent.fence())->fence_current);
  EXPECT_TRUE(realm_.check(inside(parent, kBob, {x("src/a")}), parent.fence())->fence_current);
  ASSERT_TRUE(realm_.release(kAnnInS1, parent.id));
  EXPECT_FALSE(realm_.check(realm_.ask(kSub, {x("src/a")}), parent.fence())->fence_current);
}

TEST_P(Rule11, AnAgentStartedUnderItsOwnLeaseIsNotLockedOut) {
  const Lease parent = realm_.granted(kAnnInS1, {x("src/")});
  realm_.queued(kBob, {x("src/")});
  EXPECT_EQ(realm_.outcome(inside(parent, kAnnInS1, {x("src/a")})), Outcome::kGranted);
  EXPECT_EQ(realm_.outcome(inside(parent, kAnnInS1, {x("src/")})), Outcome::kRenewed);
}

TEST_P(Rule11, ReleasingAChildKeepsItsParent) {
  const Lease parent = realm_.granted(kAnnInS1, {x("src/")});
  const Lease child = realm_.granted(inside(parent, kBob, {x("src/a")}));
  ASSERT_TRUE(realm_.release(kBob, child.id));
  EXPECT_TRUE(realm_.holds(parent.id));
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {x("src/a")})), Outcome::kHeld);
}

TEST_P(Rule11, I7WhoeverReleasesALeaseAndOneInsideItLosesNeither) {
  // Ids of one millisecond are in no order, so chance must not decide.
  for (int i = 0; i < 16; ++i) {
    const Lease outer = realm_.granted(kAnnInS1, {s("b")});
    realm_.granted(inside(outer, kAnnInS1, {s("b"), s("c")}));
    ASSERT_TRUE(realm_.release(kAnnInS1, {"c"}));
    ASSERT_TRUE(realm_.release(kAnnInS1, {"b"}));
    ASSERT_THAT(realm_.notices(kAnnInS1), IsEmpty()) << i;
  }
  const Lease outer = realm_.granted(kAnnInS1, {x("b")});
  const Lease inner = realm_.granted(inside(outer, kAnnInS1, {s("b")}));
  ASSERT_TRUE(realm_.run(
      [&](Table& table) { return table.release_leases(kAnnInS1, {outer.id, inner.id}); }));
  EXPECT_TRUE(realm_.leases().empty());
  EXPECT_THAT(realm_.notices(kAnnInS1), IsEmpty());
  const Lease first = realm_.granted(kAnnInS1, {x("b")});
  const Lease second = realm_.granted(inside(first, kAnnInS1, {s("b")}));
  ASSERT_TRUE(realm_.run(
      [&](Table& table) { return table.give_back(kAnnInS1, {first.id, second.id}, {}); }));
  EXPECT_TRUE(realm_.leases().empty());
  EXPECT_THAT(realm_.notices(kAnnInS1), IsEmpty());
}

TEST_P(Rule11, TheEndOfAChildHandsOverToItsSibling) {
  const Lease parent = realm_.granted(kAnnInS1, {x("src/")});
  const Lease child = realm_.granted(inside(parent, kBob, {x("src/a")}));
  AcquireRequest sibling = inside(parent, kCat, {x("src/a")});
  sibling.wait = true;
  sibling.waiting_process = process(99);
  const Lease waiting = realm_.queued(sibling);
  ASSERT_TRUE(realm_.release(kBob, child.id));
  EXPECT_TRUE(realm_.holds(waiting.id));
}

}  // namespace
}  // namespace lockkeeper::core
