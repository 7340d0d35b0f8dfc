// What the contract suite (tests/contract) cannot ask of every store: flavours, crashes, memory.
#include "kv/memory/memory_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace lockkeeper::kv {
namespace {

std::unique_ptr<Txn> begin(Store& store, Access access) {
  auto txn = store.begin(access);
  EXPECT_TRUE(txn.has_value());
  return std::move(*txn);
}

Version put(Store& store, std::string_view key, std::string_view value) {
  const auto txn = begin(store, Access::kWrite);
  EXPECT_TRUE(txn->put(key, value));
  return txn->commit()->version;
}

void erase(Store& store, std::string_view key) {
  const auto txn = begin(store, Access::kWrite);
  EXPECT_TRUE(txn->erase(key));
  EXPECT_TRUE(txn->commit());
}

std::string value_of(Txn& txn, std::string_view key) {
  const auto row = txn.get(key, Read::kPeek);
  EXPECT_TRUE(row.has_value());
  return *row ? std::string((*row)->value) : "(none)";
}

// Time for another thread to do what it must not; if it is slower, the test only sees less.
constexpr std::chrono::milliseconds kLookAway(20);

class BothFlavours : public testing::TestWithParam<Flavour> {
 protected:
  MemoryStore store_{{.flavour = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(Flavours, BothFlavours,
                         testing::Values(Flavour::kPessimistic, Flavour::kOptimistic));

TEST_P(BothFlavours, StartsAtTheGivenVersionAndEpoch) {
  MemoryStore store({.flavour = GetParam(),
                     .epoch = {.id = 7, .fence_offset = 1000, .start_mono_ms = 5},
                     .start_version = 40});
  EXPECT_EQ(store.epoch().id, 7U);
  EXPECT_EQ(store.epoch().fence_offset, 1000);
  EXPECT_EQ(store.epoch().start_mono_ms, 5);
  EXPECT_EQ(begin(store, Access::kRead)->commit()->version, 40U);
  EXPECT_EQ(put(store, "a", ""), 41U);
  EXPECT_EQ(store.version(), 41U);
}

TEST_P(BothFlavours, I5WhatWasCommittedSurvivesACrashAndOpenTransactionsDoNot) {
  put(store_, "a", "1");
  auto open = begin(store_, Access::kWrite);
  EXPECT_TRUE(open->put("a", "2"));
  const auto before = open->get("a");
  ASSERT_TRUE(before && *before);

  store_.crash();
  EXPECT_EQ(store_.begin(Access::kRead).error().code, Code::kStoreUnavailable);
  store_.reopen({.id = 2, .fence_offset = 10, .start_mono_ms = 3});
  EXPECT_EQ(store_.epoch().id, 2U);
  EXPECT_EQ(store_.epoch().fence_offset, 10);

  // Void for good, also after the store is back.
  const auto none = [](const Row&) { return true; };
  EXPECT_EQ(open->get("a").error().code, Code::kStoreUnavailable);
  EXPECT_EQ(open->scan({"a", "z"}, none).error().code, Code::kStoreUnavailable);
  EXPECT_EQ(open->scan_back({"a", "z"}, none).error().code, Code::kStoreUnavailable);
  EXPECT_EQ(open->guard_absent("x").error().code, Code::kStoreUnavailable);
  EXPECT_EQ(open->guard_empty({"x", "y"}).error().code, Code::kStoreUnavailable);
  EXPECT_EQ(open->put("b", "").error().code, Code::kStoreUnavailable);
  EXPECT_EQ(open->erase("b").error().code, Code::kStoreUnavailable);
  EXPECT_EQ(open->append("b", "").error().code, Code::kStoreUnavailable);
  EXPECT_EQ(put(store_, "b", "new"), 2U);  // it keeps nobody out
  EXPECT_EQ(open->commit().error().code, Code::kStoreUnavailable);
  open.reset();

  const auto after = begin(store_, Access::kRead);
  EXPECT_EQ(value_of(*after, "a"), "1");
  EXPECT_EQ(value_of(*after, "b"), "new");
}

TEST_P(BothFlavours, ACrashInsideAScanEndsIt) {
  put(store_, "a", "");
  put(store_, "b", "");
  const auto open = begin(store_, Access::kRead);
  int visited = 0;
  const auto done = open->scan({"a", "z"}, [&](const Row&) {
    ++visited;
    store_.crash();
    return true;
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kStoreUnavailable);
  EXPECT_EQ(visited, 1);
}

TEST_P(BothFlavours, DroppingAVoidTransactionDoesNotDisturbTheNextLife) {
  auto old = begin(store_, Access::kWrite);
  store_.crash();
  store_.reopen({.id = 2});
  auto open = begin(store_, Access::kWrite);
  old.reset();
  EXPECT_TRUE(open->put("a", "1"));
  EXPECT_EQ(open->commit()->fate, Fate::kCommitted);
  open.reset();
  EXPECT_EQ(store_.open_txns(), 0U);
  put(store_, "a", "2");
}

TEST_P(BothFlavours, ErasedRowsLeaveNothingBehind) {
  for (int i = 0; i < 1000; ++i) put(store_, std::to_string(i), "");
  EXPECT_EQ(store_.versions(), 1000U);
  for (int i = 0; i < 1000; ++i) erase(store_, std::to_string(i));
  EXPECT_EQ(store_.versions(), 0U);
}

TEST(OptimisticStore, OldVersionsStayAsLongAsATransactionNeedsThemAndNoLonger) {
  MemoryStore store({.flavour = Flavour::kOptimistic});
  put(store, "hot", "0");
  put(store, "gone", "0");
  auto oldest = begin(store, Access::kRead);
  std::vector<std::unique_ptr<Txn>> readers;
  for (int i = 1; i <= 100; ++i) {
    put(store, "hot", std::to_string(i));
    if (i % 10 == 0) readers.push_back(begin(store, Access::kRead));
    put(store, "passing", "");
    erase(store, "passing");
  }
  erase(store, "gone");
  EXPECT_EQ(value_of(*oldest, "hot"), "0");
  EXPECT_EQ(value_of(*oldest, "gone"), "0");
  EXPECT_EQ(value_of(*oldest, "passing"), "(none)");
  for (std::size_t i = 0; i < readers.size(); ++i) {
    EXPECT_EQ(value_of(*readers[i], "hot"), std::to_string((i + 1) * 10));
    EXPECT_EQ(value_of(*readers[i], "gone"), "0");
  }
  oldest.reset();
  while (!readers.empty()) {
    EXPECT_EQ(value_of(*readers.back(), "gone"), "0");
    readers.erase(readers.begin() + static_cast<std::ptrdiff_t>(readers.size() / 2));
  }
  EXPECT_EQ(store.versions(), 1U);
}

// A chain as long as its history would be freed by recursion, or walked by every reader.
TEST(OptimisticStore, AHotRowUnderALongReadStaysCheap) {
  MemoryStore store({.flavour = Flavour::kOptimistic});
  put(store, "hot", "first");
  const auto reader = begin(store, Access::kRead);
  for (int i = 0; i < 300000; ++i) put(store, "hot", "next");
  EXPECT_EQ(value_of(*reader, "hot"), "first");
  EXPECT_EQ(store.versions(), 2U);  // the reader's and the newest
}

TEST(OptimisticStore, ARowWrittenAgainAfterItsErasureIsCollectedLater) {
  MemoryStore store({.flavour = Flavour::kOptimistic});
  put(store, "a", "1");
  auto one = begin(store, Access::kRead);
  erase(store, "a");
  auto two = begin(store, Access::kRead);
  put(store, "a", "2");
  erase(store, "a");
  put(store, "a", "3");
  auto three = begin(store, Access::kRead);
  erase(store, "a");
  EXPECT_EQ(value_of(*one, "a"), "1");
  EXPECT_EQ(value_of(*two, "a"), "(none)");
  EXPECT_EQ(value_of(*three, "a"), "3");
  one.reset();
  EXPECT_EQ(value_of(*two, "a"), "(none)");
  EXPECT_EQ(value_of(*three, "a"), "3");
  two.reset();
  EXPECT_EQ(value_of(*three, "a"), "3");
  three.reset();
  EXPECT_EQ(store.versions(), 0U);
}

TEST(PessimisticStore, AWriterExcludesWritersAndReadersUntilItIsDestroyed) {
  MemoryStore store;
  auto writer = begin(store, Access::kWrite);
  std::atomic<int> inside = 0;
  std::vector<std::jthread> others;
  for (const Access access : {Access::kWrite, Access::kRead}) {
    others.emplace_back([&store, &inside, access] {
      const auto txn = begin(store, access);
      ++inside;
      EXPECT_EQ(value_of(*txn, "a"), "1");
    });
  }
  EXPECT_TRUE(writer->put("a", "1"));
  EXPECT_TRUE(writer->commit());
  std::this_thread::sleep_for(kLookAway);
  EXPECT_EQ(inside, 0);
  writer.reset();
  others.clear();
  EXPECT_EQ(inside, 2);
}

TEST(PessimisticStore, AReaderExcludesWritersAndAWaitingWriterLaterReaders) {
  MemoryStore store;
  auto reader = begin(store, Access::kRead);
  std::atomic<int> inside = 0;
  std::jthread writer([&] {
    const auto txn = begin(store, Access::kWrite);
    ++inside;
    EXPECT_TRUE(txn->put("a", "1"));
    EXPECT_TRUE(txn->commit());
  });
  std::this_thread::sleep_for(kLookAway);
  EXPECT_EQ(inside, 0);
  std::jthread late([&] {
    const auto txn = begin(store, Access::kRead);
    ++inside;
  });
  std::this_thread::sleep_for(kLookAway);
  EXPECT_EQ(inside, 0);
  EXPECT_EQ(value_of(*reader, "a"), "(none)");
  reader.reset();
}

TEST(PessimisticStore, ACrashWakesThoseWhoWait) {
  MemoryStore store;
  auto writer = begin(store, Access::kWrite);
  std::atomic<bool> started = false;
  std::jthread waiter([&] {
    started = true;
    EXPECT_EQ(store.begin(Access::kWrite).error().code, Code::kStoreUnavailable);
  });
  while (!started) std::this_thread::yield();
  store.crash();
  waiter.join();
  writer.reset();
}

TEST(MemoryStoreDeathTest, ASecondTransactionOfOneThreadIsOurBug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  MemoryStore store;
  const auto open = begin(store, Access::kWrite);
  EXPECT_DEATH((void)store.begin(Access::kWrite), "assertion failed");
  EXPECT_DEATH((void)store.begin(Access::kRead), "assertion failed");
}

TEST(MemoryStoreDeathTest, MisuseOfATransactionIsOurBug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  MemoryStore store({.flavour = Flavour::kOptimistic});
  put(store, "a", "");
  const auto reader = begin(store, Access::kRead);
  EXPECT_DEATH((void)reader->put("a", ""), "assertion failed");
  const auto writer = begin(store, Access::kWrite);
  const auto writing = [&](const Row&) { return writer->put("b", "").has_value(); };
  EXPECT_DEATH((void)writer->scan({"a", "z"}, writing), "assertion failed");
  EXPECT_TRUE(writer->put("a", "2"));
  EXPECT_DEATH((void)writer->guard_absent("a"), "assertion failed");
  EXPECT_DEATH((void)writer->guard_empty({"a", "b"}), "assertion failed");
  EXPECT_TRUE(writer->commit());
  EXPECT_DEATH((void)writer->commit(), "assertion failed");
  EXPECT_DEATH((void)writer->get("a"), "assertion failed");
}

TEST(Optimistic, L8GuardsAreCountedAtTheCommit) {
  MemoryStore store({.flavour = Flavour::kOptimistic});
  const auto txn = begin(store, Access::kWrite);
  EXPECT_TRUE(txn->get("kept"));
  const Txn::GuardMark mark = txn->guard_mark();
  for (std::size_t i = 0; i < kOptimisticGuardsMax; ++i) {
    EXPECT_TRUE(txn->get("k" + std::to_string(i)));
  }
  EXPECT_EQ(txn->left().guards, 0U);
  EXPECT_TRUE(txn->put("a", ""));
  const auto refused = txn->commit();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kLimitExceeded);
  const auto again = begin(store, Access::kWrite);
  EXPECT_TRUE(again->get("kept"));
  for (std::size_t i = 0; i < 200; ++i) EXPECT_TRUE(again->get("k" + std::to_string(i)));
  again->drop_guards(mark);
  EXPECT_EQ(again->left().guards, kOptimisticGuardsMax - 1);
  put(store, "k7", "");
  EXPECT_TRUE(again->put("a", ""));
  EXPECT_EQ(again->commit()->fate, Fate::kCommitted);
}

TEST(Optimistic, AGuardFromBeforeTheMarkStays) {
  MemoryStore store({.flavour = Flavour::kOptimistic});
  const auto txn = begin(store, Access::kWrite);
  EXPECT_TRUE(txn->get("kept"));
  const Txn::GuardMark mark = txn->guard_mark();
  EXPECT_TRUE(txn->get("kept"));
  EXPECT_TRUE(txn->get("dropped"));
  txn->drop_guards(mark);
  put(store, "kept", "");
  EXPECT_TRUE(txn->put("a", ""));
  EXPECT_EQ(txn->commit()->fate, Fate::kConflict);
}

TEST(Optimistic, ARowVanishesAfterItsLifetimeAndAsLateAsOneLikes) {
  MemoryStore store({.flavour = Flavour::kOptimistic});
  const auto txn = begin(store, Access::kWrite);
  EXPECT_TRUE(txn->put("a", "", 100) && txn->put("b", "", 100) && txn->put("c", ""));
  EXPECT_TRUE(txn->commit());
  const auto all = [](std::string_view) { return true; };
  store.pass(100);
  EXPECT_EQ(store.vanish(all), 0U);
  store.pass(1);
  const Version version = store.version();
  EXPECT_EQ(store.vanish([](std::string_view key) { return key == "b"; }), 1U);
  EXPECT_EQ(store.version(), version + 1);
  const auto reader = begin(store, Access::kRead);
  EXPECT_EQ(value_of(*reader, "a"), "");
  EXPECT_EQ(value_of(*reader, "b"), "(none)");
  store.pass(1'000'000);
  EXPECT_EQ(store.vanish(all), 1U);
  EXPECT_EQ(value_of(*reader, "a"), "");  // its snapshot
  EXPECT_EQ(store.vanish(all), 0U);
}

class Several : public testing::Test {
 protected:
  void put_while_open(Store& through, std::string_view key) {
    const auto txn = through.begin(Access::kWrite);
    ASSERT_TRUE((*txn)->put(key, "", kWhileOpen));
    ASSERT_TRUE((*txn)->commit());
  }
  std::size_t vanish_after(std::int64_t ms) {
    store_.pass(ms);
    return store_.vanish([](std::string_view) { return true; });
  }
  MemoryStore store_{{.flavour = Flavour::kOptimistic}};
};

TEST_F(Several, ARowThatLivesWithItsStoreStaysAMinuteAfterThatHasClosed) {
  auto one = store_.open_another();
  put_while_open(*one, "one");
  put_while_open(store_, "own");
  EXPECT_EQ(vanish_after(10'000'000), 0U);  // as long as it is open
  one.reset();
  EXPECT_EQ(vanish_after(kAfterOpenMs), 0U);
  EXPECT_EQ(vanish_after(1), 1U);
  EXPECT_EQ(vanish_after(10'000'000), 0U);
  store_.crash();
  store_.reopen({.id = 2});
  EXPECT_EQ(vanish_after(kAfterOpenMs), 0U);
  EXPECT_EQ(vanish_after(1), 1U);
}

TEST_F(Several, WhoeverOverwritesSuchARowTakesItOver) {
  auto one = store_.open_another();
  auto two = store_.open_another();
  put_while_open(*one, "moved");
  put_while_open(*one, "stays");
  put_while_open(*one, "moved before");
  put_while_open(*two, "moved before");
  one.reset();
  EXPECT_EQ(vanish_after(kAfterOpenMs), 0U);
  put_while_open(*two, "moved");
  EXPECT_EQ(vanish_after(10'000'000), 1U);
  EXPECT_EQ(value_of(*begin(store_, Access::kRead), "moved"), "");
  two.reset();
  EXPECT_EQ(vanish_after(kAfterOpenMs), 0U);
  EXPECT_EQ(vanish_after(1), 2U);
}

TEST_F(Several, ACommitThatArrivesAfterItsStoreHasClosedLivesAMinute) {
  auto one = store_.open_another();
  const auto late = one->begin(Access::kWrite);
  ASSERT_TRUE((*late)->put("late", "", kWhileOpen));
  one.reset();
  EXPECT_EQ(vanish_after(10'000'000), 0U);
  ASSERT_TRUE((*late)->commit());
  EXPECT_EQ(vanish_after(kAfterOpenMs), 0U);
  EXPECT_EQ(vanish_after(1), 1U);
}

// Its fences would be too small.
TEST_F(Several, I3AStoreCommitsNothingInAnotherEpochThanItsOwn) {
  const auto before = store_.open_another(7);
  EXPECT_EQ(before->epoch().id, 1U);
  EXPECT_EQ(before->epoch().start_mono_ms, 7);
  const auto txn = before->begin(Access::kWrite);
  ASSERT_TRUE((*txn)->put("a", ""));
  store_.begin_epoch({.id = 2, .fence_offset = 1'000});
  EXPECT_EQ((*txn)->commit().error().code, Code::kStoreUnavailable);
  EXPECT_EQ(value_of(*begin(store_, Access::kRead), "a"), "(none)");
  EXPECT_EQ(before->epoch().id, 1U);
  const auto after = store_.open_another();
  EXPECT_EQ(after->epoch().id, 2U);
  const auto again = after->begin(Access::kWrite);
  EXPECT_TRUE((*again)->put("a", "") && (*again)->commit());
}

}  // namespace
}  // namespace lockkeeper::kv
