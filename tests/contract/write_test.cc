// Writing: versions, what a transaction sees of its own writes, appended rows, undoing.
#include "base/bytes.h"
#include "contract.h"

namespace lockkeeper::contract {

class ContractWrite : public Contract {
 protected:
  std::string appended_key(std::string_view prefix, kv::Version version, unsigned index) {
    std::string key(prefix);
    append_be64(key, version);
    key.push_back(static_cast<char>(index >> 8));
    key.push_back(static_cast<char>(index & 0xff));
    return key;
  }
};
INSTANTIATE_TEST_SUITE_P(All, ContractWrite, testing::ValuesIn(backends()), backend_name);

// Versions.

TEST_P(ContractWrite, VersionsStrictlyIncrease) {
  kv::Version last = read().committed();
  for (std::size_t i = 0; i < 50; ++i) {
    const kv::Version version = fill({{numbered("k", i % 3), std::to_string(i)}});
    EXPECT_GT(version, last);
    last = version;
  }
}

TEST_P(ContractWrite, RowsOfOneCommitShareItsVersion) {
  const kv::Version version = fill({{"a", ""}, {"b", ""}, {"c", ""}});
  Tx tx = read();
  for (const char* key : {"a", "b", "c"}) {
    EXPECT_EQ(tx.row(key)->created, version);
    EXPECT_EQ(tx.row(key)->modified, version);
  }
}

TEST_P(ContractWrite, OverwritingKeepsTheCreateVersion) {
  const kv::Version one = fill({{"a", "1"}});
  const kv::Version two = fill({{"a", "2"}});
  const kv::Version three = fill({{"a", "3"}});
  Tx tx = read();
  EXPECT_GT(two, one);
  EXPECT_EQ(tx.row("a")->created, one);
  EXPECT_EQ(tx.row("a")->modified, three);
}

TEST_P(ContractWrite, OverwritingWithTheSameValueIsAWrite) {
  const kv::Version one = fill({{"a", "1"}});
  const kv::Version two = fill({{"a", "1"}});
  EXPECT_GT(two, one);
  EXPECT_EQ(read().row("a")->modified, two);
}

TEST_P(ContractWrite, DeletingAndPuttingAgainIsANewRow) {
  fill({{"a", "1"}});
  Tx eraser = write();
  eraser.erase("a");
  eraser.committed();
  const kv::Version third = fill({{"a", "1"}});
  Tx tx = read();
  EXPECT_EQ(tx.row("a")->created, third);
  EXPECT_EQ(tx.row("a")->modified, third);
}

TEST_P(ContractWrite, DeletingAndPuttingAgainInOneTransactionIsOverwriting) {
  const kv::Version first = fill({{"a", "1"}});
  Tx tx = write();
  tx.erase("a");
  EXPECT_EQ(tx.get("a"), std::nullopt);
  tx.put("a", "2");
  EXPECT_EQ(tx.row("a")->created, first);
  EXPECT_EQ(tx.row("a")->modified, 0U);
  const kv::Version version = tx.committed();
  Tx after = read();
  EXPECT_EQ(after.row("a")->created, first);
  EXPECT_EQ(after.row("a")->modified, version);
  EXPECT_EQ(after.get("a"), "2");
}

TEST_P(ContractWrite, OfManyWritesOfOneKeyTheLastOneCounts) {
  const kv::Version first = fill({{"a", "1"}, {"b", "1"}});
  Tx tx = write();
  for (const char* const key : {"a", "b", "new", "gone"}) {
    tx.put(key, "2");
    tx.erase(key);
    tx.put(key, "3");
    tx.erase(key);
  }
  tx.put("a", "4");
  tx.put("new", "4");
  const kv::Version version = tx.committed();
  EXPECT_EQ(all(), (Pairs{{"a", "4"}, {"new", "4"}}));
  EXPECT_EQ(read().row("a")->created, first);
  EXPECT_EQ(read().row("new")->created, version);
}

TEST_P(ContractWrite, AnOwnNewRowHasNoVersionYet) {
  Tx tx = write();
  tx.put("a", "1");
  EXPECT_EQ(tx.row("a")->created, 0U);
  EXPECT_EQ(tx.row("a")->modified, 0U);
  tx.put("a", "2");
  EXPECT_EQ(tx.row("a")->created, 0U);
  const kv::Version version = tx.committed();
  EXPECT_EQ(read().row("a")->created, version);
}

TEST_P(ContractWrite, AnOwnOverwriteShowsTheCreateVersionItKeeps) {
  const kv::Version one = fill({{"a", "1"}});
  Tx tx = write();
  tx.put("a", "2");
  EXPECT_EQ(tx.row("a")->created, one);
  EXPECT_EQ(tx.row("a")->modified, 0U);
  const auto same = [&](const kv::Row& row) {
    EXPECT_EQ(row.created, one);
    EXPECT_EQ(row.modified, 0U);
    EXPECT_EQ(row.value, "2");
    return true;
  };
  EXPECT_TRUE(tx->scan({"a", "b"}, same));
  EXPECT_TRUE(tx->scan_back({"a", "b"}, same));
  tx.put("a", "3");
  EXPECT_EQ(tx.row("a")->created, one);
  const kv::Version two = tx.committed();
  Tx after = read();
  EXPECT_EQ(after.row("a")->created, one);
  EXPECT_EQ(after.row("a")->modified, two);
}

TEST_P(ContractWrite, TheLastOfSeveralPutsWins) {
  Tx tx = write();
  tx.put("a", "1");
  tx.put("a", "22");
  tx.put("a", "");
  tx.committed();
  EXPECT_EQ(all(), (Pairs{{"a", ""}}));
}

TEST_P(ContractWrite, PuttingAndDeletingInOneTransactionLeavesNothing) {
  fill({{"b", ""}});
  Tx tx = write();
  tx.put("a", "1");
  tx.put("b", "1");
  tx.erase("a");
  tx.erase("b");
  EXPECT_EQ(tx.get("a"), std::nullopt);
  EXPECT_EQ(keys(tx.scan("a", "z")), "");
  tx.committed();
  EXPECT_EQ(all(), Pairs{});
}

TEST_P(ContractWrite, DeletingAnAbsentKeyIsNoError) {
  const kv::Version before = fill({{"b", ""}});
  Tx tx = write();
  tx.erase("a");
  tx.erase("a");
  EXPECT_EQ(tx.committed(), before);  // it wrote nothing
  EXPECT_EQ(keys(all()), "b");
}

TEST_P(ContractWrite, ACommitOfNothingHasTheVersionItReadAt) {
  const kv::Version before = fill({{"a", ""}});
  Tx tx = write();
  tx.get("a");
  EXPECT_EQ(tx.committed(), before);
  EXPECT_EQ(write().committed(), before);
  EXPECT_GT(fill({{"a", ""}}), before);
}

// Own writes.

TEST_P(ContractWrite, GetSeesOwnWrites) {
  fill({{"a", "1"}, {"b", "1"}});
  Tx tx = write();
  tx.put("a", "2");
  tx.put("c", "2");
  tx.erase("b");
  EXPECT_EQ(tx.get("a"), "2");
  EXPECT_EQ(tx.get("b"), std::nullopt);
  EXPECT_EQ(tx.get("c"), "2");
}

TEST_P(ContractWrite, ScansMergeOwnPutsWithRows) {
  fill({{"b", ""}, {"d", ""}, {"f", ""}});
  Tx tx = write();
  for (const char* key : {"g", "a", "c", "e", "cc"}) tx.put(key, "own");
  EXPECT_EQ(keys(tx.scan("a", "z")), "a b c cc d e f g");
  EXPECT_EQ(keys(tx.scan_back("a", "z")), "g f e d cc c b a");
  EXPECT_EQ(keys(tx.scan("b", "e")), "b c cc d");
  EXPECT_EQ(keys(tx.scan_back("b", "e")), "d cc c b");
  EXPECT_EQ(keys(tx.scan("c", "c\x01")), "c");
  tx.committed();
  EXPECT_EQ(keys(all()), "a b c cc d e f g");
}

TEST_P(ContractWrite, ScansSkipOwnDeletions) {
  fill({{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}, {"e", ""}});
  Tx tx = write();
  tx.erase("a");
  tx.erase("c");
  tx.erase("e");
  EXPECT_EQ(keys(tx.scan("a", "z")), "b d");
  EXPECT_EQ(keys(tx.scan_back("a", "z")), "d b");
  EXPECT_EQ(keys(tx.scan("c", "d")), "");
  EXPECT_EQ(keys(tx.scan_back("e", "z")), "");
  tx.erase("b");
  tx.erase("d");
  EXPECT_EQ(keys(tx.scan("a", "z")), "");
  EXPECT_EQ(keys(tx.scan_back("a", "z")), "");
  tx.committed();
  EXPECT_EQ(all(), Pairs{});
}

TEST_P(ContractWrite, ScansShowOwnOverwrites) {
  fill({{"a", "1"}, {"b", "1"}, {"c", "1"}});
  Tx tx = write();
  tx.put("a", "2");
  tx.put("c", "2");
  EXPECT_EQ(tx.scan("a", "z"), (Pairs{{"a", "2"}, {"b", "1"}, {"c", "2"}}));
  EXPECT_EQ(tx.scan_back("a", "z"), (Pairs{{"c", "2"}, {"b", "1"}, {"a", "2"}}));
}

TEST_P(ContractWrite, AMergedScanStopsWhenToldTo) {
  fill({{"b", ""}, {"d", ""}});
  Tx tx = write();
  tx.put("a", "");
  tx.put("c", "");
  tx.put("e", "");
  for (std::size_t most = 1; most <= 5; ++most) {
    EXPECT_EQ(keys(tx.scan("a", "z", most)), std::string("a b c d e").substr(0, 2 * most - 1));
    EXPECT_EQ(keys(tx.scan_back("a", "z", most)), std::string("e d c b a").substr(0, 2 * most - 1));
  }
}

TEST_P(ContractWrite, ScansOfOwnRowsAlone) {
  Tx tx = write();
  tx.put("b", "2");
  tx.put("a", "1");
  EXPECT_EQ(tx.scan("a", "z"), (Pairs{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(tx.scan_back("a", "z"), (Pairs{{"b", "2"}, {"a", "1"}}));
  EXPECT_EQ(keys(tx.scan("b", "z")), "b");
  EXPECT_EQ(keys(tx.scan_back("0", "b")), "a");
}

// Appended rows.

TEST_P(ContractWrite, AnAppendedKeyIsPrefixVersionAndIndex) {
  Tx tx = write();
  tx.append("e/", "one");
  const kv::Version version = tx.committed();
  EXPECT_EQ(all_by_version(), (Pairs{{appended_key("e/", version, 0), "one"}}));
  if (GetParam().far) GTEST_SKIP() << "its key has a ticket";
  const auto after = read().row(appended_key("e/", version, 0));
  ASSERT_TRUE(after);
  EXPECT_EQ(after->created, version);
  EXPECT_EQ(after->modified, version);
}

TEST_P(ContractWrite, TheIndexCountsOverAllPrefixesOfACommit) {
  Tx tx = write();
  tx.append("e/", "0");
  tx.append("d/", "1");
  tx.append("e/", "2");
  const kv::Version one = tx.committed();
  Tx second = write();
  second.append("e/", "3");
  const kv::Version two = second.committed();
  EXPECT_EQ(all_by_version(), (Pairs{{appended_key("d/", one, 1), "1"},
                                     {appended_key("e/", one, 0), "0"},
                                     {appended_key("e/", one, 2), "2"},
                                     {appended_key("e/", two, 0), "3"}}));
}

TEST_P(ContractWrite, AppendedRowsAreNotVisibleToTheirOwnTransaction) {
  fill({{"e", ""}});
  Tx tx = write();
  tx.append("e/", "1");
  tx.append("", "2");
  EXPECT_EQ(keys(tx.scan("\x01", "\xff")), "e");
  EXPECT_EQ(keys(tx.scan_back("\x01", "\xff")), "e");
  tx.committed();
  EXPECT_EQ(all().size(), 3U);
}

TEST_P(ContractWrite, I11AppendedRowsAreInCommitOrder) {
  const std::size_t each = std::min<std::size_t>(300, store().budget().writes);
  std::vector<std::string> expected;
  for (int commit = 0; commit < 3; ++commit) {
    Tx tx = write();
    for (std::size_t i = 0; i < each; ++i) {
      expected.push_back(std::to_string(commit) + "." + std::to_string(i));
      tx.append("e/", expected.back());
    }
    tx.committed();
  }
  std::vector<std::string> seen;
  for (const auto& [key, value] : all()) seen.push_back(value);
  EXPECT_EQ(seen, expected);
}

// Numbers and values of what was appended, as "number:value".
std::string appended(Tx& tx, std::string_view prefix, std::uint64_t after, std::size_t most = 99) {
  std::string found;
  EXPECT_TRUE(tx->scan_appended(prefix, after, [&](const kv::Appended& row) {
    found += std::to_string(row.number) + ":" + std::string(row.value) + " ";
    return --most > 0;
  }));
  return found;
}

TEST_P(ContractWrite, I11AppendedRowsAreFoundByTheirNumbers) {
  std::vector<std::uint64_t> numbers;
  std::vector<kv::Version> versions;
  for (const char* const values : {"ab", "c", "def"}) {
    Tx tx = write();
    for (const char* value = values; *value != '\0'; ++value) {
      tx.append("e/", std::string(1, *value));
      tx.append("other/", "x");
    }
    versions.push_back(tx.committed());
  }
  fill({{"d", "before"}, {"f", "behind"}});
  Tx tx = read();
  std::string values;
  ASSERT_TRUE(tx->scan_appended("e/", 0, [&](const kv::Appended& row) {
    EXPECT_GT(row.number, numbers.empty() ? 0 : numbers.back());
    numbers.push_back(row.number);
    values += row.value;
    EXPECT_EQ(row.created, versions[values.size() <= 2 ? 0 : values.size() == 3 ? 1 : 2]);
    EXPECT_EQ(tx.get(row.key, kv::Read::kPeek), row.value);
    return true;
  }));
  EXPECT_EQ(values, "abcdef");
  ASSERT_EQ(numbers.size(), 6U);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string next =
        i + 1 < 6 ? std::to_string(numbers[i + 1]) + ":" + values[i + 1] + " " : "";
    EXPECT_EQ(appended(tx, "e/", numbers[i], 1), next);
  }
  EXPECT_EQ(appended(tx, "none/", 0), "");
  std::string back;
  ASSERT_TRUE(tx->scan_appended_back("e/", [&](const kv::Appended& row) {
    back += row.value;
    return back.size() < 4;
  }));
  EXPECT_EQ(back, "fedc");
}

TEST_P(ContractWrite, AnAppendedRowIsErasedByItsKeyAndItsNumberIsNotUsedAgain) {
  const auto append = [&] {
    Tx tx = write();
    tx.append("e/", "v");
    tx.committed();
  };
  append();
  std::string key;
  std::uint64_t number = 0;
  {
    Tx tx = write();
    ASSERT_TRUE(tx->scan_appended("e/", 0, [&](const kv::Appended& row) {
      key = row.key;
      number = row.number;
      return true;
    }));
    tx.erase(key);
    tx.committed();
  }
  append();
  Tx tx = read();
  EXPECT_EQ(appended(tx, "e/", 0), appended(tx, "e/", number));
}

TEST_P(ContractWrite, ARowWithALifetimeIsThereUntilItIsOver) {
  Tx tx = write();
  ASSERT_TRUE(tx->put("short", "1", 1'000));
  ASSERT_TRUE(tx->put("renewed", "1", 1'000));
  ASSERT_TRUE(tx->put("lasting", "1", 1'000));
  ASSERT_TRUE(tx->put("plain", "1"));
  tx.committed();
  pass(1'000);
  vanish();
  EXPECT_EQ(keys(all()), "lasting plain renewed short");  // never early
  Tx again = write();
  ASSERT_TRUE(again->put("renewed", "2", 1'000));
  ASSERT_TRUE(again->put("lasting", "2"));
  again.committed();
  pass(1);
  const bool gone = vanish();
  EXPECT_EQ(keys(all()), gone ? "lasting plain renewed" : "lasting plain renewed short");
  pass(1'000'000);
  vanish();
  EXPECT_EQ(keys(all()), gone ? "lasting plain" : "lasting plain renewed short");
}

TEST_P(ContractWrite, ARowThatLivesWithItsStoreIsThereWhileThatIsOpen) {
  Tx tx = write();
  ASSERT_TRUE(tx->put("session", "1", kv::kWhileOpen));
  tx.committed();
  pass(1'000'000'000);
  vanish();
  EXPECT_EQ(keys(all()), "session");
  Tx again = write();
  ASSERT_TRUE(again->put("session", "2", 1'000));  // and then it has a lifetime like any other
  again.committed();
  pass(1'000);
  vanish();
  EXPECT_EQ(keys(all()), "session");
}

TEST_P(ContractWrite, L8TheLongestAppendPrefixFitsAndOneMoreByteIsRefused) {
  const std::string longest(kv::kKeyBytesMax - 10, 'p');
  Tx tx = write();
  tx.append(longest, "v");
  const auto refused = tx->append(longest + "p", "v");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kLimitExceeded);
  const auto heavy = tx->append("p", std::string(kv::kValueBytesMax + 1, 'v'));
  ASSERT_FALSE(heavy);
  EXPECT_EQ(heavy.error().code, Code::kLimitExceeded);
  const kv::Version version = tx.committed();
  EXPECT_EQ(all_by_version(), (Pairs{{appended_key(longest, version, 0), "v"}}));
}

TEST_P(ContractWrite, L8AnIndexBeyondSixteenBitsIsRefused) {
  if (store().budget().writes < 65536) GTEST_SKIP() << "the budget is smaller";
  Tx tx = write();
  for (int i = 0; i < 65536; ++i) ASSERT_TRUE(tx->append("e/", ""));
  const auto refused = tx->append("e/", "");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kLimitExceeded);
  tx.committed();
  EXPECT_EQ(all().size(), 65536U);
}

// All or nothing.

TEST_P(ContractWrite, I2DroppingATransactionUndoesIt) {
  const kv::Version before = fill({{"a", "1"}, {"b", "1"}});
  Tx tx = write();
  tx.put("a", "2");
  tx.put("c", "2");
  tx.erase("b");
  tx.append("e/", "2");
  tx.drop();
  EXPECT_EQ(all(), (Pairs{{"a", "1"}, {"b", "1"}}));
  EXPECT_EQ(read().committed(), before);
}

TEST_P(ContractWrite, I2ACommitIsSeenWhole) {
  fill({{"a", "1"}, {"b", "1"}});
  Tx tx = write();
  tx.put("a", "2");
  tx.erase("b");
  tx.put("c", "2");
  tx.append("e/", "2");
  const kv::Version version = tx.committed();
  EXPECT_EQ(all_by_version(),
            (Pairs{{"a", "2"}, {"c", "2"}, {appended_key("e/", version, 0), "2"}}));
}

TEST_P(ContractWrite, I9WhatWasCommittedIsSeenByTheNextTransaction) {
  for (int i = 0; i < 20; ++i) {
    const std::string value = std::to_string(i);
    const kv::Version version = fill({{"a", value}});
    Tx tx = read();
    EXPECT_EQ(tx.get("a"), value);
    EXPECT_EQ(tx.committed(), version);
  }
}

TEST_P(ContractWrite, ManyRowsInOneCommitWhereTheBudgetAllows) {
  const std::size_t many = std::min<std::size_t>(20000, store().budget().writes);
  Tx tx = write();
  for (std::size_t i = 0; i < many; ++i) {
    std::string key;
    append_be64(key, i * 7919 % many);
    ASSERT_TRUE(tx->put(key, std::string(40, 'v')));
  }
  tx.committed();
  EXPECT_EQ(all().size(), many);
}

}  // namespace lockkeeper::contract
