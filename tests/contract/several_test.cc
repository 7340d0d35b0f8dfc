// Several machines: each has a Store of its own on the same rows.
#include "contract.h"

namespace lockkeeper::contract {
namespace {

class SeveralStores : public Contract {
 protected:
  void SetUp() override {
    other_ = another();
    if (other_ == nullptr) GTEST_SKIP() << "one machine has it alone";
  }
  void put_while_open(kv::Store& through, std::string_view key) {
    Tx tx(through, kv::Access::kWrite);
    ASSERT_TRUE(tx->put(key, "", kv::kWhileOpen));
    tx.committed();
  }
  std::unique_ptr<kv::Store> other_;
};
INSTANTIATE_TEST_SUITE_P(Backends, SeveralStores, testing::ValuesIn(optimistic_backends()),
                         backend_name);

TEST_P(SeveralStores, WhatOneHasCommittedTheOthersRead) {
  const kv::Version first = fill({{"a", "1"}});
  Tx tx(*other_, kv::Access::kWrite);
  EXPECT_EQ(tx.get("a"), "1");
  tx.put("a", "2");
  EXPECT_GT(tx.committed(), first);
  EXPECT_EQ(read().get("a"), "2");
}

TEST_P(SeveralStores, AGuardHoldsAgainstAllOfThem) {
  fill({{"a", "1"}});
  Tx tx(*other_, kv::Access::kWrite);
  EXPECT_EQ(tx.get("a"), "1");
  tx.put("b", "");
  fill({{"a", "2"}});
  EXPECT_EQ(tx.commit().fate, kv::Fate::kConflict);
}

TEST_P(SeveralStores, TheyAreInOneEpoch) {
  EXPECT_EQ(other_->epoch().id, store().epoch().id);
  EXPECT_EQ(other_->epoch().fence_offset, store().epoch().fence_offset);
}

TEST_P(SeveralStores, ARowThatLivesWithItsStoreStaysAMinuteAfterThatHasClosed) {
  put_while_open(*other_, "other");
  put_while_open(store(), "own");
  other_.reset();
  pass(kv::kAfterOpenMs);
  vanish();
  EXPECT_EQ(keys(all()), "other own");
  pass(1'000'000);
  const bool gone = vanish();
  EXPECT_EQ(keys(all()), gone ? "own" : "other own");
}

TEST_P(SeveralStores, WhoeverOverwritesSuchARowTakesItOver) {
  put_while_open(*other_, "session");
  put_while_open(store(), "session");
  other_.reset();
  pass(1'000'000);
  vanish();
  EXPECT_EQ(keys(all()), "session");
}

TEST_P(SeveralStores, AGuardOfSuchARowNoticesThatItHasGone) {
  put_while_open(*other_, "session");
  other_.reset();
  Tx tx = write();
  EXPECT_TRUE(tx.row("session"));
  tx.put("a", "");
  pass(1'000'000);
  if (!vanish()) GTEST_SKIP() << "no lifetimes here";
  EXPECT_EQ(tx.commit().fate, kv::Fate::kConflict);
}

}  // namespace
}  // namespace lockkeeper::contract
