// Guards and budgets that every backend shares; interleavings are in interleave_test.cc.
#include <algorithm>

#include "contract.h"

namespace lockkeeper::contract {

class ContractGuard : public Contract {};
INSTANTIATE_TEST_SUITE_P(All, ContractGuard, testing::ValuesIn(backends()), backend_name);

TEST_P(ContractGuard, GuardsThatHoldLetTheCommitThrough) {
  const kv::Version version = fill({{"a", "1"}});
  Tx tx = write();
  tx.guard_unchanged("a", version);
  tx.guard_absent("b");
  tx.guard_empty("c", "d");
  tx.put("z", "");
  EXPECT_GT(tx.committed(), version);
}

// A version remembered from an earlier transaction may be old: also where nobody else can write.
TEST_P(ContractGuard, I2AGuardThatDoesNotHoldIsAConflictAndNothingIsWritten) {
  const kv::Version old = fill({{"a", "1"}});
  const kv::Version version = fill({{"a", "2"}});
  const std::vector<std::function<void(Tx&)>> broken = {
      [&](Tx& tx) { tx.guard_unchanged("a", old); },
      [&](Tx& tx) { tx.guard_unchanged("a", version + 1); },
      [&](Tx& tx) { tx.guard_unchanged("absent", version); },
      [&](Tx& tx) { tx.guard_absent("a"); },
      [&](Tx& tx) { tx.guard_empty("a", "b"); },
      [&](Tx& tx) { tx.guard_empty("0", "z"); },
  };
  for (std::size_t i = 0; i < broken.size(); ++i) {
    SCOPED_TRACE(i);
    Tx tx = write();
    tx.put("z", "");
    tx.append("e/", "");
    broken[i](tx);
    EXPECT_EQ(tx.commit().fate, kv::Fate::kConflict);
    EXPECT_EQ(all(), (Pairs{{"a", "2"}}));
    EXPECT_EQ(read().committed(), version);
  }
}

TEST_P(ContractGuard, GuardsSpeakOfTheStateBeforeTheTransaction) {
  const kv::Version version = fill({{"a", "1"}, {"b", "1"}, {"c", "1"}});
  Tx tx = write();
  tx.guard_absent("new");
  tx.guard_unchanged("a", version);
  tx.guard_unchanged("b", version);
  tx.guard_empty("m", "n");
  tx.put("new", "");
  tx.put("a", "2");
  tx.erase("b");
  tx.put("mm", "");
  EXPECT_GT(tx.committed(), version);
  EXPECT_EQ(keys(all()), "a c mm new");
}

TEST_P(ContractGuard, OwnWritesNeverBreakOwnGuardedReads) {
  fill({{"a", "1"}, {"b", "1"}, {"c", "1"}});
  Tx tx = write();
  EXPECT_EQ(keys(tx.scan("a", "f")), "a b c");
  EXPECT_EQ(tx.get("d"), std::nullopt);
  EXPECT_EQ(keys(tx.scan("m", "n")), "");
  tx.put("a", "2");
  tx.erase("b");
  tx.put("d", "2");
  tx.put("mm", "2");
  EXPECT_EQ(keys(tx.scan("a", "f")), "a c d");
  EXPECT_EQ(keys(tx.scan("m", "n")), "mm");
  EXPECT_EQ(tx.get("b"), std::nullopt);
  tx.committed();
  EXPECT_EQ(keys(all()), "a c d mm");
}

TEST_P(ContractGuard, TheBudgetIsWhatAFreshTransactionHasLeft) {
  Tx tx = write();
  EXPECT_EQ(tx->left().guards, store().budget().guards);
  EXPECT_EQ(tx->left().writes, store().budget().writes);
  EXPECT_GE(store().budget().guards, 100U);
  EXPECT_GE(store().budget().writes, 100U);
}

TEST_P(ContractGuard, PeeksCostNoGuard) {
  Pairs rows;
  for (std::size_t i = 100; i < 200; ++i) rows.emplace_back(numbered("k", i), "");
  fill(rows);
  Tx tx = write();
  EXPECT_EQ(tx.scan("k", "l", SIZE_MAX, kv::Read::kPeek).size(), 100U);
  EXPECT_EQ(tx.scan_back("k", "l").size(), 100U);
  EXPECT_EQ(tx.get("k100", kv::Read::kPeek), "");
  EXPECT_EQ(tx.get("x", kv::Read::kPeek), std::nullopt);
  EXPECT_EQ(tx->left().guards, store().budget().guards);
}

TEST_P(ContractGuard, L8AHundredGuardsAndAHundredWritesFitEveryBackend) {
  Tx tx = write();
  for (std::size_t i = 0; i < 100; ++i) tx.guard_absent(numbered("g", i));
  for (std::size_t i = 0; i < 100; ++i) tx.put(numbered("w", i), "");
  tx.committed();
  EXPECT_EQ(all().size(), 100U);
}

TEST_P(ContractGuard, L8OneGuardTooManyIsRefusedByNumberAtTheCommit) {
  const std::size_t max = store().budget().guards;
  if (max == SIZE_MAX) GTEST_SKIP() << "no limit here";
  const auto full = [&] {
    Tx tx = write();
    for (std::size_t i = 0; i + 1 < max; ++i) tx.guard_absent(numbered("g", i));
    tx.guard_empty("m", "n");
    EXPECT_EQ(tx->left().guards, 0U);
    tx.put("z", "");
    return tx;
  };
  const std::vector<std::function<void(Tx&)>> more = {
      [](Tx& tx) { tx.guard_absent("more"); }, [](Tx& tx) { tx.guard_unchanged("more", 1); },
      [](Tx& tx) { tx.guard_empty("more", "most"); }, [](Tx& tx) { tx.get("more"); },
      [](Tx& tx) { tx.scan("more", "most"); }};
  for (std::size_t i = 0; i < more.size(); ++i) {
    SCOPED_TRACE(i);
    Tx tx = full();
    more[i](tx);
    const auto refused = tx->commit();
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Code::kLimitExceeded);
    EXPECT_NE(refused.error().message.find(std::to_string(max)), std::string::npos);
    tx.drop();
    EXPECT_EQ(all(), Pairs{});
  }
  // Equal ones are free, peeks too.
  Tx tx = full();
  tx.guard_absent("g0");
  tx.guard_empty("m", "n");
  EXPECT_EQ(keys(tx.scan("m", "n")), "");
  EXPECT_EQ(tx.get("g1"), std::nullopt);
  EXPECT_EQ(tx.get("more", kv::Read::kPeek), std::nullopt);
  tx.committed();
}

