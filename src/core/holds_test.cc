// Rules 4, 7 and 12: several processes keep one lease. And sessions within sessions.
#include <gmock/gmock.h>

#include "core/schema.h"
#include "core/sessions.h"
#include "core/testing.h"

namespace lockkeeper::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

const Owner kRun{"ann", "s1/run-1"};

class Holds : public OnBothFlavours {
 protected:
  static AcquireRequest by(std::uint64_t slot, const Owner& owner = kAnnInS1) {
    AcquireRequest request = Realm::ask(owner, {x("a")});
    request.attachment = process(slot);
    request.terms.ttl_ms = 3'600'000;
    return request;
  }
  std::vector<std::string> let_go(const LeaseId& id, std::uint64_t slot) {
    const auto reply =
        realm_.run([&](Table& table) { return table.give_back(kAnnInS1, {id}, process(slot)); });
    EXPECT_TRUE(reply.has_value());
    return reply ? reply->released : std::vector<std::string>();
  }
  Result<ReleaseReply> release(const LeaseId& id, const Attachment& asker) {
    return realm_.run([&](Table& table) { return table.release_leases(kAnnInS1, {id}, asker); });
  }
  Outcome stranger() { return realm_.outcome(Realm::ask(kBob, {x("a")})); }
};
class Rule07Holds : public Holds {};
LOCKKEEPER_ON_BOTH_FLAVOURS(Rule07Holds);

TEST_P(Rule07Holds, A1_I1_ASecondProcessKeepsTheLeaseWhenTheFirstEnds) {
  const Lease lease = realm_.granted(by(7));
  EXPECT_EQ(realm_.acquire(by(8))->outcome, Outcome::kRenewed);
  EXPECT_THAT(realm_.lease(lease.id).holds, ElementsAre(process(7), process(8)));
  realm_.kill(7);
  EXPECT_EQ(stranger(), Outcome::kHeld);
  EXPECT_THAT(let_go(lease.id, 8), ElementsAre("a"));
  EXPECT_EQ(stranger(), Outcome::kGranted);
}

// What works under a lease ends with it: it would keep it for nobody.
TEST_P(Rule07Holds, A2_AskingFromInsideAddsNoHold) {
  const Lease lease = realm_.granted(by(7));
  AcquireRequest inside = Realm::ask(kAnnInS1, {x("a")});
  inside.under = lease.id;
  inside.under_fence = lease.fence();
  inside.terms.request_id = "r";
  for (int turn = 0; turn < 2; ++turn) {
    EXPECT_EQ(realm_.acquire(inside)->outcome, Outcome::kRenewed) << turn;
    EXPECT_THAT(realm_.lease(lease.id).holds, ElementsAre(process(7))) << turn;
  }
  realm_.kill(7);
  EXPECT_EQ(stranger(), Outcome::kGranted);
}

TEST_P(Rule07Holds, A1_GivingBackTakesOneHoldAndOnlyOnes) {
  const Lease lease = realm_.granted(by(7));
  ASSERT_TRUE(realm_.acquire(by(8)));
  EXPECT_THAT(let_go(lease.id, 7), IsEmpty());
  EXPECT_THAT(let_go(lease.id, 7), IsEmpty()) << "it keeps it no longer";
  EXPECT_THAT(let_go(lease.id, 9), IsEmpty()) << "it never kept it";
  EXPECT_TRUE(realm_.holds(lease.id));
  EXPECT_THAT(realm_.lease(lease.id).holds, ElementsAre(process(8)));
}

