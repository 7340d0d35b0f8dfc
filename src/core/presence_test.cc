// Who is there, where several hubs share one store (rule 7).
#include "core/presence.h"

#include <gmock/gmock.h>

#include "core/machines_fixture.h"
#include "core/rows.h"

namespace lockkeeper::core {
namespace {

using testing::Contains;
using testing::ElementsAre;

TEST_F(Machines, Rule07_L3_WhoseSessionHasNoRowIsDeadForEverybody) {
  const Attachment ann = begun(0, 77, 1);
  const Lease lease = on(0).granted(kept_by(kAnn, ann));
  const Lease next = on(1).queued(waiting(kBob, begun(1, 88, 2)));
  pass(1'000'000);
  vanish();
  EXPECT_TRUE(held(1));  // the row is there: nobody else can tell more
  machines_[0]->stop();
  pass(kv::kAfterOpenMs);
  vanish();
  EXPECT_TRUE(held(1));
  pass(1);
  EXPECT_TRUE(held(1));  // as late as the store likes
  vanish();
  EXPECT_TRUE(held(1));  // and now bob has it
  EXPECT_FALSE(on(1).holds(lease.id));
  EXPECT_TRUE(on(1).holds(next.id));
  EXPECT_THAT(realm_.story(), Contains("ended ann a [died]"));
}

TEST_F(Machines, Rule07_TheHubThatHearsAProcessBelievesTheRowToo) {
  const Attachment ann = begun(0, 77, 1);
  on(0).granted(kept_by(kAnn, ann));
  EXPECT_TRUE(held(0));
  ASSERT_TRUE(takes_over(1, 77));
  ASSERT_TRUE(ends(1, 77));
  EXPECT_FALSE(held(0));
}

TEST_F(Machines, Rule07_I5_OnlyTheHubThatKeepsASessionCallsItsProcessesDead) {
  const Lease lease = on(0).granted(kept_by(kAnn, begun(0, 77, 1)));
  ASSERT_TRUE(takes_over(1, 77));
  heard(1, 77, 1);
  machines_[0]->prober.dead.insert(1);  // it has heard nothing for long
  EXPECT_TRUE(held(0));
  ASSERT_TRUE(ends(0, 77));  // and so it would end the session
  EXPECT_TRUE(held(0));
  EXPECT_TRUE(on(1).holds(lease.id));
  ASSERT_TRUE(takes_over(0, 77));
  EXPECT_FALSE(held(0));
}

TEST_F(Machines, Rule07_I5_AJudgementDoesNotOutliveTheMoveOfASession) {
  const Lease lease = on(0).granted(kept_by(kAnn, begun(0, 77, 1)));
  machines_[0]->prober.dead.insert(1);
  const auto txn = machines_[0]->store().begin(kv::Access::kWrite);
  Context context;
  context.ticket = 1'000;
  machines_[0]->take_over(context);
  Table table(**txn, context);
  const auto taken = table.acquire(Realm::ask(kBob, {x("a")}));
  ASSERT_TRUE(taken);
  ASSERT_TRUE(takes_over(1, 77));  // meanwhile
  const auto done = (*txn)->commit();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->fate, kv::Fate::kConflict);
  EXPECT_TRUE(on(1).holds(lease.id));
}

TEST_F(Machines, Rule12_L4_AWaiterThatMovesKeepsItsPlace) {
  const Lease first = on(1).granted(kAnn, {x("a")});
  const Lease bob = on(0).queued(waiting(kBob, begun(0, 77, 1)));
  const Lease cat = on(1).queued(waiting(kCat, begun(1, 78, 2)));
  const Attachment elsewhere = heard(1, 78, 3);
  const auto moved = [&](const LeaseId& id) {
    return on(1).run([&](Table& table) { return table.move_waiter(id, elsewhere, 9); });
  };
  EXPECT_TRUE(moved(bob.id).value());
  machines_[0]->stop();
  pass(kv::kAfterOpenMs + 1);
  vanish();
  ASSERT_TRUE(on(1).release(kAnn, first.id));
  EXPECT_TRUE(on(1).holds(bob.id));
  EXPECT_TRUE(on(1).waits(cat.id));
  EXPECT_FALSE(moved(bob.id).value());
}

TEST_F(Machines, Rule07_I5_ASessionMovesToWhereItsClientIs) {
  const Lease lease = on(0).granted(kept_by(kAnn, begun(0, 77, 1)));
  machines_[0]->stop();
  pass(kv::kAfterOpenMs);
  ASSERT_TRUE(takes_over(1, 77));
  heard(1, 77, 1);
  pass(1'000'000);
  vanish();
  EXPECT_TRUE(held(1));
  EXPECT_TRUE(held(2));
  EXPECT_TRUE(on(2).holds(lease.id));
  machines_[1]->prober.dead.insert(1);  // and is judged there now
  EXPECT_TRUE(held(2));
  EXPECT_FALSE(held(1));
}

TEST_F(Machines, Rule07_ASessionThatHasGoneNeverComesBack) {
  begun(0, 77, 1);
  machines_[0]->stop();
  pass(kv::kAfterOpenMs + 1);
  vanish();
  const auto back = takes_over(1, 77);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, Code::kLost);
  begun(1, 78, 1);
  const auto twice = on(1).run([&](Table& table) -> Result<bool> {
    LK_CHECK(begin_session(table.state(), 78));
    return true;
  });
  EXPECT_EQ(twice.error().code, Code::kInvalidInput);
}

