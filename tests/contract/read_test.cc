// Reading: get, scan, scan_back, ranges, views, named limits of keys and values.
#include <algorithm>
#include <array>

#include "contract.h"

namespace lockkeeper::contract {

using namespace std::string_literals;

class ContractRead : public Contract {};
INSTANTIATE_TEST_SUITE_P(All, ContractRead, testing::ValuesIn(backends()), backend_name);

TEST_P(ContractRead, GetOfAnAbsentKeyIsNothing) {
  EXPECT_EQ(read().get("a"), std::nullopt);
  fill({{"a", "1"}, {"c", "3"}});
  Tx tx = read();
  EXPECT_EQ(tx.get("b"), std::nullopt);
  EXPECT_EQ(tx.get("aa"), std::nullopt);
  EXPECT_EQ(tx.get("d"), std::nullopt);
}

TEST_P(ContractRead, GetReturnsTheRow) {
  const kv::Version version = fill({{"key", "value"}});
  Tx tx = read();
  const auto row = tx.row("key");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->key, "key");
  EXPECT_EQ(row->value, "value");
  EXPECT_EQ(row->created, version);
  EXPECT_EQ(row->modified, version);
}

TEST_P(ContractRead, AnEmptyValueIsARow) {
  fill({{"a", ""}});
  EXPECT_EQ(read().get("a"), "");
  EXPECT_EQ(read().scan("a", "b"), (Pairs{{"a", ""}}));
  EXPECT_EQ(read().scan_back("a", "b"), (Pairs{{"a", ""}}));
}

TEST_P(ContractRead, BinaryValuesComeBackUnchanged) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  fill({{"a", bytes}});
  EXPECT_EQ(read().get("a"), bytes);
}

TEST_P(ContractRead, KeysAreOrderedAsUnsignedBytes) {
  const std::vector<std::string> ordered = {
      "\0"s, "\0\0"s,  "\0\xff"s, "\x01"s,  "a",          "a\0"s, "a\0b"s, "a\x01"s,
      "ab",  "a\x7f"s, "a\x80"s,  "a\xff"s, "a\xff\xff"s, "b",    "\xff"s, "\xff\xff"s};
  Tx tx = write();
  for (auto key = ordered.rbegin(); key != ordered.rend(); ++key) tx.put(*key, "v");
  tx.committed();
  std::vector<std::string> seen;
  for (const auto& [key, value] : all()) seen.push_back(key);
  EXPECT_EQ(seen, ordered);
  for (const std::string& key : ordered) EXPECT_EQ(read().get(key), "v");
}

TEST_P(ContractRead, AKeyIsNotItsPrefixNorItsExtension) {
  fill({{"a\0"s, "longer"}});
  EXPECT_EQ(read().get("a"), std::nullopt);
  EXPECT_EQ(read().get("a\0\0"s), std::nullopt);
  EXPECT_EQ(read().get("a\0"s), "longer");
}

TEST_P(ContractRead, ScanIsInKeyOrderWhateverTheOrderOfWriting) {
  fill({{"c", "3"}, {"a", "1"}});
  fill({{"b", "2"}});
  EXPECT_EQ(read().scan("a", "z"), (Pairs{{"a", "1"}, {"b", "2"}, {"c", "3"}}));
}

TEST_P(ContractRead, ScanBordersAreHalfOpen) {
  fill({{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}});
  Tx tx = read();
  EXPECT_EQ(keys(tx.scan("b", "d")), "b c");
  EXPECT_EQ(keys(tx.scan("b", "d\0"s)), "b c d");
  EXPECT_EQ(keys(tx.scan("b\0"s, "d")), "c");
  EXPECT_EQ(keys(tx.scan("aa", "cc")), "b c");
  EXPECT_EQ(keys(tx.scan("0", "a")), "");
  EXPECT_EQ(keys(tx.scan("e", "z")), "");
  EXPECT_EQ(keys(tx.scan("", "b")), "a");
}

TEST_P(ContractRead, ScanBackBordersAreHalfOpen) {
  fill({{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}});
  Tx tx = read();
  EXPECT_EQ(keys(tx.scan_back("b", "d")), "c b");
  EXPECT_EQ(keys(tx.scan_back("b", "d\0"s)), "d c b");
  EXPECT_EQ(keys(tx.scan_back("b\0"s, "d")), "c");
  EXPECT_EQ(keys(tx.scan_back("aa", "cc")), "c b");
  EXPECT_EQ(keys(tx.scan_back("0", "a")), "");
  EXPECT_EQ(keys(tx.scan_back("e", "z")), "");
  EXPECT_EQ(keys(tx.scan_back("d", "z")), "d");
}

