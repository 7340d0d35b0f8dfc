// The copy of the rows that a store on etcd decides on: never older than it may be, whole revisions
// only, and one round trip for what the table does. On a real etcd, with a watch that is held back
// while requests are answered.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <thread>

#include "base/random.h"
#include "core/browse.h"
#include "core/table.h"
#include "etcd/cluster.h"
#include "etcd/proxy.h"

namespace lockkeeper::etcd_testing {
namespace {

using core::AcquireReply;
using core::AcquireRequest;
using core::Outcome;
using core::Owner;
using core::Table;
using kv::Access;
using kv::CommitResult;
using kv::EtcdOptions;
using kv::EtcdStore;
using kv::Fate;
using kv::Read;

const Owner kAnn{"ann", ""};
const Owner kBob{"bob", ""};

std::unique_ptr<kv::Txn> begin(EtcdStore& store, Access access = Access::kWrite) {
  auto txn = store.begin(access);
  EXPECT_TRUE(txn.has_value()) << txn.error().message;
  return txn ? std::move(*txn) : nullptr;
}

void wait_for_copy(EtcdStore& store) {
  ASSERT_TRUE(store.wait_for_copy(std::chrono::steady_clock::now() + std::chrono::seconds(60)));
}

// "a=1 b=2", as a write transaction sees it that is not committed; or a read transaction.
std::string rows(EtcdStore& store, Access access) {
  const auto txn = begin(store, access);
  std::string text;
  const auto seen = txn->scan(
      {std::string(1, '\0'), "\xff"},
      [&](const kv::Row& row) {
        text += (text.empty() ? "" : " ") + std::string(row.key) + "=" + std::string(row.value);
        return true;
      },
      Read::kPeek);
  EXPECT_TRUE(seen.has_value()) << seen.error().message;
  return text;
}

void put(EtcdStore& store, const std::string& key, const std::string& value) {
  while (true) {
    const auto txn = begin(store);
    ASSERT_TRUE(txn->put(key, value));
    const auto done = txn->commit();
    ASSERT_TRUE(done.has_value()) << done.error().message;
    if (done->fate == Fate::kCommitted) return;
  }
}

// How often etcd was asked while `work` ran.
std::uint64_t asked(EtcdStore& store, const std::function<void()>& work) {
  const auto before = store.client().asked();
  work();
  const auto after = store.client().asked();
  return after.ranges - before.ranges + after.transactions - before.transactions;
}

class Everybody final : public core::Prober {
 public:
  core::Alive probe(const core::Attachment&) const override { return core::Alive::kAlive; }
};

// A hub's lock table, as the service uses it.
class Hub {
 public:
  explicit Hub(EtcdStore& store) : store_(store) {}

  template <class Operation>
  auto run(Operation operation) -> decltype(operation(std::declval<Table&>())) {
    while (true) {
      const auto txn = begin(store_);
      Table table(*txn, context());
      auto reply = operation(table);
      if (!reply) {
        if (txn->confirm_reads().value()) return reply;
        continue;
      }
      const auto done = txn->commit();
      if (!done) return fail(done.error());
      ++attempts;
      if (done->fate == Fate::kConflict) continue;
      if constexpr (requires { reply->again; }) {
        if (reply->again) continue;
      }
      return reply;
    }
  }

  static AcquireRequest request(const Owner& owner, const std::string& path) {
    AcquireRequest request;
    request.owner = owner;
    request.claims = {{key::parse(path, {})->resource, core::Mode::kExclusive}};
    request.terms.ttl_ms = 3'600'000;
    return request;
  }
  Outcome acquire(const Owner& owner, const std::string& path) {
    const auto reply = run([&](Table& table) { return table.acquire(request(owner, path)); });
    EXPECT_TRUE(reply.has_value()) << reply.error().message;
    return reply ? reply->outcome : Outcome::kHeld;
  }
  std::size_t release(const Owner& owner, const std::string& path) {
    const auto reply =
        run([&](Table& table) { return table.release(owner, {key::parse(path, {})->resource}); });
    EXPECT_TRUE(reply.has_value()) << reply.error().message;
    return reply ? reply->released.size() : 0;
  }
  bool is_free(const Owner& owner, const std::string& path) {
    const auto txn = begin(store_, Access::kRead);
    Table table(*txn, context());
    const auto reply = table.check(request(owner, path), 0);
    EXPECT_TRUE(reply.has_value()) << reply.error().message;
    return reply && reply->free;
  }
  std::size_t leases() {
    const auto txn = begin(store_, Access::kRead);
    const core::Context now = context();
    core::State state(*txn, now);
    const auto page = core::lease_page(state, "");
    EXPECT_TRUE(page.has_value()) << page.error().message;
    return page ? page->leases.size() : 0;
  }
  std::atomic<int> attempts = 0;

