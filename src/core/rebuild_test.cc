// A table whose rows were damaged is sound again after rebuild(), and says what it lost.
#include "core/rebuild.h"

#include <gmock/gmock.h>

#include "core/reboot.h"
#include "core/testing.h"

namespace lockkeeper::core {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class Rebuild : public testing::Test {
 protected:
  Rebuild() { realm_.auditing = false; }

  Context context() {
    return {realm_.now(), realm_.store().epoch(), 0, &realm_.prober, realm_.limits};
  }
  void erase_all(char kind) {
    const auto rows = realm_.rows();
    auto txn = realm_.store().begin(kv::Access::kWrite);
    for (const auto& [key, value] : rows) {
      const bool wanted = key[0] == kind && key.size() > 1;
      if (wanted) {
        ASSERT_TRUE((*txn)->erase(key));
      }
    }
    ASSERT_TRUE((*txn)->commit());
  }
  RebuildReport rebuilt() {
    auto txn = realm_.store().begin(kv::Access::kWrite);
    auto done = rebuild(**txn, context());
    EXPECT_TRUE(done.has_value());
    EXPECT_TRUE((*txn)->commit());
    txn->reset();
    realm_.audit();
    return *done;
  }

  Realm realm_{kv::Flavour::kPessimistic};
};

TEST_F(Rebuild, I5LeasesKeepTheirFencesWhateverElseIsGone) {
  AcquireRequest request = realm_.ask(kAnnInS1, {x("src/"), s("docs/a")});
  request.terms.request_id = "r1";
  const Lease held = realm_.granted(request);
  realm_.queued(kBob, {x("docs/")});
  for (const char kind : std::string("xsXSbfgcw")) erase_all(kind);
  const RebuildReport done = rebuilt();
  EXPECT_EQ(done.leases, 1U);
  EXPECT_EQ(realm_.lease(held.id).fence(), held.fence());
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("src/a")})), Outcome::kHeld);
  EXPECT_EQ(realm_.story().back(), "refused bob src/a [held]");
}

TEST_F(Rebuild, A16_L4_WaitersKeepTheirPlaces) {
  const Lease held = realm_.granted(kAnnInS1, {x("a")});
  const Lease first = realm_.queued(kBob, {x("a"), x("b")});
  const Lease second = realm_.queued(Owner{"cat", "T/x"}, {x("a")});
  for (const char kind : std::string("bfgcv")) erase_all(kind);
  const RebuildReport done = rebuilt();
  EXPECT_EQ(done.waiters, 2U);
  EXPECT_EQ(done.waiters_dropped, 0U);
  EXPECT_EQ(realm_.poll(second.id)->position, 2U);
  ASSERT_TRUE(realm_.release(kAnnInS1, held.id));
  EXPECT_TRUE(realm_.holds(first.id));
  EXPECT_TRUE(realm_.waits(second.id));
}

TEST_F(Rebuild, AWaiterWhoseBlockerIsGoneIsEvaluatedByTheNextCommit) {
  const Lease held = realm_.granted(kAnnInS1, {x("a")});
  const Lease waiting = realm_.queued(kBob, {x("a")});
  {
    auto txn = realm_.store().begin(kv::Access::kWrite);
    ASSERT_TRUE((*txn)->put(lease_key(held.id), "garbage") && (*txn)->commit());
  }
  rebuilt();
  realm_.maintain();
  EXPECT_TRUE(realm_.holds(waiting.id));
}

TEST_F(Rebuild, AWaiterWhoseRowsAreNotWholeMustAskAgain) {
  realm_.granted(kAnnInS1, {x("a")});
  const Lease waiting = realm_.queued(kBob, {x("a")});
  erase_all('X');
  EXPECT_EQ(rebuilt().waiters_dropped, 1U);
  const auto reply = realm_.poll(waiting.id);
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, Code::kLost);
}

TEST_F(Rebuild, I10ALeaseThatCannotBeReadIsNamedByWhatItHeld) {
  const Lease held = realm_.granted(kAnnInS1, {x("a"), x("b")});
  realm_.granted(kBob, {x("c")});
  auto txn = realm_.store().begin(kv::Access::kWrite);
  ASSERT_TRUE((*txn)->put(lease_key(held.id), "garbage"));
  ASSERT_TRUE((*txn)->commit());
  txn->reset();
  const RebuildReport done = rebuilt();
  EXPECT_EQ(done.leases_damaged, 1U);
  EXPECT_THAT(done.locks_lost, ElementsAre("a", "b"));
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("a")})), Outcome::kGranted);
}

TEST_F(Rebuild, RememberedRequestsAreStillForgottenInTime) {
  AcquireRequest request = realm_.ask(kAnnInS1, {x("a")});
  request.terms.request_id = "r1";
  const Lease held = realm_.granted(request);
  ASSERT_TRUE(realm_.release(kAnnInS1, held.id));
  erase_all('f');
  rebuilt();
  // Once to find that its lease has ended, once to forget it.
  for (int i = 0; i < 2; ++i) {
    realm_.pass(realm_.limits.remember_ms + 1);
    realm_.maintain();
  }
  for (const auto& [key, value] : realm_.rows()) EXPECT_NE(key[0], 'r');
}

TEST_F(Rebuild, WhoLivesIsCarriedIntoTheNewEpochAndTheDeadAreNot) {
  AcquireRequest living = realm_.ask(kAnnInS1, {x("a")});
  living.attachment = process(7);
  const Lease alive = realm_.granted(living);
  AcquireRequest dying = realm_.ask(kBob, {x("b")});
  dying.attachment = process(8);
  const Lease dead = realm_.granted(dying);
  realm_.kill(8);
  realm_.reboot(static_cast<std::int64_t>(realm_.now().mono_ms));
  rebuilt();
  realm_.maintain();
  EXPECT_TRUE(realm_.holds(alive.id));
  EXPECT_FALSE(realm_.holds(dead.id));
}

TEST(Reboot, I5F11EveryLeaseOfTheFormerStoreEndsOnRecord) {
  Realm former{kv::Flavour::kPessimistic};
  const Lease held = former.granted(kAnnInS1, {x("a")});
  former.granted(kBob, {x("b/"), s("c")});
  Realm realm{kv::Flavour::kPessimistic};
  {
    auto before = former.store().begin(kv::Access::kRead);
    auto txn = realm.store().begin(kv::Access::kWrite);
    const Context context{realm.now(), {}, 0, &realm.prober, realm.limits};
    ASSERT_TRUE(end_by_reboot(**before, **txn, context));
    ASSERT_TRUE((*txn)->commit());
  }
  EXPECT_THAT(realm.leases(), IsEmpty());
  EXPECT_THAT(realm.story(), SizeIs(2));
  EXPECT_EQ(realm.events().front().cause, "reboot");
  const std::vector<LostLease> told = realm.notices(kAnnInS1);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told.front().fence, held.fence());
  EXPECT_EQ(told.front().cause, "reboot");
  realm.audit();
}

}  // namespace
}  // namespace lockkeeper::core
