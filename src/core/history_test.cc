// Rule 13: the history; break; and telling the holder what it lost.
#include <gmock/gmock.h>

#include <algorithm>

#include "core/history.h"
#include "core/testing.h"

namespace lockkeeper::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Rule13 : public OnBothFlavours {};
LOCKKEEPER_ON_BOTH_FLAVOURS(Rule13);

TEST_P(Rule13, I11EveryGrantAndEndIsAnEventInCommitOrder) {
  realm_.granted(kAnn, {x("a"), x("b")});
  realm_.queued(kBob, {x("a")});
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {x("a")})), Outcome::kHeld);
  ASSERT_TRUE(realm_.release(kAnn, {"b"}));
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  realm_.pass(10'001);
  realm_.maintain();
  EXPECT_THAT(realm_.story(), ElementsAre("granted ann a,b", "queued bob a", "refused cat a [held]",
                                          "released ann b [part]", "released ann a",
                                          "granted bob a [handoff]", "ended bob a [unconfirmed]"));
  const std::vector<Event> events = realm_.events();
  for (std::size_t i = 1; i < events.size(); ++i) EXPECT_LT(events[i - 1].seq, events[i].seq);
}

TEST_P(Rule13, I3AnEventCarriesTheFenceOfItsGrant) {
  const Lease lease = realm_.granted(kAnn, {x("a")});
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  const std::vector<Event> events = realm_.events();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].fence, lease.fence());
  EXPECT_EQ(events[1].fence, lease.fence());
  EXPECT_EQ(events[0].lease, lease.id);
  EXPECT_EQ(events[0].seq / kv::kNumbersPerVersion, lease.created);
}

TEST_P(Rule13, ReadableFromAnyNumberOn) {
  for (int i = 0; i < 10; ++i) realm_.granted(kAnn, {x("f" + std::to_string(i))});
  const std::vector<Event> all = realm_.events();
  ASSERT_EQ(all.size(), 10U);
  auto txn = realm_.store().begin(kv::Access::kRead);
  const Context context{
      .now = realm_.now(), .epoch = realm_.store().epoch(), .prober = &realm_.prober, .limits = {}};
  State state(**txn, context);
  EXPECT_EQ(newest_event(state).value(), all.back().seq);
  const auto last = last_events(state, 3);
  ASSERT_TRUE(last && last->size() == 3);
  EXPECT_EQ(last->front().seq, all[7].seq);
  EXPECT_EQ(last->back().seq, all[9].seq);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto page = events_after(state, all[i].seq, 4);
    ASSERT_TRUE(page.has_value());
    ASSERT_EQ(page->size(), std::min<std::size_t>(4, all.size() - i - 1));
    if (!page->empty()) {
      EXPECT_EQ(page->front().seq, all[i + 1].seq);
    }
  }
}