 private:
  core::Context context() {
    core::Context context;
    context.now = {.mono_ms = 1'000'000, .wall_ms = 1'700'000'000'000};
    context.epoch = store_.epoch();
    context.ticket = SystemRandom().next();
    context.prober = &everybody_;
    return context;
  }
  EtcdStore& store_;
  const Everybody everybody_;
};

class EtcdCopyTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!programs()) GTEST_SKIP() << why_not();
    proxy_ = std::make_unique<Proxy>(shared_cluster().endpoint(0));
    past_ = open_store(url());
    through_ = open_store("etcd://" + proxy_->endpoint() + prefix_);
    wait_for_copy(*through_);
    wait_for_copy(*past_);
  }
  std::string url() const { return shared_cluster().url(prefix_); }
  const std::string prefix_ = fresh_prefix();
  std::unique_ptr<Proxy> proxy_;
  std::unique_ptr<EtcdStore> past_;     // asks etcd
  std::unique_ptr<EtcdStore> through_;  // through the proxy
};

// --- what is decided is not old ------------------------------------------------------------------

TEST_F(EtcdCopyTest, I9_ARefusalIsNotOldWhenTheWatchIsBehind) {
  Hub other(*past_), hub(*through_);
  ASSERT_EQ(other.acquire(kAnn, "a.c"), Outcome::kGranted);
  ASSERT_FALSE(hub.is_free(kBob, "a.c"));  // it knows
  proxy_->hold_watches();
  ASSERT_EQ(other.release(kAnn, "a.c"), 1U);
  EXPECT_EQ(hub.acquire(kBob, "a.c"), Outcome::kGranted);
}

TEST_F(EtcdCopyTest, I9_ARefusalThatWasRefusedBeforeIsNotOldEither) {
  Hub other(*past_), hub(*through_);
  ASSERT_EQ(other.acquire(kAnn, "a.c"), Outcome::kGranted);
  ASSERT_EQ(hub.acquire(kBob, "a.c"), Outcome::kHeld);  // this one is recorded
  ASSERT_EQ(hub.acquire(kBob, "a.c"), Outcome::kHeld);  // this one writes nothing
  proxy_->hold_watches();
  ASSERT_EQ(other.release(kAnn, "a.c"), 1U);
  EXPECT_EQ(hub.acquire(kBob, "a.c"), Outcome::kGranted);
}

TEST_F(EtcdCopyTest, I9_ACheckAndAListAreNotOldWhenTheWatchIsBehind) {
  Hub other(*past_), hub(*through_);
  ASSERT_EQ(other.acquire(kAnn, "a.c"), Outcome::kGranted);
  ASSERT_FALSE(hub.is_free(kBob, "a.c"));
  proxy_->hold_watches();
  ASSERT_EQ(other.release(kAnn, "a.c"), 1U);
  EXPECT_TRUE(hub.is_free(kBob, "a.c"));
  EXPECT_EQ(hub.leases(), 0U);
  ASSERT_EQ(other.acquire(kAnn, "b.c"), Outcome::kGranted);
  EXPECT_FALSE(hub.is_free(kBob, "b.c"));
  EXPECT_EQ(hub.leases(), 1U);
}

TEST_F(EtcdCopyTest, I1_AGrantIsNotOldWhenTheWatchIsBehind) {
  Hub other(*past_), hub(*through_);
  ASSERT_TRUE(hub.is_free(kBob, "a.c"));
  proxy_->hold_watches();
  ASSERT_EQ(other.acquire(kAnn, "a.c"), Outcome::kGranted);
  EXPECT_EQ(hub.acquire(kBob, "a.c"), Outcome::kHeld);
  EXPECT_EQ(hub.attempts, 2);
}

