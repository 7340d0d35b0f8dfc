// Optimistic stores: two transactions, one interleaving, conflict or not.
//
// Each row of the table: the first transaction reads or guards, the second begins, writes and
// commits, then the first writes the row "out" and commits. The store holds b=1, d=1, f=1.
#include <atomic>

#include "contract.h"

namespace lockkeeper::contract {

namespace {

using kv::Read;

enum class Expect { kConflict, kCommit };

struct Interleaving {
  std::string name;
  std::function<void(Tx&, kv::Version)> first;  // with the version of the three rows
  std::function<void(Tx&)> second;
  Expect expect;
};

void erase_b(Tx& tx) {
  tx.erase("b");
}
void erase_d(Tx& tx) {
  tx.erase("d");
}
void put_b(Tx& tx) {
  tx.put("b", "2");
}
void put_c(Tx& tx) {
  tx.put("c", "2");
}
void put_d(Tx& tx) {
  tx.put("d", "2");
}
void put_e(Tx& tx) {
  tx.put("e", "2");
}
void put_same_b(Tx& tx) {
  tx.put("b", "1");
}
void append_in(Tx& tx) {
  tx.append("c", "2");
}
void put_far(Tx& tx) {
  tx.put("x", "2");
}
void erase_absent(Tx& tx) {
  tx.erase("c");
}

const std::vector<Interleaving>& table() {
  static const std::vector<Interleaving> rows = {
      // Points.
      {"get_then_overwritten", [](Tx& tx, auto) { tx.get("b"); }, put_b, Expect::kConflict},
      {"get_then_same_value", [](Tx& tx, auto) { tx.get("b"); }, put_same_b, Expect::kConflict},
      {"get_then_deleted", [](Tx& tx, auto) { tx.get("b"); }, erase_b, Expect::kConflict},
      {"get_then_another_key", [](Tx& tx, auto) { tx.get("b"); }, put_d, Expect::kCommit},
      {"get_absent_then_created", [](Tx& tx, auto) { tx.get("c"); }, put_c, Expect::kConflict},
      {"get_absent_then_erased_still_absent", [](Tx& tx, auto) { tx.get("c"); }, erase_absent,
       Expect::kCommit},
      {"peek_then_overwritten", [](Tx& tx, auto) { tx.get("b", Read::kPeek); }, put_b,
       Expect::kCommit},
      {"peek_then_deleted", [](Tx& tx, auto) { tx.get("b", Read::kPeek); }, erase_b,
       Expect::kCommit},
      {"guard_absent_then_created", [](Tx& tx, auto) { tx.guard_absent("c"); }, put_c,
       Expect::kConflict},
      {"guard_absent_then_neighbour", [](Tx& tx, auto) { tx.guard_absent("c"); }, put_d,
       Expect::kCommit},
      {"guard_unchanged_then_overwritten",
       [](Tx& tx, kv::Version v) { tx.guard_unchanged("b", v); }, put_b, Expect::kConflict},
      {"guard_unchanged_then_deleted", [](Tx& tx, kv::Version v) { tx.guard_unchanged("b", v); },
       erase_b, Expect::kConflict},
      {"guard_unchanged_then_another", [](Tx& tx, kv::Version v) { tx.guard_unchanged("b", v); },
       put_d, Expect::kCommit},
      // Whole ranges.
      {"scan_then_phantom", [](Tx& tx, auto) { tx.scan("a", "g"); }, put_c, Expect::kConflict},
      {"scan_then_overwritten", [](Tx& tx, auto) { tx.scan("a", "g"); }, put_d, Expect::kConflict},
      {"scan_then_deletion_hole", [](Tx& tx, auto) { tx.scan("a", "g"); }, erase_d,
       Expect::kConflict},
      {"scan_then_appended_inside", [](Tx& tx, auto) { tx.scan("a", "g"); }, append_in,
       Expect::kConflict},
      {"scan_then_insert_at_from", [](Tx& tx, auto) { tx.scan("c", "g"); }, put_c,
       Expect::kConflict},
      {"scan_then_insert_at_to", [](Tx& tx, auto) { tx.scan("a", "c"); }, put_c, Expect::kCommit},
      {"scan_then_change_before", [](Tx& tx, auto) { tx.scan("c", "g"); }, put_b, Expect::kCommit},
      {"scan_then_delete_before", [](Tx& tx, auto) { tx.scan("c", "g"); }, erase_b,
       Expect::kCommit},
      {"scan_then_far_away", [](Tx& tx, auto) { tx.scan("a", "g"); }, put_far, Expect::kCommit},
      {"peek_scan_then_phantom", [](Tx& tx, auto) { tx.scan("a", "g", SIZE_MAX, Read::kPeek); },
       put_c, Expect::kCommit},
      {"scan_back_then_phantom", [](Tx& tx, auto) { tx.scan_back("a", "g"); }, put_c,
       Expect::kCommit},
      {"empty_scan_then_insert", [](Tx& tx, auto) { tx.scan("c", "d"); }, put_c, Expect::kConflict},
      {"guard_empty_then_insert", [](Tx& tx, auto) { tx.guard_empty("c", "d"); }, put_c,
       Expect::kConflict},
      {"guard_empty_then_insert_at_to", [](Tx& tx, auto) { tx.guard_empty("c", "d"); }, put_d,
       Expect::kCommit},
      // Stopped scans: a, b, then nothing is promised.
      {"stopped_then_insert_beyond", [](Tx& tx, auto) { tx.scan("a", "g", 1); }, put_c,
       Expect::kCommit},
      {"stopped_then_change_beyond", [](Tx& tx, auto) { tx.scan("a", "g", 1); }, put_d,
       Expect::kCommit},
      {"stopped_then_delete_beyond", [](Tx& tx, auto) { tx.scan("a", "g", 1); }, erase_d,
       Expect::kCommit},
      {"stopped_then_change_of_last", [](Tx& tx, auto) { tx.scan("a", "g", 1); }, put_b,
       Expect::kConflict},
      {"stopped_then_delete_of_last", [](Tx& tx, auto) { tx.scan("a", "g", 1); }, erase_b,
       Expect::kConflict},
      {"stopped_then_insert_between", [](Tx& tx, auto) { tx.scan("a", "g", 2); }, put_c,
       Expect::kConflict},
      {"stopped_later_then_insert_beyond", [](Tx& tx, auto) { tx.scan("a", "g", 2); }, put_e,
       Expect::kCommit},
      // Own writes.
      {"blind_put_of_the_same_key", [](Tx& tx, auto) { tx.put("b", "own"); }, put_b,
       Expect::kCommit},
      {"blind_erase_of_the_same_key", [](Tx& tx, auto) { tx.erase("b"); }, put_b, Expect::kCommit},
      {"own_row_read_back",
       [](Tx& tx, auto) {
         tx.put("b", "own");
         tx.get("b");
       },
       put_b, Expect::kCommit},
      {"own_rows_alone_in_range_then_phantom",
       [](Tx& tx, auto) {
         tx.put("cc", "own");
         tx.scan("c", "d");
       },
       put_c, Expect::kConflict},
      {"stopped_at_own_row_then_insert_beyond",
       [](Tx& tx, auto) {
         tx.put("a", "own");
         tx.scan("a", "g", 1);
       },
       put_c, Expect::kCommit},
      {"stopped_at_own_row_then_change_beyond",
       [](Tx& tx, auto) {
         tx.put("a", "own");
         tx.scan("a", "g", 1);
       },
       put_b, Expect::kCommit},
      {"overlaid_range_then_deletion_of_another_row",
       [](Tx& tx, auto) {
         tx.put("c", "own");
         tx.scan("a", "g");
       },
       erase_d, Expect::kConflict},
      {"guard_then_own_overwrite",
       [](Tx& tx, auto) {
         tx.get("b");
         tx.put("b", "own");
       },
       put_b, Expect::kConflict},
      {"guard_then_own_erase",
       [](Tx& tx, auto) {
         tx.get("b");
         tx.erase("b");
       },
       erase_b, Expect::kConflict},
      {"guard_absent_then_own_put",
       [](Tx& tx, auto) {
         tx.guard_absent("c");
         tx.put("c", "own");
       },
       put_c, Expect::kConflict},
  };
  return rows;
}

class Interleaved : public testing::TestWithParam<std::tuple<Backend, Interleaving>> {};

INSTANTIATE_TEST_SUITE_P(Optimistic, Interleaved,
                         testing::Combine(testing::ValuesIn(optimistic_backends()),
                                          testing::ValuesIn(table())),
                         [](const auto& row) {
                           return std::get<0>(row.param).name + "_" + std::get<1>(row.param).name;
                         });

}  // namespace

TEST_P(Interleaved, I1ConflictsExactlyWhenWhatWasReadHasChanged) {
  const auto& [backend, row] = GetParam();
  const auto opened = backend.open();
  kv::Store& store = opened->store();
  Tx setup(store, kv::Access::kWrite);
  for (const char* key : {"b", "d", "f"}) setup.put(key, "1");
  const kv::Version version = setup.committed();

  Tx first(store, kv::Access::kWrite);
  row.first(first, version);
  Tx second(store, kv::Access::kWrite);
  row.second(second);
  second.committed();
  first.put("out", "");
  const bool conflict = first.commit().fate == kv::Fate::kConflict;
  EXPECT_EQ(conflict, row.expect == Expect::kConflict);
  EXPECT_EQ(Tx(store, kv::Access::kRead).get("out").has_value(), !conflict);  // I2

  // The same without anybody in between always commits.
  const auto quiet = backend.open();
  Tx again(quiet->store(), kv::Access::kWrite);
  for (const char* key : {"b", "d", "f"}) again.put(key, "1");
  const kv::Version same = again.committed();
  Tx alone(quiet->store(), kv::Access::kWrite);
  row.first(alone, same);
  alone.put("out", "");
  alone.committed();
}

class ContractOptimistic : public Contract {};
INSTANTIATE_TEST_SUITE_P(All, ContractOptimistic, testing::ValuesIn(optimistic_backends()),
                         backend_name);

TEST_P(ContractOptimistic, ATransactionReadsOneState) {
  fill({{"a", "1"}, {"b", "1"}});
  Tx tx = read();
  EXPECT_EQ(tx.get("a"), "1");
  fill({{"a", "2"}, {"b", "2"}, {"c", "2"}});
  Tx eraser = write();
  eraser.erase("a");
  eraser.committed();
  EXPECT_EQ(tx.get("a", Read::kPeek), "1");
  EXPECT_EQ(tx.get("b", Read::kPeek), "1");
  EXPECT_EQ(tx.get("c", Read::kPeek), std::nullopt);
  EXPECT_EQ(tx.scan("a", "z", SIZE_MAX, Read::kPeek), (Pairs{{"a", "1"}, {"b", "1"}}));
  EXPECT_EQ(tx.scan_back("a", "z"), (Pairs{{"b", "1"}, {"a", "1"}}));
  EXPECT_EQ(keys(all()), "b c");
}

TEST_P(ContractOptimistic, ViewsOutliveOtherTransactionsCommits) {
  const std::string value(100, 'v');
  fill({{"a", value}, {"b", "short"}});
  Tx tx = read();
  const auto a = tx.row("a");
  const auto b = tx.row("b");
  for (int i = 0; i < 10; ++i) {
    fill({{"a", std::string(200, 'w')}, {"b", "w"}});
    Tx eraser = write();
    eraser.erase("a");
    eraser.erase("b");
    eraser.committed();
  }
  EXPECT_EQ(a->key, "a");
  EXPECT_EQ(a->value, value);
  EXPECT_EQ(b->value, "short");
}

TEST_P(ContractOptimistic, ARowPutAgainIsANewRowWhileItsFormerSelfIsStillRead) {
  fill({{"a", "1"}});
  Tx tx = read();
  EXPECT_EQ(tx.get("none"), std::nullopt);  // from now on it reads this state
  Tx eraser = write();
  eraser.erase("a");
  eraser.committed();
  const kv::Version version = fill({{"a", "2"}});
  EXPECT_EQ(read().row("a")->created, version);
  EXPECT_EQ(read().row("a")->modified, version);
  EXPECT_LT(tx.row("a")->created, version);
}

TEST_P(ContractOptimistic, AbaIsAConflict) {
  fill({{"a", "1"}});
  Tx tx = write();
  tx.get("a");
  Tx eraser = write();
  eraser.erase("a");
  eraser.committed();
  fill({{"a", "1"}});
  tx.put("out", "");
  EXPECT_EQ(tx.commit().fate, kv::Fate::kConflict);
}

TEST_P(ContractOptimistic, AbaOfAnAbsentKeyIsNone) {
  Tx tx = write();
  tx.get("a");
  fill({{"a", "1"}});
  Tx eraser = write();
  eraser.erase("a");
  eraser.committed();
  tx.put("out", "");
  EXPECT_EQ(tx.commit().fate, kv::Fate::kCommitted);  // absent then, absent now
}

TEST_P(ContractOptimistic, OfTwoThatReadAndWriteOneRowOneConflicts) {
  fill({{"a", "1"}});
  Tx one = write();
  Tx two = write();
  EXPECT_EQ(one.get("a"), "1");
  EXPECT_EQ(two.get("a"), "1");
  one.put("a", "one");
  two.put("a", "two");
  EXPECT_EQ(two.commit().fate, kv::Fate::kCommitted);
  EXPECT_EQ(one.commit().fate, kv::Fate::kConflict);
  EXPECT_EQ(read().get("a"), "two");
}

TEST_P(ContractOptimistic, WriteSkewIsAConflict) {
  Tx one = write();
  Tx two = write();
  one.guard_absent("b");
  two.guard_absent("a");
  one.put("a", "");
  two.put("b", "");
  EXPECT_EQ(one.commit().fate, kv::Fate::kCommitted);
  EXPECT_EQ(two.commit().fate, kv::Fate::kConflict);
  EXPECT_EQ(keys(all()), "a");
}

TEST_P(ContractOptimistic, AConflictHasNoVersion) {
  Tx tx = write();
  tx.get("a");
  tx.append("e/", "");
  const kv::Version version = fill({{"a", ""}});
  EXPECT_EQ(tx.commit().fate, kv::Fate::kConflict);
  EXPECT_EQ(read().committed(), version);
}

TEST_P(ContractOptimistic, ABlindOverwriteKeepsTheRowCreatedMeanwhile) {
  Tx tx = write();
  tx.put("a", "mine");
  const kv::Version created = fill({{"a", "theirs"}});
  const kv::Version version = tx.committed();
  Tx after = read();
  EXPECT_EQ(after.row("a")->created, created);
  EXPECT_EQ(after.row("a")->modified, version);
}

TEST_P(ContractOptimistic, ABlindEraseRemovesTheRowCreatedMeanwhile) {
  Tx tx = write();
  tx.erase("a");
  const kv::Version created = fill({{"a", "theirs"}});
  EXPECT_GT(tx.committed(), created);
  EXPECT_EQ(all(), Pairs{});
}

TEST_P(ContractOptimistic, ADroppedGuardDoesNotConflictAndOneFromBeforeTheMarkDoes) {
  fill({{"a", "1"}, {"b", "1"}});
  std::size_t times = 0;
  const auto fate = [&](bool before) {
    const std::string absent = numbered("x", times++);
    Tx tx = write();
    if (before) tx.get("a");
    const auto mark = tx->guard_mark();
    EXPECT_EQ(keys(tx.scan("a", "c")), "a b");
    tx.get(absent);
    tx->drop_guards(mark);
    fill({{"a", "2"}, {"b", "2"}, {absent, "2"}});
    tx.put("out", "");
    return tx.commit().fate;
  };
  // What is read from a copy may have been old. What the thread reads next is the newest.
  if (GetParam().copies) {
    EXPECT_EQ(fate(false), kv::Fate::kConflict);
  }
  EXPECT_EQ(fate(false), kv::Fate::kCommitted);
  EXPECT_EQ(fate(true), kv::Fate::kConflict);
}

TEST_P(ContractOptimistic, AnAnswerOfPeeksIsConfirmedWhereTheyMayBeOld) {
  const auto confirmed = [&](bool by_commit, const std::string& change) {
    Tx tx = write();
    tx.get("a", kv::Read::kPeek);
    EXPECT_EQ(tx.scan_back("b", "e", 1).size(), 1U);  // it sees d and what comes behind it
    tx.scan("f", "h", SIZE_MAX, kv::Read::kPeek);
    fill({{change, "2"}});
    return by_commit ? tx.commit().fate == kv::Fate::kCommitted : tx->confirm_reads().value();
  };
  for (const bool by_commit : {false, true}) {
    SCOPED_TRACE(by_commit);
    for (const char* const change : {"a", "d", "dd", "f"}) {
      fill({{"b", "1"}, {"c", "1"}, {"d", "1"}});
      EXPECT_EQ(confirmed(by_commit, change), !GetParam().copies) << change;
      EXPECT_TRUE(confirmed(by_commit, change)) << change;  // the newest was read
      Tx tx = write();
      for (const char* const key : {"a", "dd", "f"}) tx.erase(key);
      tx.committed();
      EXPECT_TRUE(confirmed(by_commit, "c")) << change;  // nobody has looked there
    }
  }
}

TEST_P(ContractOptimistic, WhatVanishesIsAConflictForThoseWhoGuardIt) {
  const auto put_brief = [&] {
    Tx tx = write();
    ASSERT_TRUE(tx->put("brief", "1", 10));
    tx.committed();
  };
  put_brief();
  Tx point = write();
  EXPECT_EQ(point.get("brief"), "1");
  Tx range = write();
  EXPECT_EQ(keys(range.scan("a", "c")), "brief");
  Tx peek = write();
  EXPECT_EQ(peek.get("brief", kv::Read::kPeek), "1");
  pass(11);
  if (!vanish()) GTEST_SKIP() << "no lifetimes here";
  EXPECT_EQ(peek.get("brief", kv::Read::kPeek), "1");  // its snapshot
  for (Tx* const tx : {&point, &range, &peek}) tx->put("out", "");
  EXPECT_EQ(point.commit().fate, kv::Fate::kConflict);
  EXPECT_EQ(range.commit().fate, kv::Fate::kConflict);
  EXPECT_EQ(peek.commit().fate, kv::Fate::kCommitted);
  const kv::Version version = read().committed();
  put_brief();
  EXPECT_GT(read().row("brief")->created, version);
}

}  // namespace lockkeeper::contract