TEST_P(Rule07Holds, A1_TheLastDeathEndsItWithTheLongestGrace) {
  AcquireRequest first = by(7);
  const Lease lease = realm_.granted(first);
  AcquireRequest second = by(8);
  second.terms.orphan_grace_ms = 30'000;
  ASSERT_TRUE(realm_.acquire(second));
  realm_.kill(7);
  realm_.kill(8);
  EXPECT_EQ(stranger(), Outcome::kHeld);
  realm_.pass(30'001);
  EXPECT_EQ(stranger(), Outcome::kGranted);
  EXPECT_FALSE(realm_.holds(lease.id));
}

TEST_P(Rule07Holds, TheDeadMakeRoomAndTheLivingAreLimited) {
  const Lease lease = realm_.granted(by(1));
  for (std::uint64_t slot = 2; slot <= kHoldsMax; ++slot) ASSERT_TRUE(realm_.acquire(by(slot)));
  const auto beyond = realm_.acquire(by(900));
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, Code::kLimitExceeded);
  EXPECT_THAT(realm_.lease(lease.id).holds, SizeIs(kHoldsMax));
  realm_.kill(5);
  ASSERT_TRUE(realm_.acquire(by(900)));
  EXPECT_THAT(realm_.lease(lease.id).holds, SizeIs(kHoldsMax));
}

TEST_P(Rule07Holds, A1_AReplayKeepsItToo) {
  AcquireRequest request = by(7);
  request.terms.request_id = "r";
  const Lease lease = realm_.granted(request);
  request.attachment = process(8);
  EXPECT_EQ(realm_.acquire(request)->outcome, Outcome::kGranted);
  realm_.kill(7);
  EXPECT_EQ(stranger(), Outcome::kHeld);
  EXPECT_TRUE(realm_.holds(lease.id));
}

TEST_P(Rule07Holds, I7_AnExplicitReleaseEndsItAndTheOthersFindOut) {
  const Lease lease = realm_.granted(by(7));
  ASSERT_TRUE(realm_.acquire(by(8)));
  ASSERT_TRUE(release(lease.id, process(8)));
  EXPECT_EQ(stranger(), Outcome::kGranted);
  EXPECT_THAT(realm_.notices(kAnnInS1), IsEmpty()) << "its owner wanted it";
  const auto late = realm_.renew(kAnnInS1, lease.id);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kLost);
}

TEST_P(Rule07Holds, ALeaseThatOneAloneKeepsIsForgottenWhenThatOneReleasesIt) {
  const Lease lease = realm_.granted(by(7));
  ASSERT_TRUE(release(lease.id, process(7)));
  EXPECT_EQ(realm_.renew(kAnnInS1, lease.id).error().code, Code::kNotFound);
}

TEST_P(Rule07Holds, Rule9_ADetachedHoldSurvivesAReboot) {
  const Lease lease = realm_.granted(by(7));
  ASSERT_TRUE(realm_.acquire(Realm::ask(kAnnInS1, {x("a")})));
  realm_.reboot();
  EXPECT_EQ(stranger(), Outcome::kHeld);
  ASSERT_TRUE(realm_.renew(kAnnInS1, lease.id));
  EXPECT_THAT(realm_.lease(lease.id).holds, ElementsAre(Attachment{}));
}

// --- sessions within sessions

TEST(Sessions, OnePartAtATime) {
  EXPECT_EQ(part_of({"ann", "s"}, "x").session, "s/x");
  EXPECT_EQ(part_of({"ann", ""}, "x").session, "-/x");
  EXPECT_EQ(part_name({"sub", "s/x/y"}, {"ann", "s"}), "x");
  EXPECT_EQ(part_name({"ann", "-/x"}, {"ann", ""}), "x");
  EXPECT_TRUE(is_part_of(part_of({"ann", ""}, "x"), {"ann", ""}));
  EXPECT_FALSE(is_part_of(part_of({"ann", ""}, "x"), {"bob", ""}));
  EXPECT_FALSE(is_part_of({"ann", "s"}, {"ann", ""}));
  EXPECT_THAT(wholes_of({"ann", "s/x/y"}), ElementsAre("s", "s/x"));
  EXPECT_THAT(wholes_of({"ann", "/a/b"}), IsEmpty());
  EXPECT_EQ(wholes_of({"ann", "-/x"}), whole_names({"ann", ""}));
  EXPECT_EQ(nearest_whole({"ann", "-/x"}), (Owner{"ann", ""}));
  EXPECT_EQ(nearest_whole({"ann", "s/x/y"}), (Owner{"ann", "s/x"}));
  EXPECT_EQ(nearest_whole({"ann", "s"}), std::nullopt);
}

