// What the simulator found (tests/sim), each as the shortest story that shows it.
#include <gmock/gmock.h>

#include "core/reboot.h"
#include "core/testing.h"

namespace lockkeeper::core {
namespace {

class Simulated : public OnBothFlavours {};
LOCKKEEPER_ON_BOTH_FLAVOURS(Simulated);

TEST_P(Simulated, Rule03AConflictWithAHandoffOfTheSameCommitHasItsFence) {
  realm_.granted(kAnnInS1, {x("a")});
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
  // Once with each of the two first in the order of ids, in which a handoff looks at them.
  for (const auto& [passer, passed] : {std::pair(kAnnInS1, kCat), std::pair(kCat, kAnnInS1)}) {
    const Lease held = realm_.granted(passer, {s("a")});
    const Lease blocker = realm_.granted(kBob, {x("b")});
    const Lease earlier = realm_.queued(passed, {x("a"), x("b")});  // waits for the passer, too
    const Lease later = realm_.queued(passer, {x("b")});            // which therefore may pass
    ASSERT_TRUE(realm_.release(passer, held.id));                   // and now may not any more
    ASSERT_TRUE(realm_.release(kBob, blocker.id));
    EXPECT_TRUE(realm_.holds(earlier.id));
    EXPECT_TRUE(realm_.waits(later.id));
    ASSERT_TRUE(realm_.release(passed, earlier.id));
    ASSERT_TRUE(realm_.release(passer, later.id));
  }
}

TEST_P(Simulated, L8ALimitOfOneWaitersPatternStopsNobodyElse) {
  realm_.limits.rows_per_glob = 3;
  const Lease first = realm_.granted(kAnnInS1, {x("src/a")});
  const Lease waiting = realm_.queued(kBob, {x("src/*")});
  for (const char* text : {"src/x/1", "src/x/2", "src/x/3", "src/x/4"}) {
    realm_.granted(kCat, {x(text)});
  }
  const auto polled = realm_.poll(waiting.id);
  ASSERT_TRUE(polled);
  EXPECT_EQ(polled->outcome, Outcome::kQueued);
  const auto other = realm_.acquire(realm_.ask(kDan, {x("src/a")}));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->outcome, Outcome::kHeld);
  ASSERT_TRUE(realm_.release(kAnnInS1, first.id));
  EXPECT_TRUE(realm_.holds(waiting.id));
}

TEST_P(Simulated, Rule11ASubagentIsInsideWhatItsSessionsLeaseIsInside) {
  const Lease outer = realm_.granted(kBob, {x("src/")});
  AcquireRequest inner = realm_.ask(kAnnInS1, {x("src/lib/")});
  inner.under = outer.id;
  inner.under_fence = outer.fence();
  const Lease parent = realm_.granted(inner);
  EXPECT_TRUE(realm_.check(realm_.ask(kSub, {x("src/lib/a")}))->free);
  const Lease child = realm_.granted(kSub, {x("src/lib/a")});
  EXPECT_EQ(realm_.lease(child.id).parent, outer.id);
  ASSERT_TRUE(realm_.release(kAnnInS1, parent.id));
  EXPECT_TRUE(realm_.holds(child.id));
}

TEST_P(Simulated, Rule05AWaiterWhoseWayIsClearedByItsOwnPollIsGranted) {
  const Lease dead = realm_.granted(kBob, {x("a")});
  realm_.queued(kAnnInS1, {x("a")});
  const Lease sub = realm_.queued(kSub, {x("a")});
  realm_.pass(60'001);
  // The poll ends bob's lease; ann has it then, and ann's subagent works inside that.
  EXPECT_EQ(realm_.poll(sub.id)->outcome, Outcome::kGranted);
  EXPECT_FALSE(realm_.holds(dead.id));
}

TEST_P(Simulated, Rule12ARequestAskedAgainAfterARebootWaitsAsALivingOne) {
  const Lease held = realm_.granted(kAnnInS1, {x("a")});
  AcquireRequest request = realm_.wait(kBob, {x("a")});
  request.terms.request_id = "r";
  const Lease waiting = realm_.queued(request);
  realm_.reboot();
  request.waiting_process = process(77);
  ASSERT_EQ(realm_.outcome(request), Outcome::kQueued);
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {x("a")})), Outcome::kHeld);  // reaps the dead
  ASSERT_TRUE(realm_.waits(waiting.id));
  ASSERT_TRUE(realm_.release(kAnnInS1, held.id));
  EXPECT_TRUE(realm_.holds(waiting.id));
}