TEST_F(EtcdCopyTest, I9_AnErrorIsNotOldWhenTheWatchIsBehind) {
  Hub other(*past_), hub(*through_);
  proxy_->hold_watches();
  const auto granted =
      other.run([&](Table& table) { return table.acquire(Hub::request(kAnn, "a.c")); });
  ASSERT_TRUE(granted.has_value());
  const auto renewed = hub.run(
      [&](Table& table) { return table.renew(kAnn, {granted->lease.id}, std::nullopt, {}); });
  ASSERT_TRUE(renewed.has_value()) << renewed.error().message;
  EXPECT_EQ(renewed->size(), 1U);
}

TEST_F(EtcdCopyTest, WhatAStoreHasCommittedItReadsAlthoughTheWatchIsBehind) {
  put(*through_, "a", "");  // its lane is there
  proxy_->hold_watches();
  for (int i = 0; i < 5; ++i) {
    const auto put_and_read = [&] {
      put(*through_, "a", std::to_string(i));
      EXPECT_EQ(rows(*through_, Access::kWrite), "a=" + std::to_string(i));
    };
    EXPECT_EQ(asked(*through_, put_and_read), 1U);
  }
  proxy_->heal();
  put(*past_, "b", "");
  EXPECT_EQ(rows(*through_, Access::kRead), "a=4 b=");
}

// Its own commit is on top of one that it has not heard of.
TEST_F(EtcdCopyTest, WhatAStoreHasCommittedItReadsAlthoughItMissedWhatWasBefore) {
  proxy_->hold_watches();
  put(*past_, "b", "");
  put(*through_, "a", "1");
  EXPECT_EQ(rows(*through_, Access::kWrite), "a=1 b=");
  proxy_->heal();
}

// --- the watch -----------------------------------------------------------------------------------

