// Rule 12: request ids.
#include <gmock/gmock.h>

#include "core/testing.h"

namespace lockkeeper::core {
namespace {

class Rule12 : public OnBothFlavours {
 protected:
  AcquireRequest named(AcquireRequest request, std::string id) {
    request.terms.request_id = std::move(id);
    return request;
  }
  std::size_t remembered() {
    std::size_t count = 0;
    for (const auto& [key, value] : realm_.rows()) count += key[0] == 'r' ? 1U : 0U;
    return count;
  }
};
LOCKKEEPER_ON_BOTH_FLAVOURS(Rule12);

TEST_P(Rule12, I8AReplayHasTheAnswerAndTheEffectOfOne) {
  const AcquireRequest request = named(realm_.ask(kAnnInS1, {x("a")}), "r1");
  const Lease first = realm_.granted(request);
  realm_.pass(1'000);
  const auto before = realm_.rows();
  const auto again = realm_.acquire(request);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->outcome, Outcome::kGranted);
  EXPECT_TRUE(again->replayed);
  EXPECT_EQ(again->lease.id, first.id);
  EXPECT_EQ(again->lease.fence(), first.fence());
  EXPECT_EQ(again->lease.deadline_mono_ms, first.deadline_mono_ms);  // no renewal either
  EXPECT_EQ(realm_.rows(), before);
}

TEST_P(Rule12, I8AReplayOfARenewalSaysRenewed) {
  const Lease lease = realm_.granted(named(realm_.ask(kAnnInS1, {x("a")}), "r1"));
  ASSERT_EQ(realm_.outcome(named(realm_.ask(kAnnInS1, {x("a")}), "r2")), Outcome::kRenewed);
  realm_.pass(1'000);
  const auto before = realm_.rows();
  const auto again = realm_.acquire(named(realm_.ask(kAnnInS1, {x("a")}), "r2"));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->outcome, Outcome::kRenewed);
  EXPECT_TRUE(again->replayed);
  EXPECT_EQ(again->lease.fence(), lease.fence());
  EXPECT_EQ(realm_.rows(), before);
  EXPECT_EQ(realm_.outcome(named(realm_.ask(kAnnInS1, {x("a")}), "r1")), Outcome::kGranted);
}

TEST_P(Rule12, TheScopeIsTheOwner) {
  realm_.granted(named(realm_.ask(kAnnInS1, {x("a")}), "r1"));
  EXPECT_EQ(realm_.outcome(named(realm_.ask(kBob, {x("a")}), "r1")), Outcome::kHeld);
  EXPECT_EQ(realm_.outcome(named(realm_.ask({"ann", "t"}, {x("b")}), "r1")), Outcome::kGranted);
}

TEST_P(Rule12, OtherArgumentsUnderTheSameIdAreAnError) {
  realm_.granted(named(realm_.ask(kAnnInS1, {x("a")}), "r1"));
  AcquireRequest length = named(realm_.ask(kAnnInS1, {x("a")}), "r1");
  length.terms.ttl_ms = 1;
  AcquireRequest task = named(realm_.ask(kAnnInS1, {x("a")}), "r1");
  task.terms.task = "T";
  for (const AcquireRequest& other :
       {named(realm_.ask(kAnnInS1, {x("b")}), "r1"), named(realm_.ask(kAnnInS1, {s("a")}), "r1"),
        named(realm_.ask(kAnnInS1, {x("a"), x("b")}), "r1"), length, task}) {
    const auto reply = realm_.acquire(other);
    ASSERT_FALSE(reply.has_value());
    EXPECT_EQ(reply.error().code, Code::kInvalidInput);
  }
}

TEST_P(Rule12, TheOrderOfResourcesAndDuplicatesAreNoOtherArguments) {
  const Lease first = realm_.granted(named(realm_.ask(kAnnInS1, {x("a"), x("b")}), "r1"));
  const auto again = realm_.acquire(named(realm_.ask(kAnnInS1, {x("b"), x("a"), x("b")}), "r1"));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->lease.id, first.id);
}

TEST_P(Rule12, AFileAndAPatternOfTheSameTextAreOtherArguments) {
  const Claim file{resource("app/[ab]", key::Syntax::kLiteral), Mode::kExclusive};
  const Claim glob{resource("app/[ab]", key::Syntax::kGlob), Mode::kExclusive};
  realm_.granted(named(realm_.ask(kAnnInS1, {file}), "r1"));
  const auto reply = realm_.acquire(named(realm_.ask(kAnnInS1, {glob}), "r1"));
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, Code::kInvalidInput);
}

