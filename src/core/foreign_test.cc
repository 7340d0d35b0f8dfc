// Other tools' locks as leases: they refuse, they end, they overlap what we hold, and they are
// never taken for ours.
#include "core/foreign.h"

#include <gmock/gmock.h>

#include "core/message.h"
#include "core/testing.h"

namespace lockkeeper::core {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ForeignLocks : public OnBothFlavours {
 protected:
  ForeignLock lock(const std::string& name, std::vector<Claim> claims) const {
    ForeignLock lock;
    lock.layout = "mkdir-1a2b3c4d";
    lock.artefact = "files/" + name;
    lock.path = "/repo/spec/.locks/files/" + name;
    lock.claims = std::move(claims);
    lock.owner = {"worker", lock.path};
    lock.since_wall_ms = realm_.now().wall_ms;
    lock.stamp = 7;
    return lock;
  }

  std::vector<Conflict> place(const ForeignLock& lock) {
    auto done = realm_.run([&](Table& table) { return place_foreign(table, lock); });
    EXPECT_TRUE(done) << done.error().message;
    return done ? *done : std::vector<Conflict>();
  }

  std::optional<KnownForeign> known(const std::string& name) {
    std::optional<KnownForeign> found;
    EXPECT_TRUE(realm_.run([&](Table& table) -> Result<bool> {
      LK_ASSIGN(found, known_foreign(table.state(), "mkdir-1a2b3c4d", "files/" + name));
      return true;
    }));
    return found;
  }

  void end(const std::string& name) {
    const std::optional<KnownForeign> one = known(name);
    ASSERT_TRUE(one);
    ASSERT_TRUE(realm_.run([&](Table& table) -> Result<bool> {
      LK_CHECK(end_foreign(table, *one, {"released", "artefact_removed", "", {}}));
      return true;
    }));
  }
};

LOCKKEEPER_ON_BOTH_FLAVOURS(ForeignLocks);

TEST_P(ForeignLocks, TheyRefuseWithTheirOwnerAndEnd) {
  EXPECT_THAT(place(lock("a", {x("a")})), IsEmpty());
  const auto refused = realm_.acquire(realm_.ask(kAnn, {x("a")}));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->outcome, Outcome::kHeld);
  ASSERT_THAT(refused->conflicts, SizeIs(1));
  const Lease& holder = refused->conflicts[0].holder;
  EXPECT_TRUE(holder.foreign);
  EXPECT_EQ(holder.owner.agent, "worker");
  EXPECT_EQ(foreign_path(holder), "/repo/spec/.locks/files/a");
  EXPECT_EQ(foreign_artefact(holder), "files/a");
  EXPECT_EQ(layout_kind(holder.terms.layout), "mkdir");
  end("a");
  EXPECT_FALSE(known("a"));
  realm_.granted(kAnn, {x("a")});
  EXPECT_THAT(realm_.story(), Contains("foreign_seen worker a [mkdir]"));
}

TEST_P(ForeignLocks, AnOwnerOfTheSameNameIsNotTheSame) {
  ForeignLock theirs = lock("a", {x("a")});
  theirs.owner = kAnn;
  place(theirs);
  EXPECT_EQ(realm_.outcome(realm_.ask(kAnn, {x("a")})), Outcome::kHeld);
  const auto reply = realm_.release(kAnn, {"a"});
  ASSERT_TRUE(reply);
  EXPECT_THAT(reply->released, IsEmpty());
  EXPECT_TRUE(known("a"));
}

TEST_P(ForeignLocks, L1_WhoWaitsForOneIsServedInOrderWhenItGoes) {
  place(lock("a", {x("a")}));
  const Lease first = realm_.queued(kAnn, {x("a")});
  const Lease second = realm_.queued(kBob, {x("a")});
  end("a");
  EXPECT_TRUE(realm_.holds(first.id));
  EXPECT_TRUE(realm_.waits(second.id));
}

TEST_P(ForeignLocks, I7_WhatItOverlapsIsToldOnceAndKept) {
  const Lease held = realm_.granted(kAnn, {x("src/")});
  const std::vector<Conflict> overlapped = place(lock("a", {x("src/a")}));
  ASSERT_THAT(overlapped, SizeIs(1));
  EXPECT_EQ(overlapped[0].holder.id, held.id);
  EXPECT_TRUE(realm_.holds(held.id));
  std::size_t told = 0;
  for (const Event& event : realm_.events()) {
    if (event.what != "foreign_conflict") continue;
    ++told;
    EXPECT_EQ(event.owner, kAnn);
    EXPECT_EQ(event.lease, held.id);
    EXPECT_EQ(event.fence, held.fence());
    EXPECT_EQ(event.by.agent, "worker");
  }
  EXPECT_EQ(told, 1U);
  std::vector<Message> messages;
  ASSERT_TRUE(realm_.run([&](Table& table) -> Result<bool> {
    LK_ASSIGN(messages, messages_for(table.state(), kAnn, true));
    return true;
  }));
  ASSERT_THAT(messages, SizeIs(1));
  EXPECT_THAT(messages[0].text, HasSubstr("/repo/spec/.locks/files/a"));
}

