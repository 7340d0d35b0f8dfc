// The audit must see every kind of damage: each test breaks one row of a sound table.
#include "core/audit.h"

#include <gmock/gmock.h>

#include "base/bytes.h"
#include "core/foreign.h"
#include "core/mirrored.h"
#include "core/testing.h"

namespace lockkeeper::core {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class Audit : public testing::Test {
 protected:
  Audit() {
    realm_.auditing = false;
    AcquireRequest request = realm_.ask(kAnnInS1, {x("src/"), s("docs/a")});
    request.terms.request_id = "r1";
    held_ = realm_.granted(request);
    AcquireRequest inner = realm_.ask(kBob, {x("src/a")});
    inner.under = held_.id;
    inner.under_fence = held_.fence();
    child_ = realm_.granted(inner);
    waiter_ = realm_.queued(kCat, {x("docs/")});
  }

  std::vector<std::string> problems() {
    auto txn = realm_.store().begin(kv::Access::kRead);
    const Context context{realm_.now(), realm_.store().epoch(), 0, &realm_.prober, realm_.limits};
    return audit(**txn, context).value();
  }

  void put(const std::string& key, const std::string& value) {
    auto txn = realm_.store().begin(kv::Access::kWrite);
    ASSERT_TRUE((*txn)->put(key, value));
    ASSERT_TRUE((*txn)->commit());
  }
  void erase(const std::string& key) {
    auto txn = realm_.store().begin(kv::Access::kWrite);
    ASSERT_TRUE((*txn)->erase(key));
    ASSERT_TRUE((*txn)->commit());
  }
  // The only row whose key begins so.
  std::string key_like(const std::string& prefix) {
    for (const auto& [key, value] : realm_.rows()) {
      if (key.starts_with(prefix)) return key;
    }
    ADD_FAILURE() << "no row " << prefix;
    return prefix;
  }
  void expect(const std::string& problem) { EXPECT_THAT(problems(), Contains(HasSubstr(problem))); }

