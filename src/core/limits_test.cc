// Rule 14 (L8): a limit on everything, each with its name.
#include <gmock/gmock.h>

#include "core/testing.h"

namespace lockkeeper::core {
namespace {

using testing::HasSubstr;

class Rule14 : public OnBothFlavours {
 protected:
  static std::vector<Claim> files(int count) {
    std::vector<Claim> claims;
    for (int i = 0; i < count; ++i) claims.push_back(x("dir/f" + std::to_string(i)));
    return claims;
  }
  void expect_limit(const AcquireRequest& request, const std::string& words) {
    const auto before = realm_.rows();
    const auto reply = realm_.acquire(request);
    ASSERT_FALSE(reply.has_value()) << words;
    EXPECT_EQ(reply.error().code, Code::kLimitExceeded);
    EXPECT_THAT(reply.error().message, HasSubstr(words));
    EXPECT_FALSE(reply.error().hint.empty());
    EXPECT_EQ(realm_.rows(), before);
  }
};
LOCKKEEPER_ON_BOTH_FLAVOURS(Rule14);

TEST_P(Rule14, L8ResourcesPerRequest) {
  expect_limit(realm_.ask(kAnn, files(10'001)),
               "10001 resources in one request; the limit is 10000");
}

TEST_P(Rule14, L8TenThousandResourcesAreTakenRefusedCheckedRenewedQueuedAndReleased) {
  if (optimistic()) GTEST_SKIP() << "a commit of this store takes 100 writes";
  realm_.auditing = false;
  const std::vector<Claim> all = files(10'000);
  const Lease lease = realm_.granted(kAnn, all);
  EXPECT_EQ(realm_.outcome(realm_.ask(kAnn, all)), Outcome::kRenewed);
  const auto refused = realm_.acquire(realm_.ask(kBob, all));
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->conflicts.size(), 10'000U);
  EXPECT_EQ(refused->conflicts.back().holder.id, lease.id);
  const auto check = realm_.check(realm_.ask(kBob, all), lease.fence());
  EXPECT_EQ(check->conflicts.size(), 10'000U);
  EXPECT_TRUE(check->fence_current);
  EXPECT_TRUE(realm_.check(realm_.ask(kAnn, all))->mine);
  const Lease second = realm_.queued(kBob, all);
  const Lease third = realm_.queued(kCat, all);
  ASSERT_TRUE(realm_.release(kAnn, lease.id));
  EXPECT_TRUE(realm_.holds(second.id));
  EXPECT_FALSE(realm_.holds(third.id));
}

TEST_P(Rule14, L8RequestsOfAnySizeMoveOnInTheQueueOfAStoreWithABudget) {
  // Waiters whose search costs more than is left of a commit must not make another's release fail.
  std::vector<Claim> wide;
  for (int i = 0; i < 8; ++i) wide.push_back(x("w" + std::to_string(i)));
  realm_.granted(kAnn, wide);
  std::vector<Lease> waiting;
  for (const char* name : {"n1", "n2", "n3", "n4"})
    waiting.push_back(realm_.queued({name, ""}, wide));
  Owner holder = kAnn;
  for (const Lease& next : waiting) {
    std::vector<key::Resource> resources;
    for (const Claim& claim : wide) resources.push_back(claim.resource);
    const auto id = realm_.leases().front().id;
    const auto reply = realm_.release(holder, id);
    ASSERT_TRUE(reply.has_value()) << reply.error().message;
    for (int i = 0; !realm_.holds(next.id) && i < 10; ++i) realm_.maintain();
    ASSERT_TRUE(realm_.holds(next.id));
    holder = next.owner;
  }
}

TEST_P(Rule14, L8WhatOthersLeftToDoDoesNotUseUpARequestsBudget) {
  realm_.granted(kAnn, {x("a")});
  for (int i = 0; i < 30; ++i) realm_.queued({"reader" + std::to_string(i), ""}, {s("a")});
  realm_.pass(60'001);  // whoever comes next ends ann's lease and serves the readers
  std::vector<Claim> deep;
  for (int i = 0; i < 9; ++i) deep.push_back(x("p/q/r/" + std::to_string(i)));
  const auto reply = realm_.acquire(realm_.ask(kBob, deep));
  ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(reply->outcome, Outcome::kGranted);
}

TEST_P(Rule14, L8ResourcesPerAgent) {
  realm_.limits.claims_per_agent = 5;
  realm_.granted(kAnn, {x("a"), x("b"), x("c")});
  realm_.granted({"ann", "other session"}, {x("d")});
  expect_limit(realm_.ask(kAnn, {x("e"), x("f")}),
               "agent ann holds 4 resources and asks for 2 more");
  realm_.granted(kAnn, {x("e")});
  expect_limit(realm_.ask(kAnn, {x("g")}), "the limit is 5");
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  realm_.granted(kAnn, {x("g")});
  realm_.granted(kBob, {x("h")});  // per agent
}

TEST_P(Rule14, L8AWaitCountsBeforeItIsQueued) {
  realm_.limits.claims_per_agent = 1;
  realm_.granted(kAnn, {x("a")});
  realm_.granted(kBob, {x("b")});
  expect_limit(realm_.wait(kAnn, {x("b")}), "the limit is 1");
}

TEST_P(Rule14, L8WhatWaitsCountsSoThatAHandoffKeepsTheLimit) {
  realm_.limits.claims_per_agent = 2;
  realm_.granted(kBob, {x("a"), x("b")});
  const Lease waiting = realm_.queued(kAnn, {x("a")});
  realm_.granted(kAnn, {x("c")});
  expect_limit(realm_.ask(kAnn, {x("d")}), "agent ann holds 2 resources");
  expect_limit(realm_.wait(kAnn, {x("b")}), "the limit is 2");
  ASSERT_TRUE(realm_.release(kBob, {"a"}));
  EXPECT_TRUE(realm_.holds(waiting.id));
  ASSERT_TRUE(realm_.release(kAnn, {"a"}));
  realm_.granted(kAnn, {x("d")});
}

TEST_P(Rule14, L8WhatAnotherSessionLeftBehindDoesNotCount) {
  realm_.limits.claims_per_agent = 2;
  AcquireRequest request = realm_.ask({"ann", "s1"}, {x("a")});
  request.attachment = process(7);
  realm_.granted(request);
  realm_.granted(kBob, {x("b")});
  AcquireRequest waiting = realm_.wait({"ann", "s2"}, {x("b")});
  waiting.waiting_process = process(7);
  realm_.queued(waiting);
  realm_.kill(7);
  realm_.granted({"ann", "s3"}, {x("c"), x("d")});
}

TEST_P(Rule14, L8LeasesThatAreOverDoNotCount) {
  realm_.limits.claims_per_agent = 2;
  AcquireRequest request = realm_.ask(kAnn, {x("a"), x("b")});
  request.attachment = process(7);
  realm_.granted(request);
  realm_.kill(7);
  realm_.granted(kAnn, {x("c"), x("d")});
}

TEST_P(Rule14, L8RenewalNeedsNoQuota) {
  realm_.granted(kAnn, {x("a"), x("b")});
  realm_.limits.claims_per_agent = 2;
  EXPECT_EQ(realm_.outcome(realm_.ask(kAnn, {x("a"), x("b")})), Outcome::kRenewed);
}

TEST_P(Rule14, L8QueueLength) {
  realm_.limits.queue_length = 2;
  realm_.granted(kAnn, {x("a")});
  realm_.queued(kBob, {x("a")});
  realm_.queued(kCat, {x("a")});
  expect_limit(realm_.wait({"dan", ""}, {x("a")}), "2 requests are waiting for the same");
  EXPECT_EQ(realm_.outcome(realm_.ask({"dan", ""}, {x("a")})), Outcome::kHeld);
}

TEST_P(Rule14, L8NamesAndTexts) {
  const std::string name(257, 'n');
  const std::string text(4097, 't');
  expect_limit(realm_.ask({name, ""}, {x("a")}), "a name of 257 bytes; the limit is 256");
  expect_limit(realm_.ask({"ann", name}, {x("a")}), "a name of 257 bytes");
  AcquireRequest request = realm_.ask(kAnn, {x("a")});
  request.terms.request_id = name;
  expect_limit(request, "a name of 257 bytes");
  request = realm_.ask(kAnn, {x("a")});
  request.terms.reason = text;
  expect_limit(request, "a reason or task of 4097 bytes; the limit is 4096");
  request = realm_.ask(kAnn, {x("a")});
  request.terms.task = text;
  expect_limit(request, "a reason or task of 4097 bytes");
  request = realm_.ask({name.substr(1), name.substr(1)}, {x("a")});
  request.terms.request_id = name.substr(1);
  request.terms.reason = request.terms.task = text.substr(1);
  realm_.granted(request);  // the limits themselves are allowed
}

TEST_P(Rule14, L8RowsBelowOneGlob) {
  realm_.limits.rows_per_glob = 20;
  for (int i = 0; i < 21; ++i) realm_.granted(kBob, {x("lib/f" + std::to_string(i))});
  expect_limit(realm_.ask(kAnn, {x("lib/*.h")}),
               "more than 20 locks lie below the literal part of");
  expect_limit(realm_.ask(kAnn, {x("**/*.h")}), "more than 20 locks");
  EXPECT_EQ(realm_.outcome(realm_.ask(kAnn, {x("src/*.h")})), Outcome::kGranted);
  EXPECT_EQ(realm_.outcome(realm_.ask(kAnn, {x("lib/other")})), Outcome::kGranted);
}

TEST_P(Rule14, L8ComparisonsOfOneRequest) {
  realm_.limits.comparisons = 20;
  std::vector<Claim> held;
  for (int i = 0; i < 7; ++i) held.push_back(x("lib/" + std::to_string(i) + "*"));
  realm_.granted(kBob, held);
  expect_limit(realm_.ask(kAnn, {x("lib/*a"), x("lib/*b"), x("lib/*c")}),
               "has to compare patterns more than 20 times, lib/*c among them");
  EXPECT_EQ(realm_.outcome(realm_.ask(kAnn, {x("lib/*a"), x("lib/*b")})), Outcome::kHeld);
  // What begins or ends differently is not compared.
  std::vector<Claim> apart;
  for (int i = 0; i < 9; ++i) apart.push_back(x("src/*/" + std::to_string(i)));
  realm_.granted(kBob, apart);
  for (Claim& claim : apart) claim = x(claim.resource.text() + "x");
  EXPECT_EQ(realm_.outcome(realm_.ask(kAnn, apart)), Outcome::kGranted);
}

TEST_P(Rule14, L8AThousandPatternsInOneFolderAreTakenRefusedAndChecked) {
  if (optimistic()) GTEST_SKIP() << "a commit of this store takes 100 writes";
  realm_.auditing = false;
  std::vector<Claim> all;
  for (int i = 0; i < 1'000; ++i) {
    all.push_back(x("app/[slug]/" + std::to_string(i) + ".ts"));
    all.push_back({resource("app/[slug]/" + std::to_string(i) + ".ts", key::Syntax::kLiteral),
                   Mode::kExclusive});
  }
  const Lease lease = realm_.granted(kAnn, all);
  EXPECT_EQ(realm_.outcome(realm_.ask(kAnn, all)), Outcome::kRenewed);
  EXPECT_EQ(realm_.acquire(realm_.ask(kBob, all))->conflicts.size(), 2'000U);
  EXPECT_TRUE(realm_.check(realm_.ask(kAnn, all))->mine);
  const Lease second = realm_.queued(kBob, all);
  ASSERT_TRUE(realm_.release(kAnn, lease.id));
  EXPECT_TRUE(realm_.holds(second.id));
}

TEST_P(Rule14, L8WhatIsGrantedInTheSameCommitIsSeenAmongManyClaims) {
  if (optimistic()) GTEST_SKIP() << "a commit of this store takes 100 writes";
  std::vector<Claim> many;
  for (int i = 0; i < 100; ++i) many.push_back(x("lib/" + std::to_string(i) + ".z"));
  realm_.granted({"zed", ""}, many);
  const std::vector<Claim> patterns{x("lib/*.a"), x("lib/*.b"), x("lib/*.c")};
  const Lease first = realm_.granted(kAnn, patterns);
  const Lease second = realm_.queued(kBob, patterns);
  const Lease third = realm_.queued(kCat, patterns);
  ASSERT_TRUE(realm_.release(kAnn, first.id));
  EXPECT_TRUE(realm_.holds(second.id));
  EXPECT_FALSE(realm_.holds(third.id));
}

TEST_P(Rule14, L8ClearingAwayIsSpreadOverCommits) {
  realm_.limits.ends_per_commit = 3;
  for (int i = 0; i < 10; ++i) {
    AcquireRequest request = realm_.ask(kBob, {x("src/" + std::to_string(i))});
    request.attachment = process(7);
    realm_.granted(request);
  }
  realm_.kill(7);
  const kv::Version before = realm_.store().version();
  EXPECT_EQ(realm_.outcome(realm_.ask(kAnn, {x("src/")})), Outcome::kGranted);
  EXPECT_GT(realm_.store().version(), before + 1);
  EXPECT_EQ(realm_.leases().size(), 1U);
}

TEST_P(Rule14, L8MaintainSaysWhenThereIsMore) {
  for (int i = 0; i < 10; ++i) realm_.granted(kBob, {x("f" + std::to_string(i))});
  realm_.pass(60'001);
  const auto more = realm_.run([](Table& table) { return table.maintain(4); });
  ASSERT_TRUE(more.has_value());
  EXPECT_TRUE(*more);
  realm_.maintain(4);
  EXPECT_TRUE(realm_.leases().empty());
}

}  // namespace
}  // namespace lockkeeper::core