TEST_P(ContractGuard, L8ASearchMayReadMoreThanTheBudgetIfItDropsTheGuards) {
  for (std::size_t i = 0; i < 150; ++i) fill({{numbered("k", 1000 + i), ""}});
  Tx tx = write();
  EXPECT_EQ(tx.get("kept"), std::nullopt);
  const auto mark = tx->guard_mark();
  EXPECT_EQ(tx.scan("k1", "k2").size(), 150U);
  EXPECT_EQ(tx.get("kept"), std::nullopt);
  tx->drop_guards(mark);
  if (store().budget().guards != SIZE_MAX) {
    EXPECT_EQ(tx->left().guards, store().budget().guards - 1);
  }
  tx.put("z", "");
  tx.committed();
}

TEST_P(ContractGuard, L8OneWriteTooManyIsRefusedByNumber) {
  const std::size_t max = store().budget().writes;
  if (max == SIZE_MAX) GTEST_SKIP() << "no limit here";
  Tx tx = write();
  for (std::size_t i = 0; i + 1 < max; ++i) tx.put(numbered("w", i), "1");
  tx.append("e/", "");
  EXPECT_EQ(tx->left().writes, 0U);
  const auto expect_refused = [&](const auto& result) {
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, Code::kLimitExceeded);
    EXPECT_NE(result.error().message.find(std::to_string(max)), std::string::npos);
  };
  expect_refused(tx->put("more", ""));
  expect_refused(tx->erase("more"));
  expect_refused(tx->append("e/", ""));
  tx.put("w0", "2");  // of one key only the last write counts
  tx.erase("w1");
  tx.put("w1", "3");
  tx.committed();
  EXPECT_EQ(all().size(), max);
}

TEST_P(ContractGuard, EachGuardIsCountedOnce) {
  if (store().budget().guards == SIZE_MAX) GTEST_SKIP() << "no limit here";
  const kv::Version version = fill({{"a", ""}, {"b", ""}});
  Tx tx = write();
  const auto used = [&] { return store().budget().guards - tx->left().guards; };
  tx.get("a");
  tx.get("a");
  tx.guard_unchanged("a", version);
  EXPECT_EQ(used(), 1U);
  tx.get("x");
  tx.guard_absent("x");
  EXPECT_EQ(used(), 2U);
  tx.scan("a", "c");  // a again, b, and the range
  EXPECT_EQ(used(), 4U);
  tx.scan("a", "c");
  EXPECT_EQ(used(), 4U);
  tx.scan("m", "n");
  tx.guard_empty("m", "n");
  EXPECT_EQ(used(), 5U);
  tx.put("own", "");
  tx.get("own");  // what it wrote itself needs no guard
  EXPECT_EQ(used(), 5U);
}

TEST_P(ContractGuard, L8AReadTransactionMayGuardMoreThanTheBudget) {
  for (std::size_t i = 0; i < 150; ++i) fill({{numbered("k", 1000 + i), ""}});
  Tx tx = read();
  EXPECT_EQ(tx.scan("k", "l").size(), 150U);
  tx.committed();
}

TEST_P(ContractGuard, AReadTransactionMayGuardToo) {
  const kv::Version version = fill({{"a", "1"}});
  Tx tx = read();
  EXPECT_EQ(tx.get("a"), "1");
  tx.guard_unchanged("a", version);
  tx.guard_absent("b");
  EXPECT_EQ(tx.committed(), version);
  Tx broken = read();
  broken.guard_absent("a");
  EXPECT_EQ(broken.commit().fate, kv::Fate::kConflict);
}

}  // namespace lockkeeper::contract