  Realm realm_{kv::Flavour::kPessimistic};
  Lease held_;
  Lease child_;
  Lease waiter_;
};

TEST_F(Audit, ASoundTableHasNoProblem) {
  EXPECT_THAT(problems(), IsEmpty());
  realm_.pass(60'001);
  EXPECT_THAT(problems(), IsEmpty());  // over, not yet ended
  realm_.maintain();
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(Audit, EveryRowOfALeaseIsMissed) {
  for (const std::string& key :
       {key_like("x"), key_like("s"), key_like("c"), key_like("b"), key_like("X"),
        due_key(held_.epoch, held_.due_mono_ms, Due::kLease, held_.id.bytes)}) {
    const std::string value = realm_.rows().at(key);
    erase(key);
    EXPECT_FALSE(problems().empty()) << to_hex(key);
    put(key, value);
    EXPECT_THAT(problems(), IsEmpty());
  }
}

TEST_F(Audit, RowsThatPointToNothing) {
  erase(lease_key(held_.id));
  expect("belongs to no lease");
  expect("a due row points to no lease");
  expect("outlives its parent");
  expect("a request id will never be forgotten");
  expect("which does not exist");
}

TEST_F(Audit, AWaiterThatIsGoneLeavesItsRows) {
  erase(waiter_key(waiter_.id));
  expect("belongs to no lease");
  expect("a row points to nothing");
}

TEST_F(Audit, ABlockerThatIsNotInTheWay) {
  Waiter waiter = realm_.waiter(waiter_.id);
  erase(blocked_key(waiter.blocker, waiter_.id));
  waiter.blocker = child_.id;
  put(waiter_key(waiter_.id), encode_waiter(waiter));
  put(blocked_key(child_.id, waiter_.id), "");
  expect("which does not conflict with it");
}

TEST_F(Audit, AHandoffToComeExcusesABlockerThatIsGone) {
  ASSERT_TRUE(realm_.release(kBob, waiter_.id));  // not a lease: nothing happens
  const Waiter waiter = realm_.waiter(waiter_.id);
  EXPECT_EQ(waiter.blocker, held_.id);
  put(due_key(0, 0, Due::kHandoff, LeaseId{std::string(16, 'q')}.bytes), "");
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(Audit, ACounterThatIsOff) {
  RecordWriter five;
  five.number(5);
  put(counter_key(kAnnInS1), five.take());
  expect("says 5 claims, its leases and waiters have 2");
  erase(counter_key(kAnnInS1));
  expect("has no counter");
}

TEST_F(Audit, I1TwoLeasesOnOneName) {
  Lease intruder = realm_.lease(held_.id);
  intruder.owner = {"eve", ""};
  intruder.id = make_id(intruder.owner, 99);
  intruder.claims = {x("src/*")};
  intruder.terms.request_id.clear();
  put(lease_key(intruder.id), encode_lease(intruder));
  put(claim_key(Holding::kLease, Mode::kExclusive, key::Place(intruder.claims[0].resource),
                intruder.id, intruder.claims[0].slot),
      encode_claim(intruder.claims[0].resource));
  put(due_key(intruder.epoch, intruder.due_mono_ms, Due::kLease, intruder.id.bytes), "");
  RecordWriter one;
  one.number(1);
  put(counter_key(intruder.owner), one.take());
  const auto found = problems();
  EXPECT_THAT(found, Contains(HasSubstr("I1: leases")));
  for (const std::string& problem : found) EXPECT_THAT(problem, HasSubstr("I1"));
}

TEST_F(Audit, I10RecordsThatCannotBeRead) {
  put(lease_key(held_.id), "x");
  expect("cannot be read");
  put(waiter_key(waiter_.id), "x");
  expect("waiter " + waiter_.id.text() + " cannot be read");
  put(key_like("e"), "x");
  expect("an event cannot be read");
  put(key_like("r"), "x");
  expect("a request id cannot be read");
  put(std::string(kDuePrefix) + "x", "");
  expect("a due row cannot be read");
}

TEST_F(Audit, ALostLeaseThatIsNeverForgotten) {
  ASSERT_TRUE(realm_.break_lease({kBob, "why", false, false}, held_.id));
  EXPECT_THAT(problems(), IsEmpty());
  for (const auto& [key, value] : realm_.rows()) {
    const auto due = read_due_key(key);
    if (due && due->what == Due::kLost) erase(key);
  }
  expect("a lost lease will never be forgotten");
}

TEST_F(Audit, ItStopsAtTheMostProblems) {
  erase(lease_key(held_.id));
  auto txn = realm_.store().begin(kv::Access::kRead);
  const Context context{realm_.now(), realm_.store().epoch(), 0, &realm_.prober, realm_.limits};
  EXPECT_EQ(audit(**txn, context, {true, true, 2})->size(), 2u);
}

class AuditLayouts : public Audit {
 protected:
  AuditLayouts() {
    ForeignLock lock;
    lock.layout = "mkdir-1";
    lock.artefact = "files/f";
    lock.path = "/f";
    lock.claims = {x("f")};
    lock.owner = {"worker", "/f"};
    const auto placed = realm_.run([&](Table& table) -> Result<bool> {
      LK_CHECK(place_foreign(table, lock));
      LK_CHECK(record_mirrored(table.state(), held_.id,
                               {{"mkdir-1", "files/a", held_.id, "i", true},
                                {"mkdir-1", "files/b", held_.id, "i", true}}));
      return true;
    });
    EXPECT_TRUE(placed);
  }
};

TEST_F(AuditLayouts, SoundBeforeAndAfterTheEnds) {
  EXPECT_THAT(problems(), IsEmpty());
  ASSERT_TRUE(realm_.break_lease({kBob, "why", false, false}, held_.id));
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(AuditLayouts, AForeignLeaseThatIsKnownUnderNoArtefact) {
  erase(key_like("k"));
  expect("a foreign lease is known under no artefact");
}

TEST_F(AuditLayouts, AnArtefactThatIsKnownAsAnotherLease) {
  const std::string key = key_like("k");
  RecordWriter other;
  other.text("mkdir-1");
  other.text("files/f");
  other.text(held_.id.bytes);
  other.number(0);
  put(key, other.take());
  expect("which is another");
}

TEST_F(AuditLayouts, AShownLeaseWithoutItsRowAndARowWithoutItsLease) {
  const std::string key = mirror_key(mirror_place("mkdir-1", "files/a"), held_.id);
  const std::string value = realm_.rows().at(key);
  erase(key);
  expect("a lease is mirrored where no row says so");
  put(key, value);
  EXPECT_THAT(problems(), IsEmpty());
  put(mirror_key(mirror_place("mkdir-1", "files/a"), child_.id), value);
  expect("shows no lease and nobody will remove it");
}

TEST_F(AuditLayouts, WhatIsToBeRemovedMustBeThereAndShowNobody) {
  put(removal_key(held_.id), encode_places({mirror_place("mkdir-1", "files/a")}));
  expect("is mirrored by what is to be removed");
  erase(removal_key(held_.id));
  ASSERT_TRUE(realm_.break_lease({kBob, "why", false, false}, held_.id));
  erase(mirror_key(mirror_place("mkdir-1", "files/b"), held_.id));
  expect("a lease is mirrored where no row says so");
}

TEST_F(AuditLayouts, I10RowsThatCannotBeRead) {
  put(key_like("k"), "x");
  expect("a foreign lock cannot be read");
  put(key_like("o"), "x");
  expect("a mirrored lease cannot be read");
  put(removal_key(child_.id), "x");
  expect("what is to be removed of a lease cannot be read");
}

}  // namespace
}  // namespace lockkeeper::core
