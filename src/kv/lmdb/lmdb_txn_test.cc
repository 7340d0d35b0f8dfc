// What a transaction keeps for speed (cursors by kind of row, the last empty stretch, its own order
// of keys) must not show.
#include "kv/lmdb/lmdb_txn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "kv/lmdb/testing.h"

namespace lockkeeper::kv {
namespace {

using testing::must;
using testing::open_store;
using testing::StoreFolder;
using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs rows_in(Txn& txn, const Range& range) {
  Pairs found;
  must(txn.scan(range, [&](const Row& row) {
    found.emplace_back(row.key, row.value);
    return true;
  }));
  return found;
}

std::size_t count(Txn& txn, const char* from, const char* to) {
  return rows_in(txn, {from, to}).size();
}

TEST(LmdbTxnTest, AnEmptyStretchIsForgottenWhenARowIsPutThere) {
  StoreFolder place;
  auto store = open_store(place.options());
  auto txn = must(store->begin(Access::kWrite));
  must(txn->put("a", ""));
  must(txn->put("p", ""));
  EXPECT_EQ(count(*txn, "b", "c"), 0U);  // nothing from b up to p
  must(txn->put("d1", ""));
  EXPECT_EQ(count(*txn, "d", "e"), 1U);
  EXPECT_EQ(count(*txn, "b", "c"), 0U);
  EXPECT_EQ(count(*txn, "b", "d2"), 1U);
  must(txn->erase("d1"));
  EXPECT_EQ(count(*txn, "d", "e"), 0U);
  must(txn->put("e", ""));  // where the stretch ends, not inside it
  EXPECT_EQ(count(*txn, "d", "f"), 1U);
  EXPECT_EQ(count(*txn, "q", "r"), 0U);  // nothing behind q at all
  must(txn->put("z", ""));
  EXPECT_EQ(count(*txn, "y", "zz"), 1U);
  must(txn->append("y", ""));
  must(txn->commit());
  txn.reset();
  txn = must(store->begin(Access::kRead));
  EXPECT_EQ(count(*txn, "q", "z"), 1U);
}

TEST(LmdbTxnTest, KeysAreOrderedByteByByteAndTheShorterFirst) {
  std::vector<std::string> expected;
  for (const std::size_t size : {1U, 2U, 7U, 8U, 9U, 15U, 16U, 17U, 24U, 31U}) {
    for (std::size_t at = 0; at < size; ++at) {
      for (const char byte : {'\0', '\1', '\x7f', '\x80', '\xff'}) {
        std::string key(size, 'm');
        key[at] = byte;
        expected.push_back(std::move(key));
      }
    }
  }
  StoreFolder place;
  auto store = open_store(place.options());
  auto txn = must(store->begin(Access::kWrite));
  SeededRandom random(1);
  for (std::size_t i = expected.size(); i > 1; --i) {
    std::swap(expected[i - 1], expected[random_below(random, i)]);
  }
  for (const std::string& key : expected) must(txn->put(key, key));
  std::sort(expected.begin(), expected.end());
  expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
  std::vector<std::string> found;
  for (const auto& [key, value] : rows_in(*txn, {"", std::string(40, '\xff')})) {
    EXPECT_EQ(key, value);
    found.push_back(key);
  }
  EXPECT_EQ(found, expected);
}

// Cursors of one transaction that stand on one page while it is split, merged and emptied.
TEST(LmdbTxnTest, CursorsOfAllKindsAgreeWithAMap) {
  constexpr std::uint64_t kSeed = 20'261'115;
  constexpr int kSteps = 30'000;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  SeededRandom random(kSeed);
  StoreFolder place;
  LmdbOptions options = place.options();
  options.durability = Durability::kProcess;
  auto store = open_store(options);
  std::map<std::string, std::string> model;
  auto txn = must(store->begin(Access::kWrite));
  const std::string letters = "bcdefglrswxSX";
  const auto any_key = [&] {
    const char letter = letters[random_below(random, letters.size())];
    return letter + std::to_string(random_below(random, 400)) +
           std::string(random_below(random, 30), 'k');
  };
  for (int i = 0; i < kSteps && !::testing::Test::HasFailure(); ++i) {
    const std::string key = any_key();
    const std::uint64_t what = random_below(random, 100);
    if (what < 35) {
      const std::string value(random_below(random, 200), 'v');
      must(txn->put(key, value));
      model[key] = value;
    } else if (what < 65) {
      const auto next = model.lower_bound(key);  // mostly one that is there
      const std::string gone = next == model.end() ? key : next->first;
      must(txn->erase(gone));
      model.erase(gone);
    } else if (what < 80) {
      const auto row = must(txn->get(key));
      const auto known = model.find(key);
      ASSERT_EQ(row.has_value(), known != model.end()) << key;
      if (row) {
        EXPECT_EQ(row->value, known->second);
      }
    } else if (what < 99) {
      const std::string to = key + (what < 90 ? "\1" : "\xff");
      const Pairs expected(model.lower_bound(key), model.lower_bound(to));
      ASSERT_EQ(rows_in(*txn, {key, to}), expected) << key;
    } else {
      must(txn->commit());
      txn.reset();
      txn = must(store->begin(Access::kWrite));
    }
  }
  EXPECT_EQ(rows_in(*txn, {"", "z"}), Pairs(model.begin(), model.end()));
  must(txn->commit());
  txn.reset();
  must(store->verify());
}

}  // namespace
}  // namespace lockkeeper::kv