// A subagent may have a name of its own; a command has that of whoever runs it.
TEST(Sessions, A1_ACommandIsAPartOfItsOwnAgentsSession) {
  const std::string command = command_name(1);
  EXPECT_TRUE(is_part_of({"sub", "s/x"}, {"ann", "s"}));
  EXPECT_TRUE(is_part_of({"ann", "s/" + command}, {"ann", "s"}));
  EXPECT_FALSE(is_part_of({"bob", "s/" + command}, {"ann", "s"}));
  EXPECT_TRUE(is_part_of({"bob", "s/x/" + command}, {"ann", "s"})) << "of the subagent bob";
  EXPECT_FALSE(is_part_of({"bob", "-/" + command}, {"ann", "-"})) << "no session is not a session";
  EXPECT_EQ(named_whole(wholes_of({"bob", "s/" + command}).front()), (Owner{"bob", "s"}));
  EXPECT_EQ(named_whole("s"), (Owner{"", "s"}));
}

TEST_P(Rule07Holds, A1_I1_ACommandDoesNotEnterWhatAnotherAgentOfThatSessionHolds) {
  realm_.granted({"ann", "s"}, {x("a")});
  const Owner command = part_of({"bob", "s"}, command_name(1));
  EXPECT_EQ(realm_.outcome(Realm::ask(command, {x("a")})), Outcome::kHeld);
  EXPECT_EQ(realm_.outcome(Realm::ask(part_of({"ann", "s"}, command_name(2)), {x("a")})),
            Outcome::kGranted);
  // Nor does ann wait because of it.
  realm_.granted({"cat", ""}, {x("b")});
  realm_.queued(command, {x("b")});
  EXPECT_EQ(realm_.acquire(Realm::ask({"cat", ""}, {x("a")}))->outcome, Outcome::kHeld);
  realm_.queued({"cat", ""}, {x("a")});
}

TEST_P(Rule07Holds, I7_WhatAPartLosesIsToldToItsSession) {
  const Lease lease = realm_.granted(by(7, kRun));
  ASSERT_TRUE(realm_.break_lease({.by = kBob, .reason = "in the way"}, lease.id));
  const std::vector<LostLease> told = realm_.notices(kAnnInS1);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told.front().id, lease.id);
  EXPECT_EQ(told.front().owner, kRun);
  EXPECT_THAT(realm_.notices(kAnnInS1), IsEmpty());
  EXPECT_THAT(realm_.notices(kRun), SizeIs(1));
}

TEST_P(Rule07Holds, ASessionHasALimitedDepth) {
  EXPECT_TRUE(realm_.acquire(by(7, {"ann", "1/2/3/4/5/6/7/8/9"})));
  const auto deep = realm_.acquire(by(7, {"ann", "1/2/3/4/5/6/7/8/9/10"}));
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code, Code::kLimitExceeded);
}

// Rows of schema 1: waiters of parts are not filed under their sessions.
TEST_P(Rule07Holds, F23_WaitersOfAnOlderStoreAreFiledUnderTheirSessions) {
  realm_.granted(kBob, {x("a")});
  const Lease waiting = realm_.queued(realm_.wait(kRun, {x("a")}));
  Waiter old = realm_.waiter(waiting.id);
  ASSERT_THAT(old.wholes, ElementsAre("s1"));
  {
    auto txn = realm_.store().begin(kv::Access::kWrite);
    ASSERT_TRUE((*txn)->erase(part_key("s1", waiting.id)));
    old.wholes.clear();
    ASSERT_TRUE((*txn)->put(waiter_key(waiting.id), encode_waiter(old)) && (*txn)->commit());
  }
  auto txn = realm_.store().begin(kv::Access::kWrite);
  ASSERT_TRUE(migrate(1, **txn));
  ASSERT_TRUE((*txn)->commit());
  txn->reset();
  realm_.audit();
  EXPECT_THAT(realm_.waiter(waiting.id).wholes, ElementsAre("s1"));
}

}  // namespace
}  // namespace lockkeeper::core