TEST_P(Rule13, L8RetentionIsBounded) {
  realm_.limits.events_kept = 20;
  for (int i = 0; i < 100; ++i) {
    realm_.granted(kAnn, {x("a")});
    ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  }
  for (int i = 0; i < 20; ++i) realm_.maintain(1'000);
  const std::vector<Event> events = realm_.events();
  EXPECT_EQ(events.size(), 20U);
  EXPECT_EQ(events.back().what, "released");  // the oldest went
}

// A commit of many events counts as many, and what others write into the store as none.
TEST_P(Rule13, L8RetentionCountsEventsNotCommits) {
  realm_.limits.events_kept = 20;
  for (int i = 0; i < 25; ++i) realm_.granted(kAnn, {x("f" + std::to_string(i))});
  for (int i = 0; i < 100; ++i) {
    auto txn = realm_.store().begin(kv::Access::kWrite);
    ASSERT_TRUE((*txn)->put("zz", std::to_string(i)) && (*txn)->commit());
  }
  for (int i = 0; i < 3; ++i) realm_.maintain(1'000);
  EXPECT_EQ(realm_.events().size(), 20U);
  std::vector<LeaseId> ids;
  for (const Lease& lease : realm_.leases()) ids.push_back(lease.id);
  ids.resize(12);
  ASSERT_TRUE(realm_.run([&](Table& table) { return table.release_leases(kAnn, ids); }));
  for (int i = 0; i < 3; ++i) realm_.maintain(1'000);
  const std::vector<Event> events = realm_.events();
  ASSERT_EQ(events.size(), 20U);
  EXPECT_EQ(std::ranges::count(events, "released", &Event::what), 12);
}

// Of a store whose events nobody has counted yet, nothing that is to be kept goes.
TEST_P(Rule13, L8AStoreThatWasNeverCountedIsCountedFromItsBeginning) {
  realm_.limits.events_kept = 20;
  for (int i = 0; i < 30; ++i) realm_.granted(kAnn, {x("f" + std::to_string(i))});
  auto txn = realm_.store().begin(kv::Access::kWrite);
  ASSERT_TRUE((*txn)->erase(kHistoryKey) && (*txn)->commit());
  txn->reset();
  const std::uint64_t newest = realm_.events().back().seq;
  for (int i = 0; i < 5; ++i) realm_.maintain(1'000);
  EXPECT_EQ(realm_.events().size(), 20U);
  EXPECT_EQ(realm_.events().back().seq, newest);
}

TEST_P(Rule13, L8WhenAllIsForgottenCountingBeginsAnew) {
  realm_.limits.events_kept = 20;
  for (int i = 0; i < 30; ++i) realm_.granted(kAnn, {x("f" + std::to_string(i))});
  ASSERT_TRUE(realm_.run([](Table& table) { return forget_history(table.state(), 1'000); }));
  EXPECT_TRUE(realm_.events().empty());
  for (int i = 30; i < 45; ++i) realm_.granted(kAnn, {x("f" + std::to_string(i))});
  for (int i = 0; i < 3; ++i) realm_.maintain(1'000);
  EXPECT_EQ(realm_.events().size(), 15U);
}

TEST_P(Rule13, L8AcquireTrimsNowAndThenToo) {
  realm_.limits.events_kept = 20;
  realm_.auditing = false;
  for (int i = 0; i < 500; ++i) realm_.granted(kAnn, {x("f" + std::to_string(i))});
  EXPECT_LT(realm_.events().size(), 200U);
}

TEST_P(Rule13, L8RefusalsAreCoalesced) {
  realm_.granted(kAnn, {x("a"), x("b")});
  const auto refusals = [&] {
    const auto story = realm_.story();
    return std::ranges::count_if(story,
                                 [](const auto& line) { return line.starts_with("refused"); });
  };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  EXPECT_EQ(refusals(), 1);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("b")})), Outcome::kHeld);  // other resources
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {x("a")})), Outcome::kHeld);  // another owner
  EXPECT_EQ(refusals(), 3);
  ASSERT_TRUE(realm_.renew(kAnn, realm_.leases()[0].id, 3'600'000));
  realm_.pass(60'001);
  realm_.maintain();
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  EXPECT_EQ(refusals(), 4);
}

TEST_P(Rule13, L8NothingIsLeftOfWhatWasRememberedOnceItsTimeIsOver) {
  AcquireRequest request = realm_.ask(kAnn, {x("a")});
  request.terms.request_id = "r";
  realm_.granted(request);
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
  realm_.pass(60'001);
  realm_.maintain();
  realm_.pass(kDayMs + 1);
  realm_.maintain();
  for (const auto& [key, value] : realm_.rows()) {
    EXPECT_TRUE(key[0] == 'e' || key == kHistoryKey) << key;
  }
}

// --- break ---------------------------------------------------------------------------------------

TEST_P(Rule13, I11ABreakIsOnRecordWithWhoAndWhy) {
  const Lease lease = realm_.granted(kAnn, {x("a")});
  const auto broken = realm_.break_lease({.by = kBob, .reason = "stuck"}, lease.id);
  ASSERT_TRUE(broken.has_value());
  ASSERT_EQ(broken->size(), 1U);
  EXPECT_EQ((*broken)[0].id, lease.id);
  const Event last = realm_.events().back();
  EXPECT_EQ(last.what, "broken");
  EXPECT_EQ(last.by, kBob);
  EXPECT_EQ(last.reason, "stuck");
  EXPECT_EQ(last.fence, lease.fence());
}

TEST_P(Rule13, BreakOnlyExpiredLeavesTheLiving) {
  const Lease lease = realm_.granted(kAnn, {x("a")});
  const BreakRequest how{.by = kBob, .reason = "tidy", .only_expired = true};
  EXPECT_TRUE(realm_.break_lease(how, lease.id)->empty());
  realm_.pass(60'001);
  EXPECT_EQ(realm_.break_lease(how, lease.id)->size(), 1U);
}

TEST_P(Rule13, I10BreakOnlyDeadLeavesTheLivingAndTheUnknown) {
  AcquireRequest request = realm_.ask(kAnn, {x("a")});
  request.attachment = process(7);
  request.terms.orphan_grace_ms = 30'000;
  const Lease lease = realm_.granted(request);
  const Lease detached = realm_.granted(kAnn, {x("b")});
  const BreakRequest how{.by = kBob, .reason = "tidy", .only_dead = true};
  EXPECT_TRUE(realm_.break_lease(how, lease.id)->empty());
  realm_.prober.set(7, Alive::kUnknown);
  EXPECT_TRUE(realm_.break_lease(how, lease.id)->empty());
  realm_.kill(7);
  EXPECT_EQ(realm_.break_lease(how, lease.id)->size(), 1U);  // its grace notwithstanding
  EXPECT_TRUE(realm_.break_lease(how, detached.id)->empty());
}

TEST_P(Rule13, BreakOfWhatIsGoneIsNothing) {
  EXPECT_TRUE(realm_.break_lease({.by = kBob, .reason = "x"}, make_id(kAnn, 5))->empty());
}

// --- I7: what was lost ---------------------------------------------------------------------------

TEST_P(Rule13, I7WhatWasLostIsToldOnce) {
  const Lease lease = realm_.granted(kAnn, {x("a")});
  ASSERT_TRUE(realm_.break_lease({.by = kBob, .reason = "stuck"}, lease.id));
  const std::vector<LostLease> told = realm_.notices(kAnn);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].id, lease.id);
  EXPECT_EQ(told[0].cause, "broken");
  EXPECT_EQ(told[0].reason, "stuck");
  EXPECT_EQ(told[0].by, kBob);
  EXPECT_EQ(told[0].fence, lease.fence());
  EXPECT_THAT(told[0].resources, ElementsAre("a"));
  EXPECT_THAT(realm_.notices(kAnn), IsEmpty());
  EXPECT_THAT(realm_.notices(kBob), IsEmpty());
  // Renewing still says so.
  EXPECT_EQ(realm_.renew(kAnn, lease.id).error().code, Code::kLost);
}

TEST_P(Rule13, I7EveryWayOfLosingIsToldWithItsCause) {
  AcquireRequest mortal = realm_.ask(kAnn, {x("dead")});
  mortal.attachment = process(7);
  realm_.granted(mortal);
  AcquireRequest brief = realm_.ask(kAnn, {x("brief")});
  brief.terms.ttl_ms = 10;
  realm_.granted(brief);
  const Lease parent = realm_.granted(kBob, {x("sub/")});
  AcquireRequest inner = realm_.ask(kAnn, {x("sub/a")});
  inner.under = parent.id;
  inner.under_fence = parent.fence();
  realm_.granted(inner);
  realm_.kill(7);
  realm_.pass(11);
  EXPECT_EQ(realm_.outcome(realm_.ask(kCat, {x("dead"), x("brief")})), Outcome::kGranted);
  ASSERT_TRUE(realm_.release(kBob, parent.id));
  std::vector<std::string> causes;
  for (const LostLease& lost : realm_.notices(kAnn)) {
    causes.push_back(lost.resources.at(0) + " " + lost.cause);
  }
  EXPECT_THAT(causes,
              testing::UnorderedElementsAre("dead died", "brief expired", "sub/a parent_ended"));
}

TEST_P(Rule13, I7AReleaseOfOnesOwnIsNoLoss) {
  realm_.granted(kAnn, {x("a")});
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  EXPECT_THAT(realm_.notices(kAnn), IsEmpty());
}

TEST_P(Rule13, I7ALongRecordOfOldLossesDoesNotHideANewOne) {
  realm_.auditing = false;
  for (int i = 0; i < 130; ++i) {
    AcquireRequest brief = realm_.ask(kAnn, {x("a")});
    brief.terms.ttl_ms = 1;
    realm_.granted(brief);
    realm_.pass(2);
  }
  realm_.maintain();
  std::size_t told = 0;
  for (int i = 0; i < 20; ++i) told += realm_.notices(kAnn).size();
  EXPECT_EQ(told, 130U);
  const Lease lease = realm_.granted(kAnn, {x("a")});
  ASSERT_TRUE(realm_.break_lease({.by = kBob, .reason = "stuck"}, lease.id));
  EXPECT_EQ(realm_.notices(kAnn).size(), 1U);
}

}  // namespace
}  // namespace lockkeeper::core