TEST_P(Rule12, I8AfterItsEndAReplaySaysLostAndNeverGrantsAnew) {
  const AcquireRequest request = named(realm_.ask(kAnnInS1, {x("a")}), "r1");
  const Lease first = realm_.granted(request);
  ASSERT_TRUE(realm_.release(kAnnInS1, first.id));
  EXPECT_EQ(realm_.acquire(request).error().code, Code::kLost);
  EXPECT_TRUE(realm_.leases().empty());
}

TEST_P(Rule12, I8AnExpiredButUnsweptLeaseIsLostToo) {
  const AcquireRequest request = named(realm_.ask(kAnnInS1, {x("a")}), "r1");
  realm_.granted(request);
  realm_.pass(60'001);
  EXPECT_EQ(realm_.acquire(request).error().code, Code::kLost);
}

TEST_P(Rule12, ItIsKeptForTheLeasePlusADayAndThenForgotten) {
  const AcquireRequest request = named(realm_.ask(kAnnInS1, {x("a")}), "r1");
  realm_.granted(request);
  realm_.pass(60'001);
  realm_.maintain();
  realm_.pass(kDayMs);
  realm_.maintain();
  EXPECT_EQ(realm_.acquire(request).error().code, Code::kLost);
  realm_.pass(1);
  realm_.maintain();
  EXPECT_EQ(remembered(), 0U);
  EXPECT_EQ(realm_.outcome(request), Outcome::kGranted);
}

TEST_P(Rule12, ADayIsCountedAgainAfterAReboot) {
  const AcquireRequest request = named(realm_.ask(kAnnInS1, {x("a")}), "r1");
  realm_.granted(request);
  ASSERT_TRUE(realm_.release(kAnnInS1, {"a"}));
  realm_.reboot();
  realm_.maintain();
  realm_.pass(kDayMs);
  realm_.maintain();
  EXPECT_EQ(realm_.acquire(request).error().code, Code::kLost);
  realm_.pass(1);
  realm_.maintain();
  EXPECT_EQ(remembered(), 0U);
}

TEST_P(Rule12, RefusalsAreNotRemembered) {
  realm_.granted(kBob, {x("a")});
  const AcquireRequest request = named(realm_.ask(kAnnInS1, {x("a")}), "r1");
  EXPECT_EQ(realm_.outcome(request), Outcome::kHeld);
  EXPECT_EQ(remembered(), 0U);
  ASSERT_TRUE(realm_.release(kBob, {"a"}));
  EXPECT_EQ(realm_.outcome(request), Outcome::kGranted);
}

TEST_P(Rule12, ACancelledWaitIsNotRemembered) {
  realm_.granted(kBob, {x("a")});
  const Lease waiting = realm_.queued(named(realm_.wait(kAnnInS1, {x("a")}), "r1"));
  ASSERT_TRUE(realm_.cancel(waiting.id));
  EXPECT_EQ(remembered(), 0U);
}

TEST_P(Rule12, AQueuedRequestAskedAgainByANewProcessKeepsItsPlace) {
  realm_.granted(kBob, {x("a")});
  const AcquireRequest first = named(realm_.wait(kAnnInS1, {x("a")}), "r1");
  const Lease waiting = realm_.queued(first);
  const Lease behind = realm_.queued({"cat", ""}, {x("a")});
  AcquireRequest second = named(realm_.wait(kAnnInS1, {x("a")}), "r1");
  const auto reply = realm_.acquire(second);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->outcome, Outcome::kQueued);
  EXPECT_TRUE(reply->replayed);
  EXPECT_EQ(reply->lease.id, waiting.id);
  EXPECT_EQ(reply->lease.created, waiting.created);
  realm_.kill(first.waiting_process.slot);  // the old process no longer matters
  ASSERT_TRUE(realm_.release(kBob, {"a"}));
  EXPECT_TRUE(realm_.holds(waiting.id));
  EXPECT_FALSE(realm_.holds(behind.id));
  EXPECT_THAT(realm_.woken, testing::ElementsAre(second.wake));
}

TEST_P(Rule12, L5AWaitThatIsTakenUpAgainCanCloseACycleThatItIsNoPartOf) {
  realm_.granted(kBob, {x("a")});
  realm_.granted({"cat", ""}, {x("b")});
  const AcquireRequest first = named(realm_.wait(kAnnInS1, {x("a")}), "r1");
  realm_.queued(first);
  realm_.queued({"cat", ""}, {x("a")});
  // Cat waits behind a process that is dead, so ann may wait for cat.
  realm_.kill(first.waiting_process.slot);
  AcquireRequest other = realm_.wait(kAnnInS1, {x("b")});
  other.wake = 77;
  const Lease waiting = realm_.queued(other);
  ASSERT_EQ(realm_.outcome(named(realm_.wait(kAnnInS1, {x("a")}), "r1")), Outcome::kQueued);
  EXPECT_THAT(realm_.woken, testing::Contains(77U));
  EXPECT_EQ(realm_.poll(waiting.id)->outcome, Outcome::kDeadlock);
}

TEST_P(Rule12, TheLeaseOfAResumedWaitIsBoundToTheNewProcess) {
  realm_.granted(kBob, {x("a")});
  AcquireRequest first = named(realm_.wait(kAnnInS1, {x("a")}), "r1");
  first.attachment = first.waiting_process;
  const Lease waiting = realm_.queued(first);
  AcquireRequest second = named(realm_.wait(kAnnInS1, {x("a")}), "r1");
  second.attachment = second.waiting_process;
  ASSERT_EQ(realm_.outcome(second), Outcome::kQueued);
  realm_.kill(first.waiting_process.slot);
  ASSERT_TRUE(realm_.release(kBob, {"a"}));
  ASSERT_EQ(realm_.poll(waiting.id)->outcome, Outcome::kGranted);
  EXPECT_THAT(realm_.lease(waiting.id).holds, testing::ElementsAre(second.attachment));
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
}

TEST_P(Rule12, AHandoffConfirmedByAReplayIsBoundToTheNewProcess) {
  realm_.granted(kBob, {x("a")});
  AcquireRequest first = named(realm_.wait(kAnnInS1, {x("a")}), "r1");
  first.attachment = first.waiting_process;
  const Lease waiting = realm_.queued(first);
  ASSERT_TRUE(realm_.release(kBob, {"a"}));
  AcquireRequest second = named(realm_.wait(kAnnInS1, {x("a")}), "r1");
  second.attachment = second.waiting_process;
  realm_.kill(first.waiting_process.slot);
  ASSERT_EQ(realm_.outcome(second), Outcome::kGranted);
  EXPECT_THAT(realm_.lease(waiting.id).holds, testing::ElementsAre(second.attachment));
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kHeld);
}

