// What a decision depends on, where others may commit meanwhile: a grant on all that was read,
// a place in the queue on what is before it and on the waits of others, a refusal on nothing.
#include <algorithm>

#include "core/testing.h"

namespace lockkeeper::core {
namespace {

const Owner kBobInS1{"bob", "s1"};
const Owner kCatInS1{"cat", "s1"};

class Guards : public OnBothFlavours {
 protected:
  // Does something, lets others do something, and then commits: what becomes of it?
  kv::Fate race(const std::function<void(Table&)>& something,
                const std::function<void()>& meanwhile) {
    const Context now{.now = realm_.now(),
                      .epoch = realm_.store().epoch(),
                      .ticket = ++ticket_,
                      .prober = &realm_.prober,
                      .limits = realm_.limits};
    auto txn = realm_.store().begin(kv::Access::kWrite);
    Table table(**txn, now);
    something(table);
    meanwhile();
    const auto done = (*txn)->commit();
    EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message);
    txn->reset();
    realm_.audit();
    return done ? done->fate : kv::Fate::kConflict;
  }
  kv::Fate race(const AcquireRequest& request, Outcome expected,
                const std::function<void()>& meanwhile) {
    const auto ask = [&](Table& table) {
      const auto reply = table.acquire(request);
      EXPECT_TRUE(reply.has_value()) << (reply ? "" : reply.error().message);
      EXPECT_EQ(reply ? reply->outcome : Outcome::kTimeout, expected);
    };
    return race(ask, meanwhile);
  }

  std::vector<Lease> many_below(const std::string& folder, int count) {
    std::vector<Lease> leases;
    for (int i = 0; i < count; ++i) {
      const Owner owner{"agent" + std::to_string(i), "s"};
      leases.push_back(realm_.granted(owner, {x(folder + "f" + std::to_string(i))}));
    }
    return leases;
  }