TEST_F(Machines, Rule07_L6_AWaiterWhoseSessionHasGoneIsDropped) {
  const Lease first = on(1).granted(kAnn, {x("a")});
  const Lease dead = on(0).queued(waiting(kBob, begun(0, 77, 1)));
  machines_[0]->stop();
  pass(kv::kAfterOpenMs + 1);
  vanish();
  ASSERT_TRUE(on(1).release(kAnn, first.id));
  EXPECT_FALSE(on(1).holds(dead.id));
  EXPECT_FALSE(on(1).waits(dead.id));
  EXPECT_THAT(realm_.story(), Contains("cancelled bob a [died]"));
}

// Rule 4: the dead no longer keep it.
TEST_F(Machines, Rule07_WhoeverJoinsTakesOffThoseWhoseSessionHasGone) {
  const Lease lease = on(0).granted(kept_by(kAnn, begun(0, 77, 1)));
  AcquireRequest again = kept_by(kAnn, begun(1, 88, 2));
  ASSERT_EQ(on(1).outcome(again), Outcome::kRenewed);
  machines_[0]->stop();
  pass(kv::kAfterOpenMs + 1);
  vanish();
  again.attachment = heard(1, 88, 3);
  ASSERT_EQ(on(1).outcome(again), Outcome::kRenewed);
  EXPECT_THAT(realm_.lease(lease.id).holds,
              ElementsAre(Attachment::remote(2, 88), Attachment::remote(3, 88)));
}

// Without the guard, two machines could judge one process differently in commits that both count.
TEST_F(Machines, Rule07_I5_ThatASessionHasNoRowIsGuarded) {
  on(0).granted(kept_by(kAnn, Attachment::remote(1, 77)));  // begun only later
  Machine& other = *machines_[1];
  auto txn = other.store().begin(kv::Access::kWrite);
  Context context;
  context.ticket = 5'000;
  context.limits = realm_.limits;
  other.take_over(context);
  Table table(**txn, context);
  const auto reply = table.acquire(Realm::ask(kBob, {x("a")}));
  ASSERT_EQ(reply->outcome, Outcome::kGranted);
  begun(0, 77, 1);
  EXPECT_EQ((*txn)->commit()->fate, kv::Fate::kConflict);
}

// Its client has heard another hub's answer by then.
TEST_F(Machines, Rule07_I9_ARequestIsVoidOnceItsSessionHasMoved) {
  begun(0, 77, 1);
  const auto row = (*machines_[0]->store().begin(kv::Access::kRead))->get(session_key(77));
  ASSERT_TRUE(row && *row);
  AcquireRequest late = Realm::ask(kAnn, {x("a")});
  late.through = {77, (*row)->modified};
  const auto txn = machines_[0]->store().begin(kv::Access::kWrite);
  Context context;
  context.ticket = 5'000;
  context.limits = realm_.limits;
  machines_[0]->take_over(context);
  Table table(**txn, context);
  const auto reply = table.acquire(late);
  ASSERT_EQ(reply->outcome, Outcome::kGranted);
  ASSERT_TRUE(takes_over(1, 77));  // before it commits
  EXPECT_EQ((*txn)->commit()->fate, kv::Fate::kConflict);

  EXPECT_EQ(on(0).acquire(late).error().code, Code::kStoreUnavailable);
  ASSERT_TRUE(takes_over(0, 77));
  EXPECT_EQ(on(0).acquire(late).error().code, Code::kStoreUnavailable);
  EXPECT_FALSE(held(1));  // and now cat has it
}

TEST_F(Machines, Rule05_L6_AWaiterIsBuriedByWhoeverKnewItsProcess) {
  const auto bury = [&](const LeaseId& id, const Attachment& process) {
    EXPECT_TRUE(on(0).run([&](Table& table) -> Result<bool> {
      LK_CHECK(table.bury_waiter(id, process));
      return true;
    }));
  };
  const Lease first = on(1).granted(kAnn, {x("a")});
  const Attachment process = begun(0, 77, 1);
  const Lease bob = on(0).queued(waiting(kBob, process));
  const Lease cat = on(1).queued(waiting(kCat, begun(1, 78, 2)));
  bury(bob.id, Attachment::remote(9, 77));  // another process waits by now
  EXPECT_TRUE(on(1).waits(bob.id));
  ASSERT_TRUE(on(1).release(kAnn, first.id));
  EXPECT_TRUE(on(1).holds(bob.id));  // handed over, and not confirmed
  bury(bob.id, process);
  EXPECT_FALSE(on(1).holds(bob.id));
  EXPECT_TRUE(on(1).holds(cat.id));
  EXPECT_THAT(realm_.story(), Contains("ended bob a [died]"));
}

}  // namespace
}  // namespace lockkeeper::core