TEST_P(ContractRead, ARangeThatEndsBeforeItBeginsIsEmpty) {
  fill({{"a", ""}, {"b", ""}, {"c", ""}});
  Tx tx = read();
  EXPECT_EQ(keys(tx.scan("b", "b")), "");
  EXPECT_EQ(keys(tx.scan("c", "a")), "");
  EXPECT_EQ(keys(tx.scan_back("b", "b")), "");
  EXPECT_EQ(keys(tx.scan_back("c", "a")), "");
  EXPECT_EQ(keys(tx.scan("a", "")), "");
}

TEST_P(ContractRead, ScansOfAnEmptyStoreVisitNothing) {
  Tx tx = read();
  EXPECT_EQ(keys(tx.scan("a", "z")), "");
  EXPECT_EQ(keys(tx.scan_back("a", "z")), "");
}

TEST_P(ContractRead, ScanStopsWhenTheVisitorSaysSo) {
  fill({{"a", ""}, {"b", ""}, {"c", ""}});
  Tx tx = read();
  EXPECT_EQ(keys(tx.scan("a", "z", 1)), "a");
  EXPECT_EQ(keys(tx.scan("a", "z", 2)), "a b");
  EXPECT_EQ(keys(tx.scan_back("a", "z", 1)), "c");
  EXPECT_EQ(keys(tx.scan_back("a", "z", 2)), "c b");
}

TEST_P(ContractRead, PrefixRangeHoldsExactlyThePrefix) {
  fill({{"p", ""}, {"p\0"s, ""}, {"pa", ""}, {"p\xff\xff"s, ""}, {"q", ""}, {"o\xff"s, ""}});
  const kv::Range range = kv::prefix_range("p");
  EXPECT_EQ(read().scan(range.from, range.to).size(), 4U);
  EXPECT_EQ(read().scan_back(range.from, range.to).size(), 4U);
}

TEST_P(ContractRead, PrefixRangeOfATrailingFfHoldsExactlyThePrefix) {
  fill({{"p\xff"s, ""},
        {"p\xff\xff"s, ""},
        {"p\xff"
         "a"s,
         ""},
        {"p\xfe"s, ""},
        {"q", ""}});
  const kv::Range range = kv::prefix_range("p\xff"s);
  EXPECT_EQ(read().scan(range.from, range.to).size(), 3U);
}

TEST_P(ContractRead, TheVisitorMayReadThroughTheSameTransaction) {
  fill({{"a", "1"}, {"b", "2"}, {"c", "3"}});
  Tx tx = write();
  tx.put("bb", "22");
  std::vector<std::string> seen;
  const auto done = tx->scan({"a", "z"}, [&](const kv::Row& row) {
    seen.emplace_back(row.key);
    EXPECT_EQ(tx.get("c"), "3");
    EXPECT_EQ(keys(tx.scan("a", "z")), "a b bb c");
    EXPECT_EQ(keys(tx.scan_back("a", "z", 2)), "c bb");
    EXPECT_EQ(row.key, seen.back());  // the view outlives the reads
    return true;
  });
  EXPECT_TRUE(done);
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b", "bb", "c"}));
}

TEST_P(ContractRead, RowsThatWereGotStayValidWhileTheTransactionOnlyReads) {
  Pairs rows;
  for (std::size_t i = 100; i < 190; ++i) rows.emplace_back(numbered("k", i), std::string(50, 'v'));
  fill(rows);
  Tx tx = read();
  std::vector<kv::Row> views;
  for (const auto& [key, value] : rows) views.push_back(tx.row(key).value());
  ASSERT_TRUE(tx->scan({"k", "l"}, [](const kv::Row&) { return true; }));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(views[i].key, rows[i].first);
    EXPECT_EQ(views[i].value, rows[i].second);
  }
}

TEST_P(ContractRead, TheRowsKeyIsNotTheCallersBuffer) {
  fill({{"a key too long for a string object", "1"}});
  Tx tx = write();
  std::string mine = "a key too long for a string object";
  const auto row = tx.row(mine);
  ASSERT_TRUE(row);
  std::ranges::fill(mine, 'x');
  EXPECT_EQ(row->key, "a key too long for a string object");
  std::string own = "another key, of this transaction";
  tx.put(own, "2");
  const auto own_row = tx.row(own);
  ASSERT_TRUE(own_row);
  std::ranges::fill(own, 'x');
  EXPECT_EQ(own_row->key, "another key, of this transaction");
}

