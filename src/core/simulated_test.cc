// What the simulator found (tests/sim), each as the shortest story that shows it.
#include <gmock/gmock.h>

#include "core/testing.h"

namespace lockkeeper::core {
namespace {

const Owner kAnn{"ann", "S"};
const Owner kSub{"sub", "S/x"};
const Owner kBob{"bob", ""};
const Owner kCat{"cat", ""};
const Owner kDan{"dan", ""};

class Simulated : public OnBothFlavours {};
LOCKKEEPER_ON_BOTH_FLAVOURS(Simulated);

TEST_P(Simulated, Rule03AConflictWithAHandoffOfTheSameCommitHasItsFence) {
  realm_.granted(kAnn, {x("a")});
  const Lease next = realm_.queued(kBob, {x("a")});
  realm_.pass(60'001);
  // This very request ends ann's lease, which hands over to bob.
  const auto refused = realm_.acquire(realm_.ask(kCat, {x("a")}));
  ASSERT_EQ(refused->outcome, Outcome::kHeld);
  ASSERT_EQ(refused->conflicts.size(), 1u);
  EXPECT_EQ(refused->conflicts.front().holder.id, next.id);
  EXPECT_EQ(refused->conflicts.front().holder.fence(), realm_.lease(next.id).fence());
}

TEST_P(Simulated, L4AWaiterPassedForWhatOneHeldIsNotPassedWhenThatIsGone) {
  const Lease held = realm_.granted(kAnn, {s("a")});
  const Lease blocker = realm_.granted(kBob, {x("b")});
  const Lease earlier = realm_.queued(kCat, {x("a"), x("b")});  // waits for ann, too
  const Lease later = realm_.queued(kAnn, {x("b")});            // so ann may pass
  ASSERT_TRUE(realm_.release(kAnn, held.id));                   // and now may not any more
  ASSERT_TRUE(realm_.release(kBob, blocker.id));
  EXPECT_TRUE(realm_.holds(earlier.id));
  EXPECT_TRUE(realm_.waits(later.id));
}

TEST_P(Simulated, L8ALimitOfOneWaitersPatternStopsNobodyElse) {
  realm_.limits.rows_per_glob = 3;
  const Lease first = realm_.granted(kAnn, {x("src/a")});
  const Lease waiting = realm_.queued(kBob, {x("src/*")});
  for (const char* text : {"src/x/1", "src/x/2", "src/x/3", "src/x/4"}) {
    realm_.granted(kCat, {x(text)});
  }
  EXPECT_EQ(realm_.poll(waiting.id)->outcome, Outcome::kQueued);
  EXPECT_EQ(realm_.outcome(realm_.ask(kDan, {x("src/a")})), Outcome::kHeld);
  ASSERT_TRUE(realm_.release(kAnn, first.id));
  EXPECT_TRUE(realm_.holds(waiting.id));
}

TEST_P(Simulated, Rule11ASubagentIsInsideWhatItsSessionsLeaseIsInside) {
  const Lease outer = realm_.granted(kBob, {x("src/")});
  AcquireRequest inner = realm_.ask(kAnn, {x("src/lib/")});
  inner.under = outer.id;
  inner.under_fence = outer.fence();
  const Lease parent = realm_.granted(inner);
  EXPECT_TRUE(realm_.check(realm_.ask(kSub, {x("src/lib/a")}))->free);
  const Lease child = realm_.granted(kSub, {x("src/lib/a")});
  EXPECT_EQ(realm_.lease(child.id).parent, parent.id);
}

TEST_P(Simulated, Rule05AWaiterWhoseWayIsClearedByItsOwnPollIsGranted) {
  const Lease dead = realm_.granted(kBob, {x("a")});
  realm_.queued(kAnn, {x("a")});
  const Lease sub = realm_.queued(kSub, {x("a")});
  realm_.pass(60'001);
  // The poll ends bob's lease; ann has it then, and ann's subagent works inside that.
  EXPECT_EQ(realm_.poll(sub.id)->outcome, Outcome::kGranted);
  EXPECT_FALSE(realm_.holds(dead.id));
}

TEST_P(Simulated, Rule12ARequestAskedAgainAfterARebootWaitsAsALivingOne) {
  const Lease held = realm_.granted(kAnn, {x("a")});
  AcquireRequest request = realm_.wait(kBob, {x("a")});
  request.request_id = "r";
  const Lease waiting = realm_.queued(request);
  realm_.reboot();
  request.waiting_process = process(77);
  ASSERT_EQ(realm_.outcome(request), Outcome::kQueued);
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {x("a")})), Outcome::kHeld);  // reaps the dead
  ASSERT_TRUE(realm_.waits(waiting.id));
  ASSERT_TRUE(realm_.release(kAnn, held.id));
  EXPECT_TRUE(realm_.holds(waiting.id));
}

TEST_P(Simulated, I9ARenewalOfAHandoffToADeadProcessIsLost) {
  const Lease held = realm_.granted(kAnn, {x("a")});
  AcquireRequest request = realm_.wait(kBob, {x("a")});
  request.attachment = process(88);
  const Lease waiting = realm_.queued(request);
  ASSERT_TRUE(realm_.release(kAnn, held.id));
  realm_.kill(88);  // the command that was to hold it, before anybody confirmed
  EXPECT_EQ(realm_.renew(kBob, waiting.id).error().code, Code::kLost);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kGranted);
}

TEST_P(Simulated, I11AReleaseOfManyPartsIsSpreadOverCommits) {
  if (optimistic()) GTEST_SKIP() << "a commit of this store takes 100 writes";
  realm_.limits.ends_per_commit = 10;
  std::vector<Claim> claims;
  std::vector<key::Resource> resources;
  for (int i = 0; i < 25; ++i) {
    claims.push_back(x("f" + std::to_string(i)));
    resources.push_back(claims.back().resource);
  }
  claims.push_back(x("rest"));
  realm_.granted(kAnn, claims);
  const std::uint64_t before = realm_.store().version();
  std::size_t released = 0;
  ASSERT_TRUE(realm_.run([&](Table& table) {
    auto reply = table.release(kAnn, resources);
    if (reply) released += reply->released.size();
    return reply;
  }));
  EXPECT_EQ(released, 25u);
  EXPECT_EQ(realm_.store().version() - before, 3u);
}

}  // namespace
}  // namespace lockkeeper::core