TEST_F(EtcdCopyTest, ARevisionThatComesInPartsIsShownWhole) {
  // One lease takes so many rows with it that etcd cuts the message about it.
  constexpr std::size_t kRows = 40 * EtcdStore::kWritesMax;
  const std::string tail(400, 'k');
  for (std::size_t i = 0; i < kRows;) {
    const auto txn = begin(*past_);
    for (std::size_t n = 0; n < EtcdStore::kWritesMax; ++n) {
      ASSERT_TRUE(txn->put(std::to_string(100'000 + i++) + tail, "", 3'600'000));
    }
    const auto done = txn->commit();
    ASSERT_TRUE(done.has_value()) << done.error().message;
    ASSERT_EQ(done->fate, Fate::kCommitted);
  }
  const auto count = [&](Access access) {
    std::size_t found = 0;
    const auto txn = begin(*through_, access);
    const auto each = [&](const kv::Row&) { return ++found > 0; };
    EXPECT_TRUE(txn->scan({"1", "2"}, each, Read::kPeek));
    return found;
  };
  ASSERT_EQ(count(Access::kRead), kRows);
  kv::etcd::RangeRequest request;
  request.key = prefix_ + "/row/100000" + tail;
  const auto row = past_->client().range(request);
  ASSERT_TRUE(row && !row->message.kvs.empty());
  std::thread revokes([lease = row->message.kvs.front().lease] {
    std::array<char, 17> id{};
    std::snprintf(id.data(), id.size(), "%llx", static_cast<unsigned long long>(lease));
    shared_cluster().ctl({"lease", "revoke", id.data()});
  });
  std::size_t found = kRows;
  while (found == kRows) found = count(Access::kWrite);
  revokes.join();
  EXPECT_EQ(found, 0U);
  EXPECT_EQ(count(Access::kRead), 0U);
}

TEST_F(EtcdCopyTest, AfterTheConnectionBrokeNothingIsMissing) {
  put(*past_, "a", "1");
  put(*through_, "b", "1");
  ASSERT_EQ(rows(*through_, Access::kRead), "a=1 b=1");
  proxy_->cut();
  const auto txn = begin(*past_);
  ASSERT_TRUE(txn->erase("a") && txn->put("b", "2") && txn->put("c", "2"));
  ASSERT_EQ(txn->commit().value().fate, Fate::kCommitted);
  proxy_->heal();
  EXPECT_EQ(rows(*through_, Access::kRead), "b=2 c=2");
  wait_for_copy(*through_);
  EXPECT_EQ(rows(*through_, Access::kRead), "b=2 c=2");
  EXPECT_EQ(asked(*through_, [&] { put(*through_, "d", "3"); }), 1U);
}

TEST_F(EtcdCopyTest, F27_WhatWasCompactedMeanwhileIsLoadedAgain) {
  put(*past_, "a", "1");
  ASSERT_EQ(rows(*through_, Access::kRead), "a=1");
  proxy_->cut();
  for (int i = 0; i < 20; ++i) put(*past_, "a", std::to_string(i));
  {
    const auto txn = begin(*past_);
    ASSERT_TRUE(txn->erase("a") && txn->put("b", "2"));
    ASSERT_EQ(txn->commit().value().fate, Fate::kCommitted);
  }
  const auto status = past_->client().status();
  ASSERT_TRUE(status.has_value());
  shared_cluster().ctl({"compact", std::to_string(status->header.revision)});
  proxy_->heal();
  EXPECT_EQ(rows(*through_, Access::kRead), "b=2");
  // The new copy comes when the watch is told that it cannot go on from the old one.
  std::string seen;
  std::uint64_t asked_for_it = 0;
  do {
    wait_for_copy(*through_);
    asked_for_it = asked(*through_, [&] { seen = rows(*through_, Access::kWrite); });
  } while (asked_for_it > 0 || seen != "b=2");
}

TEST_F(EtcdCopyTest, I3_ANewEpochHasACopyOfItsOwn) {
  put(*through_, "a", "1");
  EtcdOptions options;
  options.address = kv::etcd::parse_address(url()).value();
  ASSERT_TRUE(EtcdStore::repair(options).has_value());
  put(*through_, "a", "2");
  EXPECT_EQ(rows(*through_, Access::kWrite), "a=2");
  wait_for_copy(*through_);
  std::string seen;
  EXPECT_EQ(asked(*through_, [&] { seen = rows(*through_, Access::kWrite); }), 0U);
  EXPECT_EQ(seen, "a=2");
}

TEST_F(EtcdCopyTest, L8_MoreRowsThanTheLimitAreAskedForAsBefore) {
  EtcdOptions options;
  options.copy_bytes_max = 1 << 20;
  const auto store = open_store(url(), "", std::move(options));
  wait_for_copy(*store);
  put(*store, "a", "1");
  std::string seen;
  EXPECT_EQ(asked(*store, [&] { seen = rows(*store, Access::kWrite); }), 0U);
  put(*store, "b", std::string(1 << 20, 'v'));
  while (asked(*store, [&] { seen = rows(*store, Access::kWrite); }) == 0) {
  }
  EXPECT_EQ(seen, "a=1 b=" + std::string(1 << 20, 'v'));
}

// --- round trips ---------------------------------------------------------------------------------

TEST_F(EtcdCopyTest, WhatTheTableDoesTakesOneRoundTrip) {
  Hub hub(*past_);
  // The first ones make lanes and the lease that they are on.
  ASSERT_EQ(hub.acquire(kAnn, "warm.c"), Outcome::kGranted);
  ASSERT_EQ(hub.acquire(kBob, "warm.c"), Outcome::kHeld);
  for (int i = 0; i < 20; ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(asked(*past_, [&] { EXPECT_EQ(hub.acquire(kAnn, "a.c"), Outcome::kGranted); }), 1U);
    EXPECT_EQ(asked(*past_, [&] { EXPECT_EQ(hub.acquire(kBob, "warm.c"), Outcome::kHeld); }), 1U);
    EXPECT_EQ(asked(*past_, [&] { EXPECT_FALSE(hub.is_free(kBob, "a.c")); }), 1U);
    EXPECT_EQ(asked(*past_, [&] { EXPECT_EQ(hub.leases(), 2U); }), 1U);
    EXPECT_EQ(asked(*past_, [&] { EXPECT_EQ(hub.release(kAnn, "a.c"), 1U); }), 1U);
  }
}

// --- several at once -----------------------------------------------------------------------------

// Rows with their versions, and the appended ones in both directions.
std::string everything(EtcdStore& store) {
  const auto txn = begin(store, Access::kRead);
  std::string text;
  const auto row = [&](const kv::Row& each) {
    text += std::string(each.key) + "=" + std::string(each.value) + "@" +
            std::to_string(each.created) + "/" + std::to_string(each.modified) + "\n";
    return true;
  };
  const auto appended = [&](const kv::Appended& each) {
    text += std::to_string(each.number) + ":" + std::string(each.value) + "\n";
    return true;
  };
  EXPECT_TRUE(txn->scan({"a", "z"}, row, Read::kPeek));
  EXPECT_TRUE(txn->scan_back({"a", "z"}, row));
  EXPECT_TRUE(txn->scan_appended("m/", 0, appended));
  EXPECT_TRUE(txn->scan_appended_back("m/", appended));
  return text;
}

TEST_F(EtcdCopyTest, TwoHubsWithCopiesAndOneWithoutReadTheSame) {
  EtcdOptions options;
  options.copy_bytes_max = 0;
  const auto plain = open_store(url(), "", std::move(options));
  SeededRandom random(11);
  for (int i = 0; i < 150; ++i) {
    EtcdStore& writer = random_below(random, 2) == 0 ? *through_ : *past_;
    const auto txn = begin(writer);
    for (std::uint64_t n = 0; n <= random_below(random, 4); ++n) {
      const std::string key = "k" + std::to_string(random_below(random, 10));
      switch (random_below(random, 4)) {
        case 0:
          ASSERT_TRUE(txn->erase(key));
          break;
        case 1:
          ASSERT_TRUE(txn->append("m/", std::to_string(i)));
          break;
        default:
          ASSERT_TRUE(txn->put(key, std::to_string(i)));
      }
    }
    ASSERT_EQ(txn->commit().value().fate, Fate::kCommitted);
    const std::string expected = everything(*plain);
    ASSERT_EQ(everything(*past_), expected) << "seed 11, step " << i;
    ASSERT_EQ(everything(*through_), expected) << "seed 11, step " << i;
  }
}

TEST_F(EtcdCopyTest, I1_ThreadsOfTwoHubsLoseNothingAndSeeNoHalves) {
  constexpr int kThreads = 3;
  constexpr int kTimes = 40;
  const auto add_one = [](EtcdStore& store) {
    while (true) {
      const auto txn = begin(store);
      const auto x = txn->get("x"), y = txn->get("y");
      ASSERT_TRUE(x && y);
      const std::string before = *x ? std::string((*x)->value) : "0";
      const std::string same = *y ? std::string((*y)->value) : "0";
      const std::string after = std::to_string(std::stoi(before) + 1);
      ASSERT_TRUE(txn->put("x", after) && txn->put("y", after));
      const auto done = txn->commit();
      ASSERT_TRUE(done.has_value()) << done.error().message;
      if (done->fate == Fate::kConflict) continue;
      ASSERT_EQ(before, same);
      return;
    }
  };
  const auto look = [](EtcdStore& store, Access access) {
    const auto txn = begin(store, access);
    const auto x = txn->get("x", Read::kPeek), y = txn->get("y", Read::kPeek);
    ASSERT_TRUE(x && y);
    ASSERT_EQ(*x ? (*x)->value : "0", *y ? (*y)->value : "0");
  };
  std::vector<std::thread> threads;
  for (EtcdStore* const store : {past_.get(), through_.get()}) {
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, store] {
        for (int n = 0; n < kTimes; ++n) {
          add_one(*store);
          look(*store, n % 2 == 0 ? Access::kRead : Access::kWrite);
        }
      });
    }
  }
  for (std::thread& thread : threads) thread.join();
  const std::string total = std::to_string(2 * kThreads * kTimes);
  EXPECT_EQ(rows(*past_, Access::kRead), "x=" + total + " y=" + total);
  EXPECT_EQ(rows(*through_, Access::kRead), "x=" + total + " y=" + total);
}

}  // namespace
}  // namespace lockkeeper::etcd_testing