TEST_P(Simulated, I9ARenewalOfAHandoffToADeadProcessIsLost) {
  const Lease held = realm_.granted(kAnnInS1, {x("a")});
  AcquireRequest request = realm_.wait(kBob, {x("a")});
  request.attachment = process(88);
  const Lease waiting = realm_.queued(request);
  ASSERT_TRUE(realm_.release(kAnnInS1, held.id));
  realm_.kill(88);  // the command that was to hold it, before anybody confirmed
  const auto renewed = realm_.renew(kBob, waiting.id);
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().code, Code::kLost);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kGranted);
}

TEST_P(Simulated, L8AReleaseSucceedsWhereItsWaitersHaveTooMuchToLookAtForOneCommit) {
  // The first may be looked at and leaves too little for the second, whichever is looked at first.
  for (const auto& [in_src, in_lib] : {std::pair(5, 39), std::pair(39, 5), std::pair(20, 20)}) {
    const int rows = std::max(in_src, in_lib);
    const Lease first = realm_.granted(kAnnInS1, {x("src/0"), x("lib/0")});
    const Lease bob = realm_.queued(kBob, {x("src/")});
    const Lease cat = realm_.queued(kCat, {x("lib/")});
    std::vector<Lease> others;
    for (int i = 1; i <= rows; ++i) {
      // Ann passes both, who wait for her; on a store with a budget until that is used up.
      for (const std::string folder : {"src/", "lib/"}) {
        if (i > (folder == "src/" ? in_src : in_lib)) continue;
        const auto more = realm_.acquire(realm_.ask(kAnnInS1, {x(folder + std::to_string(i))}));
        if (more) others.push_back(more->lease);
      }
    }
    EXPECT_TRUE(realm_.release(kAnnInS1, first.id)) << rows;
    for (const Lease& lease : others) EXPECT_TRUE(realm_.release(kAnnInS1, lease.id)) << rows;
    realm_.maintain();
    EXPECT_TRUE(realm_.holds(bob.id)) << rows;
    EXPECT_TRUE(realm_.holds(cat.id)) << rows;
    ASSERT_TRUE(realm_.release(kBob, bob.id));
    ASSERT_TRUE(realm_.release(kCat, cat.id));
  }
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
  realm_.granted(kAnnInS1, claims);
  const std::uint64_t before = realm_.store().version();
  std::size_t released = 0;
  ASSERT_TRUE(realm_.run([&](Table& table) {
    auto reply = table.release(kAnnInS1, resources);
    if (reply) released += reply->released.size();
    return reply;
  }));
  EXPECT_EQ(released, 25u);
  EXPECT_EQ(realm_.store().version() - before, 3u);
}

// A process that dies in the middle of somebody's transaction: alive when first asked about.
class Fickle final : public Prober {
 public:
  Alive probe(const Attachment& attachment) const override {
    if (attachment.slot != 99) return Alive::kAlive;
    return asked_++ < alive_for ? Alive::kAlive : Alive::kDead;
  }
  int alive_for = 0;

 private:
  mutable int asked_ = 0;
};

TEST_P(Simulated, Rule11NobodyBecomesTheChildOfALeaseThatEndsInTheSameCommit) {
  for (const bool presented : {true, false}) {
    AcquireRequest outer = realm_.ask(kAnnInS1, {x("src/")});
    outer.attachment = process(99);
    const Lease parent = realm_.granted(outer);
    AcquireRequest inner = realm_.wait(kSub, {x("src/a")});
    if (presented) {
      inner.under = parent.id;
      inner.under_fence = parent.fence();
    }
    for (int probes = 1; probes < 6; ++probes) {
      Fickle prober;
      prober.alive_for = probes;
      auto txn = realm_.store().begin(kv::Access::kWrite);
      const Context context{realm_.now(), realm_.store().epoch(), 500, &prober, realm_.limits};
      Table table(**txn, context);
      const auto reply = table.acquire(inner);
      const bool ended = !table.state().lease(parent.id).value();
      if (!ended) continue;
      EXPECT_EQ(reply.has_value(), !presented) << probes;
      EXPECT_TRUE(!reply || reply->lease.parent.empty()) << probes;
    }
    ASSERT_TRUE(realm_.release(kAnnInS1, parent.id));
  }
}