TEST_P(ContractRead, ScannedRowsKnowTheirVersions) {
  const kv::Version one = fill({{"a", "1"}, {"b", "1"}});
  const kv::Version two = fill({{"b", "2"}, {"c", "2"}});
  std::vector<std::array<kv::Version, 2>> seen;
  const auto note = [&](const kv::Row& row) {
    seen.push_back({row.created, row.modified});
    return true;
  };
  using Seen = decltype(seen);
  Tx tx = read();
  EXPECT_TRUE(tx->scan({"a", "z"}, note));
  EXPECT_EQ(seen, (Seen{{one, one}, {one, two}, {two, two}}));
  seen.clear();
  EXPECT_TRUE(tx->scan_back({"a", "z"}, note));
  EXPECT_EQ(seen, (Seen{{two, two}, {one, two}, {one, one}}));
}

TEST_P(ContractRead, L8TheLongestKeyFitsAndOneMoreByteIsRefused) {
  const std::string longest(kv::kKeyBytesMax, 'k');
  Tx tx = write();
  tx.put(longest, "v");
  const auto refused = tx->put(longest + "k", "v");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kLimitExceeded);
  EXPECT_NE(refused.error().message.find(std::to_string(kv::kKeyBytesMax)), std::string::npos);
  tx.committed();  // what was refused has not spoilt the rest
  EXPECT_EQ(all(), (Pairs{{longest, "v"}}));
  EXPECT_EQ(read().get(longest), "v");
  EXPECT_EQ(keys(read().scan(longest, longest + "k")), longest);
}

TEST_P(ContractRead, L8TheLongestBinaryKeyFits) {
  const std::string zeros(kv::kKeyBytesMax, '\0');
  const std::string ones(kv::kKeyBytesMax, '\xff');
  fill({{zeros, "0"}, {ones, "1"}});
  EXPECT_EQ(all(), (Pairs{{zeros, "0"}, {ones, "1"}}));
}

TEST_P(ContractRead, L8AKeyBeyondTheLimitIsAbsent) {
  fill({{std::string(kv::kKeyBytesMax, 'k'), "v"}});
  const std::string longer(kv::kKeyBytesMax + 1, 'k');
  Tx tx = write();
  EXPECT_EQ(tx.get(longer), std::nullopt);
  tx.guard_absent(longer);
  EXPECT_EQ(keys(tx.scan(longer, "l")), "");
  EXPECT_EQ(keys(tx.scan_back(longer, longer + longer)), "");
  tx.committed();
}

TEST_P(ContractRead, L8TheLongestValueFitsAndOneMoreByteIsRefused) {
  std::string longest(kv::kValueBytesMax, 'v');
  longest.back() = 'e';
  Tx tx = write();
  tx.put("a", longest);
  const auto refused = tx->put("b", longest + "v");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kLimitExceeded);
  EXPECT_NE(refused.error().message.find(std::to_string(kv::kValueBytesMax)), std::string::npos);
  tx.committed();
  Tx after = read();
  const auto row = after.row("a");
  ASSERT_TRUE(row);
  EXPECT_TRUE(row->value == longest);  // no EXPECT_EQ: it would print both
  EXPECT_EQ(after.get("b"), std::nullopt);
}

TEST_P(ContractRead, AReadTransactionCommitsWithTheVersionItReadAt) {
  const kv::Version version = fill({{"a", "1"}});
  Tx tx = read();
  tx.get("a");
  EXPECT_EQ(tx.committed(), version);
  Tx again = read();
  EXPECT_EQ(again.committed(), version);
}

TEST_P(ContractRead, TheEpochIsThere) {
  EXPECT_GT(store().epoch().id, 0U);
  EXPECT_EQ(store().epoch().id, store().epoch().id);
  const kv::Epoch before = store().epoch();
  const kv::Version version = fill({{"a", "1"}});
  EXPECT_EQ(store().epoch().id, before.id);
  EXPECT_EQ(store().epoch().fence_offset, before.fence_offset);
  EXPECT_GT(static_cast<std::int64_t>(version) + before.fence_offset, 0);
}

}  // namespace lockkeeper::contract