 private:
  std::uint64_t ticket_ = 1'000'000;
};
LOCKKEEPER_ON_BOTH_FLAVOURS(Guards);

TEST_P(Guards, L8AFolderWithManyLeasesBelowItIsHeldHoweverManyThereAre) {
  const std::vector<Lease> below = many_below("src/", 150);
  const auto refused = realm_.acquire(Realm::ask(kAnnInS1, {x("src/")}));
  ASSERT_TRUE(refused.has_value()) << refused.error().message;
  EXPECT_EQ(refused->outcome, Outcome::kHeld);
  EXPECT_EQ(refused->conflicts.size(), 150U);
  const Lease waiter = realm_.queued(kAnnInS1, {x("src/")});
  const auto still = realm_.poll(waiter.id);
  ASSERT_TRUE(still.has_value()) << still.error().message;
  EXPECT_EQ(still->conflicts.size(), 150U);
  for (const Lease& lease : below) ASSERT_TRUE(realm_.release(lease.owner, lease.id));
  const auto granted = realm_.poll(waiter.id);
  ASSERT_TRUE(granted.has_value()) << granted.error().message;
  EXPECT_EQ(granted->outcome, Outcome::kGranted);
}

// The same for one that holds something, so that somebody may be waiting for it.
TEST_P(Guards, L8AHolderMayWaitForAFolderWithManyLeasesBelowIt) {
  realm_.granted(kAnnInS1, {x("docs/")});
  many_below("src/", 150);
  realm_.queued(kAnnInS1, {x("src/")});
}

TEST_P(Guards, L8ALongQueueForOnePathIsServedInItsOrder) {
  realm_.auditing = false;
  const Lease held = realm_.granted(kAnnInS1, {x("a")});
  std::vector<Lease> waiting;
  for (int i = 0; i < 150; ++i) {
    waiting.push_back(realm_.queued({"agent" + std::to_string(i), "s"}, {x("a")}));
  }
  ASSERT_TRUE(realm_.release(kAnnInS1, held.id));
  for (const Lease& waiter : waiting) {
    const auto reply = realm_.poll(waiter.id);
    ASSERT_TRUE(reply.has_value()) << reply.error().message;
    ASSERT_EQ(reply->outcome, Outcome::kGranted);
    ASSERT_TRUE(realm_.release(waiter.owner, waiter.id));
  }
  realm_.audit();
}

TEST_P(Guards, L8WhatManyHoldCanBeGivenBack) {
  realm_.auditing = false;
  std::vector<Lease> readers;
  for (int i = 0; i < 150; ++i) {
    readers.push_back(realm_.granted({"agent" + std::to_string(i), "s"}, {s("a")}));
  }
  for (const Lease& reader : readers) {
    const auto reply = realm_.release(reader.owner, {"a"});
    ASSERT_TRUE(reply.has_value()) << reply.error().message;
    EXPECT_EQ(reply->released.size(), 1U);
  }
  realm_.audit();
}

// What has expired is cleared away in as many commits as it takes, and then the request is decided.
TEST_P(Guards, L8MuchThatIsOverInOnesWay) {
  for (int i = 0; i < 60; ++i) realm_.granted(kAnnInS1, {x("src/f" + std::to_string(i))});
  realm_.pass(60'001);
  realm_.granted(kAnnInS1, {x("src/")});
}

TEST_P(Guards, L8MuchThatIsOverOfAnAgentAtItsLimit) {
  realm_.limits.claims_per_agent = 60;
  for (int i = 0; i < 60; ++i) realm_.granted(kAnnInS1, {x("src/f" + std::to_string(i))});
  realm_.pass(60'001);
  AcquireRequest request = Realm::ask(kAnnInS1, {});
  for (int i = 0; i < 20; ++i) request.claims.push_back(x("d" + std::to_string(i)));
  realm_.granted(request);
}

TEST_P(Guards, I1AGrantDependsOnAllThatWasLookedAt) {
  if (!optimistic()) GTEST_SKIP() << "nobody else can commit meanwhile";
  const auto meanwhile = {x("src/a"), x("src/"), x("src/*"), s("src/a"), x("src/a/b")};
  for (const Claim& claim : meanwhile) {
    SCOPED_TRACE(claim.resource.text());
    Lease taken;
    EXPECT_EQ(race(Realm::ask(kAnnInS1, {x("src/a")}), Outcome::kGranted,
                   [&] { taken = realm_.granted(kBobInS1, {claim}); }),
              kv::Fate::kConflict);
    ASSERT_TRUE(realm_.release(kBobInS1, taken.id));
  }
  EXPECT_EQ(race(Realm::ask(kAnnInS1, {x("src/a")}), Outcome::kGranted,
                 [&] { realm_.granted(kBobInS1, {x("src/b")}); }),
            kv::Fate::kCommitted);
}

// A part of s is let into what s works in, as long as s does.
TEST_P(Guards, I1BeingLetInDependsOnWhoLetsUsIn) {
  if (!optimistic()) GTEST_SKIP() << "nobody else can commit meanwhile";
  const Lease host = realm_.granted(kBobInS1, {x("src/")});
  AcquireRequest inside = Realm::ask({"ann", "s"}, {x("src/a")});
  inside.under = host.id;
  inside.under_fence = host.fence();
  const Lease child = realm_.granted(inside);
  EXPECT_EQ(race(Realm::ask({"sub", "s/x"}, {x("src/b")}), Outcome::kGranted,
                 [&] { ASSERT_TRUE(realm_.release(inside.owner, child.id)); }),
            kv::Fate::kConflict);
}

// The guest sees no cycle when it joins the queue. Its host draws the edge, and must wake it.
TEST_P(Guards, L5AGrantThatPassesOthersDependsOnWhoHasBegunToWaitUnderItsLeases) {
  if (!optimistic()) GTEST_SKIP() << "nobody else can commit meanwhile";
  const Lease host = realm_.granted(kBobInS1, {x("src/a")});
  realm_.granted(kAnnInS1, {x("src/b")});
  realm_.queued({"dan", "s"}, {x("src/b")});  // the queue is not empty
  AcquireRequest guest = realm_.wait(kCatInS1, {s("src/")});
  guest.under = host.id;
  guest.under_fence = host.fence();
  AcquireRequest more = Realm::ask(kBobInS1, {x("src/a")});
  more.anew = true;
  EXPECT_EQ(race(more, Outcome::kGranted, [&] { realm_.queued(guest); }), kv::Fate::kConflict);
}

TEST_P(Guards, L4AGrantDependsOnWhoHasBegunToWait) {
  if (!optimistic()) GTEST_SKIP() << "nobody else can commit meanwhile";
  realm_.granted(kBobInS1, {x("src/b")});
  EXPECT_EQ(race(Realm::ask(kAnnInS1, {x("src/a")}), Outcome::kGranted,
                 [&] { realm_.queued(kCatInS1, {x("src/")}); }),
            kv::Fate::kConflict);
}

TEST_P(Guards, I9ARefusalDependsOnNothing) {
  if (!optimistic()) GTEST_SKIP() << "nobody else can commit meanwhile";
  const Lease held = realm_.granted(kBobInS1, {x("src/b")});
  EXPECT_EQ(race(Realm::ask(kAnnInS1, {x("src/")}), Outcome::kHeld,
                 [&] {
                   ASSERT_TRUE(realm_.release(kBobInS1, held.id));
                   realm_.granted(kCatInS1, {x("src/c")});
                 }),
            kv::Fate::kCommitted);
}

TEST_P(Guards, L4AQueuedRequestDependsOnWhatItIsFiledUnder) {
  if (!optimistic()) GTEST_SKIP() << "nobody else can commit meanwhile";
  const Lease held = realm_.granted(kBobInS1, {x("src/b")});
  EXPECT_EQ(race(realm_.wait(kAnnInS1, {x("src/")}), Outcome::kQueued,
                 [&] { ASSERT_TRUE(realm_.release(kBobInS1, held.id)); }),
            kv::Fate::kConflict);
  realm_.granted(kBobInS1, {x("src/b")});
  EXPECT_EQ(race(realm_.wait(kAnnInS1, {x("src/")}), Outcome::kQueued,
                 [&] { realm_.granted(kCatInS1, {x("src/c")}); }),
            kv::Fate::kCommitted);
}

// Filed under the lease, because the one that came in between was not seen: it is served first.
TEST_P(Guards, L4WhoCameInBetweenUnseenIsNotPassed) {
  if (!optimistic()) GTEST_SKIP() << "nobody else can commit meanwhile";
  const Lease held = realm_.granted(kBobInS1, {x("a")});
  Lease between;
  const AcquireRequest request = realm_.wait(kAnnInS1, {x("a"), x("b")});
  EXPECT_EQ(
      race(request, Outcome::kQueued, [&] { between = realm_.queued(kCatInS1, {x("a"), x("b")}); }),
      kv::Fate::kCommitted);
  ASSERT_TRUE(realm_.release(kBobInS1, held.id));
  ASSERT_EQ(realm_.leases().size(), 1U);
  EXPECT_EQ(realm_.leases().front().id, between.id);
}

TEST_P(Guards, L5TwoThatCloseACycleTogetherDoNotBothWait) {
  if (!optimistic()) GTEST_SKIP() << "nobody else can commit meanwhile";
  realm_.granted(kAnnInS1, {x("a")});
  realm_.granted(kBobInS1, {x("b")});
  EXPECT_EQ(race(realm_.wait(kAnnInS1, {x("b")}), Outcome::kQueued,
                 [&] { realm_.queued(kBobInS1, {x("a")}); }),
            kv::Fate::kConflict);
  EXPECT_EQ(realm_.outcome(realm_.wait(kAnnInS1, {x("b")})), Outcome::kDeadlock);
}

// A walk through them reads more than a commit of this store can guard.
TEST_P(Guards, L5ManyThatHoldSomethingWaitInOneLine) {
  realm_.granted({"holder", ""}, {x("hot")});
  constexpr int kMany = 50;
  const auto who = [](int i) { return Owner{"agent" + std::to_string(i), ""}; };
  for (int i = 0; i < kMany; ++i) {
    realm_.granted(who(i), {x("own" + std::to_string(i))});
    EXPECT_EQ(realm_.queued(who(i), {x("hot")}).owner, who(i));
  }
  EXPECT_EQ(realm_.outcome(realm_.wait({"holder", ""}, {x("own49")})), Outcome::kDeadlock);
}

// Neither sees the other when it joins the queue, because a commit cannot guard all that it has
// looked at. Each looks again before it sleeps, and one of them leaves.
TEST_P(Guards, L5TwoThatCloseALongCycleTogetherDoNotBothWait) {
  if (!optimistic()) GTEST_SKIP() << "nobody else can commit meanwhile";
  constexpr int kHalf = 20;
  constexpr int kLong = 2 * kHalf;
  const auto who = [](int i) { return Owner{"agent" + std::to_string(i), ""}; };
  const auto what = [](int i) { return x("r" + std::to_string(i % kLong)); };
  for (int i = 0; i < kLong; ++i) realm_.granted(who(i), {what(i)});
  const auto waits = [&](int i) { return realm_.wait(who(i), {what(i + 1)}); };
  for (int i = 0; i + 1 < kLong; ++i) {
    if (i + 1 != kHalf) realm_.queued(waits(i));
  }
  Lease meanwhile;
  Lease last;
  const auto joins = [&](Table& table) {
    const auto reply = table.acquire(waits(kHalf - 1));
    ASSERT_TRUE(reply.has_value()) << reply.error().message;
    EXPECT_EQ(reply->outcome, Outcome::kQueued);
    last = reply->lease;
  };
  EXPECT_EQ(race(joins, [&] { meanwhile = realm_.queued(waits(kLong - 1)); }),
            kv::Fate::kCommitted);
  // Both look at the same moment.
  const auto looks = [&](Table& table) {
    const auto reply = table.poll(last.id);
    ASSERT_TRUE(reply.has_value()) << reply.error().message;
    EXPECT_EQ(reply->outcome, Outcome::kDeadlock);
    EXPECT_EQ(reply->cycle.size(), static_cast<std::size_t>(kLong));
  };
  const auto other_looks = [&] {
    EXPECT_EQ(realm_.poll(meanwhile.id)->outcome, Outcome::kDeadlock);
  };
  EXPECT_EQ(race(looks, other_looks), kv::Fate::kConflict);
  EXPECT_EQ(realm_.poll(last.id)->outcome, Outcome::kQueued);
  EXPECT_EQ(realm_.waiters().size(), static_cast<std::size_t>(kLong - 1));
}

// Its own conflicts are the first edge of a cycle, too.
TEST_P(Guards, L5AHoldersOwnSearchIsPartOfTheCycle) {
  if (!optimistic()) GTEST_SKIP() << "nobody else can commit meanwhile";
  realm_.granted(kAnnInS1, {x("a")});
  realm_.granted(kBobInS1, {x("src/b")});
  realm_.queued(kCatInS1, {x("a")});
  EXPECT_EQ(race(realm_.wait(kAnnInS1, {x("src/")}), Outcome::kQueued,
                 [&] { realm_.granted(kCatInS1, {x("src/c")}); }),
            kv::Fate::kConflict);
  EXPECT_EQ(realm_.outcome(realm_.wait(kAnnInS1, {x("src/")})), Outcome::kDeadlock);
}

// --- the quota -----------------------------------------------------------------------------------

// Otherwise the row of a loss comes back, with nothing left that would ever remove it.
TEST_P(Guards, I7ToldOfALossThatIsForgottenAtTheSameMoment) {
  if (!optimistic()) GTEST_SKIP() << "there is one writer at a time";
  const Lease lease = realm_.granted(kAnnInS1, {x("a")});
  ASSERT_TRUE(realm_.break_lease({.by = kBobInS1, .reason = "r"}, lease.id));
  const auto hears = [&](Table& table) {
    const auto notices = table.take_lost_notices(kAnnInS1);
    ASSERT_TRUE(notices.has_value());
    EXPECT_EQ(notices->size(), 1U);
  };
  const auto a_day_passes = [&] {
    realm_.pass(realm_.limits.remember_ms + 1);
    realm_.maintain();
  };
  EXPECT_EQ(race(hears, a_day_passes), kv::Fate::kConflict);
}

TEST_P(Guards, TwoSessionsOfOneAgentDoNotCollide) {
  if (!optimistic()) GTEST_SKIP() << "nobody else can commit meanwhile";
  const Owner one{"claude-code", "one"};
  const Owner two{"claude-code", "two"};
  realm_.granted(one, {x("a")});
  const Lease other = realm_.granted(two, {x("b")});
  EXPECT_EQ(
      race(Realm::ask(one, {x("c")}), Outcome::kGranted, [&] { realm_.granted(two, {x("d")}); }),
      kv::Fate::kCommitted);
  EXPECT_EQ(race(Realm::ask(one, {x("e")}), Outcome::kGranted,
                 [&] { ASSERT_TRUE(realm_.release(two, other.id)); }),
            kv::Fate::kCommitted);
  realm_.audit();
}

TEST_P(Guards, L8AllSessionsOfAnAgentShareItsLimit) {
  realm_.limits.claims_per_agent = 4;
  for (const char* const session : {"one", "two", "three", "four"}) {
    realm_.granted({"claude-code", session}, {x(session)});
  }
  const auto refused = realm_.acquire(Realm::ask({"claude-code", "five"}, {x("five")}));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kLimitExceeded);
  realm_.granted({"another", "five"}, {x("five")});
}

// Each request is decided on a state within the limit; of those that commit at the same moment each
// may be the last one that fits.
TEST_P(Guards, L8OnlyWhoAsksAtTheSameMomentMayPassTheLimitTogether) {
  if (!optimistic()) GTEST_SKIP() << "nobody else can commit meanwhile";
  realm_.limits.claims_per_agent = 2;
  const Owner one{"claude-code", "one"};
  const Owner two{"claude-code", "two"};
  realm_.granted(one, {x("a")});
  EXPECT_EQ(
      race(Realm::ask(one, {x("b")}), Outcome::kGranted, [&] { realm_.granted(two, {x("c")}); }),
      kv::Fate::kCommitted);
  EXPECT_FALSE(realm_.acquire(Realm::ask(two, {x("d")})).has_value());
  // One owner alone never does: its own counter is guarded.
  realm_.limits.claims_per_agent = 4;
  EXPECT_EQ(
      race(Realm::ask(one, {x("e")}), Outcome::kGranted, [&] { realm_.granted(one, {x("f")}); }),
      kv::Fate::kConflict);
}

// A store with one writer has the counter that it always had, others have one for each session.
TEST_P(Guards, AStoreHasOneKindOfCounter) {
  const Owner owner{"claude-code", "one"};
  realm_.granted(owner, {x("a"), x("b")});
  const auto rows = realm_.rows();
  EXPECT_EQ(rows.contains(counter_key(owner)), !optimistic());
  EXPECT_EQ(rows.contains(session_counter_key(owner)), optimistic());
  realm_.granted({"claude-code", "two"}, {x("c")});
  ASSERT_TRUE(realm_.release(owner, {"a", "b"}));
  EXPECT_FALSE(realm_.rows().contains(session_counter_key(owner)));
  if (!optimistic()) {
    EXPECT_EQ(decode_counter(realm_.rows().at(counter_key(owner))).value(), 1U);
  }
}

}  // namespace
}  // namespace lockkeeper::core