TEST_P(Simulated, Rule09AHandoffThatWasNotConfirmedBeforeAReboot) {
  realm_.granted(kAnnInS1, {x("a")});
  AcquireRequest request = realm_.wait(kBob, {x("a")});  // a detached lease, once confirmed
  request.terms.request_id = "r1";
  const Lease waiting = realm_.queued(request);
  ASSERT_TRUE(realm_.release(kAnnInS1, {"a"}));
  ASSERT_TRUE(realm_.holds(waiting.id));
  realm_.reboot();
  EXPECT_EQ(realm_.acquire(request).error().code, Code::kLost);
  EXPECT_EQ(realm_.poll(waiting.id).error().code, Code::kLost);
  realm_.granted(kCat, {x("a")});
}

// Where durability is `process`: the store is set aside at a reboot.
TEST_P(Simulated, I7_F11WhatEndedWithTheStoreOfBeforeIsToldAlsoAfterItsFirstUpkeep) {
  if (optimistic()) GTEST_SKIP() << "no store of that flavour is set aside";
  const Lease lease = realm_.granted(kAnnInS1, {x("a")});
  Realm next(GetParam());
  {
    auto former = realm_.store().begin(kv::Access::kRead);
    auto txn = next.store().begin(kv::Access::kWrite);
    ASSERT_TRUE(former && txn);
    const Context context{next.now(), next.store().epoch(), 1, &next.prober, next.limits};
    ASSERT_TRUE(end_by_reboot(**former, **txn, context));
    ASSERT_TRUE((*txn)->commit());
  }
  next.pass(1'000);
  next.maintain();
  const std::vector<LostLease> told = next.notices(kAnnInS1);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told.front().id, lease.id);
  EXPECT_EQ(told.front().cause, "reboot");
}

AcquireRequest edit_of(const Owner& owner, std::string_view path, std::string call) {
  AcquireRequest request = Realm::ask(owner, {x(path)});
  request.call = std::move(call);
  request.terms.ttl_ms = kNoEnd;
  return request;
}

// Else its session would not find it again, and it would outlive the turn.
TEST_P(Simulated, Rule16ASessionKnowsItsPartsAsLongAsTheyHoldSomething) {
  const auto reports = [&](const ReportRequest& request) {
    return realm_.run([&](Table& table) { return table.report(request); }).has_value();
  };
  ReportRequest done;
  done.owner = {"claude", "s/1"};
  done.done = {"c1"};
  const Lease lease = realm_.granted(edit_of(done.owner, "a", "c1"));
  ASSERT_TRUE(reports(done));
  for (int days = 0; days < 3; ++days) {
    realm_.pass(realm_.limits.remember_ms + 1);
    realm_.maintain();
  }
  ASSERT_TRUE(realm_.holds(lease.id));
  ReportRequest over;
  over.owner = {"claude", "s"};
  over.then = ReportRequest::Then::kTurnOver;
  ASSERT_TRUE(reports(over));
  EXPECT_FALSE(realm_.holds(lease.id));
}

// What lies in an edit that gave way is over, also where this commit has no room to end it.
TEST_P(Simulated, I5NobodyIsLetInUnderWhatEndedInTheSameCommit) {
  realm_.limits.ends_per_commit = 2;
  const Lease host = realm_.granted(edit_of(kAnnInS1, "a", "c1"));
  const auto under = [](AcquireRequest request, const Lease& parent) {
    request.under = parent.id;
    request.under_fence = parent.fence();
    return request;
  };
  AcquireRequest inside = under(Realm::ask(kBob, {x("b")}), host);
  inside.terms.ttl_ms = kNoEnd;
  const Lease guest = realm_.granted(inside);
  AcquireRequest dead = realm_.wait(kDan, {x("a"), x("c")});
  dead.waiting_process = process(9);
  realm_.queued(dead);
  const Lease next = realm_.queued(kAnn, {x("a")});
  realm_.pass(kUnreportedMs + 1);
  realm_.kill(9);
  const auto reply = realm_.acquire(under(Realm::ask(kCat, {x("c")}), guest));
  EXPECT_TRUE(realm_.holds(next.id));
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, Code::kLost);
}

}  // namespace
}  // namespace lockkeeper::core