TEST_P(Rule12, AReplayWithoutWaitLeavesTheQueue) {
  realm_.granted(kBob, {x("a")});
  const AcquireRequest request = named(realm_.wait(kAnnInS1, {x("a")}), "r1");
  const Lease waiting = realm_.queued(request);
  AcquireRequest impatient = request;
  impatient.wait = false;
  EXPECT_EQ(realm_.outcome(impatient), Outcome::kHeld);
  EXPECT_FALSE(realm_.waits(waiting.id));
}

TEST_P(Rule12, AReplayConfirmsTheHandoff) {
  realm_.granted(kBob, {x("a")});
  const AcquireRequest request = named(realm_.wait(kAnnInS1, {x("a")}), "r1");
  const Lease waiting = realm_.queued(request);
  ASSERT_TRUE(realm_.release(kBob, {"a"}));
  EXPECT_EQ(realm_.outcome(request), Outcome::kGranted);
  realm_.pass(10'001);
  realm_.maintain();
  EXPECT_TRUE(realm_.holds(waiting.id));
}

TEST_P(Rule12, L8TheIdOfARenewalIsForgottenToo) {
  const Lease lease = realm_.granted(named(realm_.ask(kAnnInS1, {x("a")}), "r0"));
  for (int i = 1; i <= 5; ++i) {
    EXPECT_EQ(realm_.outcome(named(realm_.ask(kAnnInS1, {x("a")}), "r" + std::to_string(i))),
              Outcome::kRenewed);
  }
  // While the lease lives they all are known.
  const auto replay = realm_.acquire(named(realm_.ask(kAnnInS1, {x("a")}), "r3"));
  ASSERT_TRUE(replay.has_value());
  EXPECT_TRUE(replay->replayed);
  EXPECT_EQ(replay->lease.id, lease.id);
  EXPECT_EQ(remembered(), 6U);
  realm_.pass(60'001);
  realm_.maintain();
  EXPECT_EQ(realm_.acquire(named(realm_.ask(kAnnInS1, {x("a")}), "r3")).error().code, Code::kLost);
  for (int day = 0; day < 3; ++day) {
    realm_.pass(kDayMs + 1);
    realm_.maintain();
  }
  EXPECT_EQ(remembered(), 0U);
}

TEST_P(Rule12, L8TheIdOfARenewalIsKnownAsLongAsItsLease) {
  AcquireRequest request = realm_.ask(kAnnInS1, {x("a")});
  request.terms.ttl_ms = 10 * kDayMs;
  realm_.granted(request);
  ASSERT_EQ(realm_.outcome(named(request, "r1")), Outcome::kRenewed);
  for (int day = 0; day < 9; ++day) {
    realm_.pass(kDayMs);
    realm_.maintain();
  }
  const auto replay = realm_.acquire(named(request, "r1"));
  ASSERT_TRUE(replay.has_value());
  EXPECT_TRUE(replay->replayed);
}

}  // namespace
}  // namespace lockkeeper::core