TEST_P(ForeignLocks, ALeaseThatIsOverIsNotOverlapped) {
  realm_.granted(kAnn, {x("a")});
  realm_.pass(60'001);
  EXPECT_THAT(place(lock("a", {x("a")})), IsEmpty());
}

TEST_P(ForeignLocks, AChangedOneStandsForWhatItClaimsNow) {
  place(lock("a", {x("a")}));
  const Lease waiting = realm_.queued(kAnn, {x("a")});
  ForeignLock changed = lock("a", {x("b")});
  changed.stamp = 8;
  place(changed);
  EXPECT_TRUE(realm_.holds(waiting.id)) << "what it no longer claims is free";
  EXPECT_EQ(realm_.outcome(realm_.ask(kBob, {x("b")})), Outcome::kHeld);
  EXPECT_EQ(known("a")->stamp, 8U);
  EXPECT_THAT(realm_.story(), Contains("foreign_changed worker b [mkdir]"));
}

TEST_P(ForeignLocks, ItsOwnTimeEndsItAndTheRowIsForgottenWithTheArtefact) {
  ForeignLock timed = lock("a", {x("a")});
  timed.expires_wall_ms = realm_.now().wall_ms + 5'000;
  place(timed);
  realm_.pass(4'999);
  EXPECT_EQ(realm_.outcome(realm_.ask(kAnn, {x("a")})), Outcome::kHeld);
  realm_.pass(2);
  realm_.granted(kAnn, {x("a")});
  ASSERT_TRUE(known("a"));
  realm_.audit();
  end("a");
  EXPECT_FALSE(known("a"));
}

TEST_P(ForeignLocks, AGrantThatIsTakenBackHandsOffAndIsOnRecord) {
  const Lease held = realm_.granted(kAnn, {x("a")});
  const Lease waiting = realm_.queued(kBob, {x("a")});
  ASSERT_TRUE(realm_.run([&](Table& table) -> Result<bool> {
    LK_CHECK(withdraw(table, held.id, lock("a", {x("a")})));
    return true;
  }));
  EXPECT_FALSE(realm_.holds(held.id));
  EXPECT_TRUE(realm_.holds(waiting.id));
  EXPECT_THAT(realm_.notices(kAnn), IsEmpty()) << "it was never told of it";
  EXPECT_THAT(realm_.story(), Contains("withdrawn ann a [foreign_first]"));
}

TEST_P(ForeignLocks, TheyCountForNobodysQuota) {
  realm_.limits.claims_per_agent = 1;
  ForeignLock theirs = lock("a", {x("a"), x("b"), x("c")});
  theirs.owner = {"ann", ""};
  place(theirs);
  realm_.granted(kAnn, {x("d")});
}

TEST_P(ForeignLocks, ManyOfOneOwnerInOneCommit) {
  ASSERT_TRUE(realm_.run([&](Table& table) -> Result<bool> {
    for (int i = 0; i < 8; ++i) {
      const std::string name = "f" + std::to_string(i);
      LK_CHECK(place_foreign(table, lock(name, {x(name)})));
    }
    return true;
  }));
  EXPECT_THAT(realm_.leases(), SizeIs(8));
}

TEST_P(ForeignLocks, LongNamesAreKnownByNameAndByPrefix) {
  const std::string name(400, 'n');
  place(lock(name + "1", {x("a")}));
  place(lock(name + "2", {x("b")}));
  ASSERT_TRUE(known(name + "1"));
  EXPECT_EQ(known(name + "1")->artefact, "files/" + name + "1");
  bool found = false;
  ASSERT_TRUE(realm_.run([&](Table& table) -> Result<bool> {
    LK_ASSIGN(const auto all,
              all_known_foreign(table.state(), "mkdir-1a2b3c4d", "files/" + name + "1"));
    for (const KnownForeign& one : all) found |= one.artefact == "files/" + name + "1";
    return true;
  }));
  EXPECT_TRUE(found);
}

TEST_P(ForeignLocks, StampsOfALayoutAreKept) {
  ASSERT_TRUE(realm_.run([&](Table& table) -> Result<bool> {
    LK_CHECK(put_layout_stamps(table.state(), "mkdir-1a2b3c4d", "stamps"));
    return true;
  }));
  std::string stamps, none;
  ASSERT_TRUE(realm_.run([&](Table& table) -> Result<bool> {
    LK_ASSIGN(stamps, layout_stamps(table.state(), "mkdir-1a2b3c4d"));
    LK_ASSIGN(none, layout_stamps(table.state(), "other"));
    return true;
  }));
  EXPECT_EQ(stamps, "stamps");
  EXPECT_EQ(none, "");
}

}  // namespace
}  // namespace lockkeeper::core
