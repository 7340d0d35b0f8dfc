// What only the store on etcd promises: late commits, leases, epochs, restored clusters, limits.
// The contract that it shares with the others is in tests/contract.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/parse.h"
#include "base/random.h"
#include "base/test_folder.h"
#include "etcd/cluster.h"
#include "etcd/proxy.h"
#include "kv/etcd/fields.h"

namespace lockkeeper::etcd_testing {
namespace {

using kv::Access;
using kv::CommitResult;
using kv::EtcdOptions;
using kv::EtcdStore;
using kv::Fate;
using kv::Lifetime;
using kv::Store;
using kv::Txn;

// A short attempt, so that a lost answer is looked for soon; and long patience with that.
kv::etcd::Patience kPatience{std::chrono::milliseconds(1000), std::chrono::milliseconds(30'000)};
kv::etcd::Patience kShort{std::chrono::milliseconds(300), std::chrono::milliseconds(600)};

EtcdOptions patient(kv::etcd::Patience patience = kPatience) {
  EtcdOptions options;
  options.patience = patience;
  return options;
}

std::unique_ptr<Txn> begin(Store& store, Access access = Access::kWrite) {
  auto txn = store.begin(access);
  EXPECT_TRUE(txn.has_value()) << txn.error().message;
  return txn ? std::move(*txn) : nullptr;
}

std::optional<std::string> value(Store& store, const std::string& key) {
  const auto txn = begin(store, Access::kRead);
  const auto row = txn->get(key, kv::Read::kPeek);
  EXPECT_TRUE(row.has_value()) << row.error().message;
  if (!row || !*row) return std::nullopt;
  return std::string((*row)->value);
}

Result<CommitResult> try_put(Store& store, const std::string& key, const std::string& value,
                             Lifetime lifetime = kv::kUntilErased) {
  const auto txn = begin(store);
  EXPECT_TRUE(txn->put(key, value, lifetime));
  return txn->commit();
}

kv::Version put(Store& store, const std::string& key, const std::string& value,
                Lifetime lifetime = kv::kUntilErased) {
  const auto done = try_put(store, key, value, lifetime);
  EXPECT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(done.value_or(CommitResult{}).fate, Fate::kCommitted);
  return done.value_or(CommitResult{}).version;
}

void erase(Store& store, const std::string& key) {
  const auto txn = begin(store);
  EXPECT_TRUE(txn->erase(key));
  EXPECT_TRUE(txn->commit());
}

// The lease of a row, as etcd has it; 0: none.
std::uint64_t lease_of(EtcdStore& store, const std::string& prefix, const std::string& key) {
  kv::etcd::RangeRequest request;
  request.key = prefix + "/row/" + key;
  const auto answer = store.client().range(request);
  EXPECT_TRUE(answer.has_value());
  if (!answer || answer->message.kvs.empty()) return 0;
  return answer->message.kvs.front().lease;
}

std::string hex(std::uint64_t number) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%llx", static_cast<unsigned long long>(number));
  return text.data();
}

class EtcdStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!programs()) GTEST_SKIP() << why_not();
  }
  static Cluster& cluster() { return shared_cluster(); }
  const std::string prefix_ = fresh_prefix();
};

// --- late commits --------------------------------------------------------------------------------

class EtcdLate : public EtcdStoreTest {
 protected:
  void SetUp() override {
    EtcdStoreTest::SetUp();
    if (IsSkipped()) return;
    proxy_ = std::make_unique<Proxy>(cluster().endpoint(0));
  }
  // Through the proxy first, then past it.
  std::unique_ptr<EtcdStore> open_both() {
    return open_store("etcd://" + proxy_->endpoint() + "," + cluster().endpoint(0) + prefix_, "",
                      patient());
  }
  std::unique_ptr<Proxy> proxy_;
};

TEST_F(EtcdLate, F24_ACommitWhoseAnswerIsLostIsFoundAndMadeOnce) {
  const auto store = open_both();
  put(*store, "a", "1");
  proxy_->lose_answers();
  const kv::Version version = put(*store, "a", "2");
  proxy_->heal();
  const auto txn = begin(*store, Access::kRead);
  const auto row = txn->get("a", kv::Read::kPeek);
  ASSERT_TRUE(row && *row);
  EXPECT_EQ((*row)->value, "2");
  EXPECT_EQ((*row)->modified, version);
}

TEST_F(EtcdLate, F24_ACommitThatArrivesLateDoesNotFollowANewerOne) {
  const auto store = open_both();
  put(*store, "warm", "");  // its lane is there
  proxy_->hold_requests();
  {
    const auto txn = begin(*store);
    EXPECT_TRUE(txn->guard_absent("lock"));
    EXPECT_TRUE(txn->put("lock", "late", kv::kUntilErased));
    const auto done = txn->commit();
    ASSERT_TRUE(done.has_value()) << done.error().message;
    EXPECT_EQ(done->fate, Fate::kConflict);  // it did not happen, and never will
  }
  // The caller's second attempt is granted and released: the lock is absent once more.
  put(*store, "lock", "newer");
  erase(*store, "lock");
  proxy_->deliver();
  EXPECT_EQ(value(*store, "lock"), std::nullopt);
}

TEST_F(EtcdLate, F24_AFirstCommitThatArrivesLateDoesNotFollowEither) {
  const auto store = open_both();
  proxy_->hold_requests();
  const auto done = try_put(*store, "lock", "late");
  ASSERT_TRUE(done.has_value()) << done.error().message;
  erase(*store, "lock");
  proxy_->deliver();
  EXPECT_EQ(value(*store, "lock"), std::nullopt);
}

TEST_F(EtcdLate, F24_I9_WhatStaysInDoubtIsUnknownAndNothingOvertakesIt) {
  const auto through = open_store("etcd://" + proxy_->endpoint() + prefix_, "", patient(kShort));
  const auto past = open_store(cluster().url(prefix_));
  put(*through, "warm", "");
  proxy_->hold_requests();
  const auto doubtful = try_put(*through, "lock", "late");
  ASSERT_FALSE(doubtful.has_value());
  EXPECT_EQ(doubtful.error().code, Code::kUnknown);
  const auto next = try_put(*through, "other", "newer");
  ASSERT_FALSE(next.has_value());
  EXPECT_EQ(next.error().code, Code::kStoreUnavailable);
  EXPECT_EQ(value(*past, "lock"), std::nullopt);
  // Once it is through, the doubtful one is ended before anything else: what it is then, it stays.
  proxy_->heal();
  auto again = try_put(*through, "other", "newer");
  while (!again.has_value()) again = try_put(*through, "other", "newer");
  EXPECT_EQ(again->fate, Fate::kCommitted);
  EXPECT_EQ(value(*past, "lock"), std::nullopt);
}

// --- what etcdctl says ---------------------------------------------------------------------------

TEST_F(EtcdStoreTest, EtcdctlReadsWhatWeWriteAndWritesWhatWeRead) {
  const auto store = open_store(cluster().url(prefix_));
  const kv::Version version = put(*store, "key", "value");
  const std::string key = prefix_ + "/row/key";
  EXPECT_EQ(cluster().ctl({"get", key, "--print-value-only"}), "value\n");
  const std::string json = cluster().ctl({"get", key, "-w", "json"});
  EXPECT_NE(json.find("\"create_revision\":" + std::to_string(version)), std::string::npos) << json;
  EXPECT_NE(json.find("\"mod_revision\":" + std::to_string(version)), std::string::npos) << json;
  EXPECT_EQ(cluster().ctl({"get", prefix_ + "/epoch", "--print-value-only"}), "1 1 0\n");

  EXPECT_EQ(cluster().ctl({"put", prefix_ + "/row/theirs", "of etcdctl"}), "OK\n");
  EXPECT_EQ(value(*store, "theirs"), "of etcdctl");
  EXPECT_EQ(cluster().ctl({"del", key}), "1\n");
  EXPECT_EQ(value(*store, "key"), std::nullopt);
}

TEST_F(EtcdStoreTest, OurFieldNumbersAreThoseOfTheProtoFiles) {
  const std::string api = programs().value() + "/../share/gocode/src/go.etcd.io/etcd/api/";
  std::map<std::string, std::uint32_t> published;  // "Message.field"
  for (const char* const file : {"etcdserverpb/rpc.proto", "mvccpb/kv.proto"}) {
    std::ifstream in(api + file);
    if (!in) GTEST_SKIP() << "there are no .proto files beside this etcd: " << api;
    std::vector<std::string> blocks;
    for (std::string line; std::getline(in, line);) {
      const auto words = words_in(line.substr(0, line.find("//")), " \t;");
      if (words.size() >= 2 && (words[0] == "message" || words[0] == "enum")) {
        blocks.push_back(words[1]);
        if (line.find('}') != std::string::npos) blocks.pop_back();
      } else if (!words.empty() && (words[0] == "oneof" || words.back() == "{")) {
        // A oneof's fields are its message's.
        blocks.push_back(blocks.empty() || words[0] != "oneof" ? words[0] : blocks.back());
      } else if (!words.empty() && words[0] == "}") {
        if (!blocks.empty()) blocks.pop_back();
      } else if (!blocks.empty()) {
        const auto equals = std::ranges::find(words, "=");
        if (equals == words.end() || equals == words.begin() || equals + 1 == words.end()) continue;
        const auto number = number_in<std::uint32_t>(*(equals + 1));
        if (number) published[blocks.back() + "." + *(equals - 1)] = *number;
      }
    }
  }
  ASSERT_GT(published.size(), 100U);
  for (const kv::etcd::Field& field : kv::etcd::all_fields()) {
    const std::string name = std::string(field.message) + "." + std::string(field.name);
    ASSERT_TRUE(published.contains(name)) << name;
    EXPECT_EQ(published[name], field.number) << name;
  }
}

// --- lifetimes -----------------------------------------------------------------------------------

TEST_F(EtcdStoreTest, I6_RowsOfAboutOneLifetimeShareALeaseThatIsLongEnough) {
  const auto store = open_store(cluster().url(prefix_));
  constexpr Lifetime kHour = 3'600'000;
  put(*store, "a", "", kHour);
  put(*store, "b", "", kHour - 1000);
  put(*store, "other", "", 10 * kHour);
  put(*store, "lasting", "");
  const std::uint64_t lease = lease_of(*store, prefix_, "a");
  EXPECT_NE(lease, 0U);
  EXPECT_EQ(lease_of(*store, prefix_, "b"), lease);
  EXPECT_NE(lease_of(*store, prefix_, "other"), lease);
  EXPECT_EQ(lease_of(*store, prefix_, "lasting"), 0U);
  // Of the whole hour nothing is missing, and it is late by a quarter at most.
  const std::string told = cluster().ctl({"lease", "timetolive", hex(lease)});
  const auto at = told.find("granted with TTL(");
  ASSERT_NE(at, std::string::npos) << told;
  const auto granted = number_in<int>(words_in(told.substr(at + 17), "s").front());
  ASSERT_TRUE(granted) << told;
  EXPECT_GT(*granted, 3600);
  EXPECT_LT(*granted, 4500);
  put(*store, "a", "");  // overwriting takes the lifetime away
  EXPECT_EQ(lease_of(*store, prefix_, "a"), 0U);
}

TEST_F(EtcdStoreTest, WhatVanishesIsAConflictForThoseWhoGuardIt) {
  const auto store = open_store(cluster().url(prefix_));
  put(*store, "brief", "1", 1000);
  const auto point = begin(*store), range = begin(*store), peek = begin(*store);
  ASSERT_TRUE(point->get("brief", kv::Read::kGuarded));
  ASSERT_TRUE(range->scan(
      {"a", "c"}, [](const kv::Row&) { return true; }, kv::Read::kGuarded));
  ASSERT_TRUE(peek->get("brief", kv::Read::kPeek));
  cluster().ctl({"lease", "revoke", hex(lease_of(*store, prefix_, "brief"))});
  EXPECT_EQ(value(*store, "brief"), std::nullopt);
  for (Txn* const txn : {point.get(), range.get(), peek.get()}) {
    EXPECT_TRUE(txn->put("out", "", kv::kUntilErased));
  }
  EXPECT_EQ(point->commit().value().fate, Fate::kConflict);
  EXPECT_EQ(range->commit().value().fate, Fate::kConflict);
  EXPECT_EQ(peek->commit().value().fate, Fate::kCommitted);
}

TEST_F(EtcdStoreTest, ARowThatLivesWhileTheStoreIsOpenIsOnALeaseThatIsKept) {
  std::atomic<int> lost = 0;
  EtcdOptions options;
  options.on_lease_lost = [&] { ++lost; };
  const auto store = open_store(cluster().url(prefix_), "", std::move(options));
  put(*store, "here", "1", kv::kWhileOpen);
  const std::uint64_t lease = lease_of(*store, prefix_, "here");
  EXPECT_NE(lease, 0U);
  EXPECT_NE(cluster().ctl({"lease", "timetolive", hex(lease)}).find("TTL(90s)"), std::string::npos);
  put(*store, "here", "2", kv::kWhileOpen);
  EXPECT_EQ(lease_of(*store, prefix_, "here"), lease);
  EXPECT_EQ(lost, 0);

  // Somebody takes it away: it is told, and the next row gets a new one.
  cluster().ctl({"lease", "revoke", hex(lease)});
  auto done = try_put(*store, "here", "3", kv::kWhileOpen);
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(done->fate, Fate::kConflict);
  EXPECT_EQ(lost, 1);
  put(*store, "here", "4", kv::kWhileOpen);
  EXPECT_NE(lease_of(*store, prefix_, "here"), lease);
  EXPECT_EQ(value(*store, "here"), "4");
}

// --- the watch -----------------------------------------------------------------------------------

// What a watch has told, for a test that waits for it.
class Ear {
 public:
  std::function<void(const std::vector<std::string>&)> on_change() {
    return [this](const std::vector<std::string>& keys) {
      const std::lock_guard lock(mutex_);
      if (keys.empty()) ++gaps_;
      heard_.insert(keys.begin(), keys.end());
      changed_.notify_all();
    };
  }
  void wait_for(const std::string& key) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return heard_.contains(key); });
  }
  void wait_for_gaps(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return gaps_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> heard_;
  int gaps_ = 0;
};

TEST_F(EtcdStoreTest, AHubHearsWhatAnotherChanges) {
  Ear ear;  // outlives the store
  EtcdOptions options;
  options.on_change = ear.on_change();
  const auto hears = open_store(cluster().url(prefix_), "", std::move(options));
  const auto other = open_store(cluster().url(prefix_));
  const auto stranger = open_store(cluster().url(fresh_prefix()));
  ear.wait_for_gaps(1);  // it listens
  put(*stranger, "strange", "");
  put(*other, "put", "");
  ear.wait_for("put");
  put(*other, "brief", "", 1000);
  cluster().ctl({"lease", "revoke", hex(lease_of(*other, prefix_, "brief"))});
  ear.wait_for("brief");
}

TEST_F(EtcdStoreTest, AWatchThatEndedBeginsAgainAndSaysThatItMissedSomething) {
  Cluster own;
  Ear ear;
  EtcdOptions options;
  options.on_change = ear.on_change();
  const auto store = open_store(own.url(prefix_), "", std::move(options));
  ear.wait_for_gaps(1);
  own.kill(0);
  own.start(0);
  ear.wait_for_gaps(2);
  own.wait_until_it_serves();
  auto done = try_put(*store, "after", "");
  while (!done || done->fate != Fate::kCommitted) done = try_put(*store, "after", "");
  ear.wait_for("after");
}

// --- epochs and restored clusters ----------------------------------------------------------------

TEST_F(EtcdStoreTest, I3_TwoHubsShareAnEpochAndLearnOfANewOne) {
  const std::string url = cluster().url(prefix_);
  const auto one = open_store(url), two = open_store(url);
  EXPECT_EQ(one->epoch().id, two->epoch().id);
  const kv::Version version = put(*one, "a", "1");
  EXPECT_EQ(value(*two, "a"), "1");
  EtcdOptions options;
  options.address = kv::etcd::parse_address(url).value();
  const auto repaired = EtcdStore::repair(options);
  ASSERT_TRUE(repaired.has_value()) << repaired.error().message;
  EXPECT_GT(repaired->id, one->epoch().id);
  EXPECT_GT(repaired->fence_offset, one->epoch().fence_offset + static_cast<std::int64_t>(version));
  // A fence of the former epoch can no longer be given.
  const auto stale = try_put(*one, "a", "2");
  ASSERT_TRUE(stale.has_value()) << stale.error().message;
  EXPECT_EQ(stale->fate, Fate::kConflict);
  EXPECT_EQ(one->epoch().id, repaired->id);
  EXPECT_EQ(one->epoch().fence_offset, repaired->fence_offset);
  put(*one, "a", "3");
}

// The store has learned of the new epoch meanwhile, through another thread.
TEST_F(EtcdStoreTest, I3_ATransactionOfTheFormerEpochCommitsNothing) {
  const std::string url = cluster().url(prefix_);
  const auto store = open_store(url);
  put(*store, "a", "1");
  auto txn = store->begin(kv::Access::kWrite);
  ASSERT_TRUE(txn.has_value());
  ASSERT_TRUE((*txn)->put("a", "2").has_value());
  EtcdOptions options;
  options.address = kv::etcd::parse_address(url).value();
  const auto repaired = EtcdStore::repair(options);
  ASSERT_TRUE(repaired.has_value()) << repaired.error().message;
  std::thread([&] { EXPECT_EQ(try_put(*store, "b", "1")->fate, Fate::kConflict); }).join();
  ASSERT_EQ(store->epoch().id, repaired->id);
  const auto done = (*txn)->commit();
  ASSERT_TRUE(done.has_value()) << done.error().message;
  EXPECT_EQ(done->fate, Fate::kConflict);
  EXPECT_EQ(value(*store, "a"), "1");
}

TEST_F(EtcdStoreTest, I3_F28_AClusterThatWasRestoredIsRefusedUntilTheRepair) {
  Cluster own;
  TestFolder folder;
  const std::string url = own.url(prefix_);
  const std::string seen = folder.file("seen");
  const auto store = open_store(url, seen);
  put(*store, "a", "1");
  own.ctl({"snapshot", "save", folder.file("snapshot")});
  kv::Version last = 0;
  for (int i = 0; i < 20; ++i) last = put(*store, "a", std::to_string(i));
  const std::int64_t fence = static_cast<std::int64_t>(last) + store->epoch().fence_offset;
  own.restore(folder.file("snapshot"));

  // A hub that was running, and one that starts now. The first may have heard of it from its watch,
  // and then it does not even begin.
  const auto running = store->begin(Access::kRead);
  if (running) {
    const auto row = (*running)->get("a", kv::Read::kGuarded);
    ASSERT_FALSE(row.has_value());
    EXPECT_EQ(row.error().code, Code::kStoreCorrupt);
  } else {
    EXPECT_EQ(running.error().code, Code::kStoreCorrupt);
  }
  const auto refused = store->begin(Access::kWrite);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kStoreCorrupt);
  EtcdOptions options;
  options.address = kv::etcd::parse_address(url).value();
  options.seen_file = seen;
  const auto fresh = EtcdStore::open(options);
  ASSERT_FALSE(fresh.has_value());
  EXPECT_EQ(fresh.error().code, Code::kStoreCorrupt);
  EXPECT_NE(fresh.error().hint.find("doctor --repair"), std::string::npos);

  const auto repaired = EtcdStore::repair(options);
  ASSERT_TRUE(repaired.has_value()) << repaired.error().message;
  // The leases of the former life are gone, which the first commit may have to learn.
  auto after = try_put(*store, "a", "after");
  while (after && after->fate == Fate::kConflict) after = try_put(*store, "a", "after");
  ASSERT_TRUE(after.has_value()) << after.error().message;
  const kv::Version version = after->version;
  EXPECT_EQ(store->epoch().id, repaired->id);
  EXPECT_GT(static_cast<std::int64_t>(version) + store->epoch().fence_offset, fence);
  EXPECT_TRUE(EtcdStore::open(options).has_value());
}

TEST_F(EtcdStoreTest, RowsOfAnotherSchemaAreRefused) {
  const std::string url = cluster().url(prefix_);
  const auto store = open_store(url);
  EtcdOptions options;
  options.address = kv::etcd::parse_address(url).value();
  options.schema_version = 2;
  const auto refused = EtcdStore::open(options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kStoreUnavailable);
}

// --- limits --------------------------------------------------------------------------------------

TEST_F(EtcdStoreTest, F27_ASnapshotThatWasCompactedIsSaidAndTheNextOneIsRead) {
  EtcdOptions options;
  options.copy_bytes_max = 0;
  const auto store = open_store(cluster().url(prefix_), "", std::move(options));
  put(*store, "a", "1");
  const auto txn = begin(*store);
  EXPECT_TRUE(txn->get("a", kv::Read::kGuarded));
  const kv::Version newest = put(*store, "b", "1");
  cluster().ctl({"compact", std::to_string(newest)});
  const auto gone = txn->get("b", kv::Read::kGuarded);
  ASSERT_FALSE(gone.has_value());
  EXPECT_EQ(gone.error().code, Code::kStoreUnavailable);
  EXPECT_NE(gone.error().message.find("compacted"), std::string::npos) << gone.error().message;
  EXPECT_EQ(value(*store, "b"), "1");
}

TEST_F(EtcdStoreTest, L8_F27_ALimitOfTheServerIsNamed) {
  Cluster own({.arguments = {"--max-txn-ops", "64", "--quota-backend-bytes", "16777216",
                             "--max-request-bytes", "1572864"}});
  const auto store = open_store(own.url(prefix_));
  {
    const auto txn = begin(*store);
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(txn->put("k" + std::to_string(i), "", kv::kUntilErased));
    }
    const auto refused = txn->commit();
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Code::kLimitExceeded);
    EXPECT_NE(refused.error().hint.find("--max-txn-ops"), std::string::npos);
  }
  const auto large = try_put(*store, "large", std::string(3U << 20, 'v'));
  ASSERT_FALSE(large.has_value());
  EXPECT_EQ(large.error().code, Code::kLimitExceeded);
  EXPECT_NE(large.error().hint.find("--max-request-bytes"), std::string::npos);
  // Its disk is as good as full: rows can be read, and nothing was half written.
  Result<CommitResult> done = CommitResult{};
  int written = 0;
  while (done && written < 100) {
    done = try_put(*store, "v" + std::to_string(written), std::string(1U << 20, 'v'));
    if (done) ++written;
  }
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, Code::kNoSpace) << done.error().message;
  EXPECT_NE(done.error().hint.find("alarm disarm"), std::string::npos);
  EXPECT_GT(written, 3);
  EXPECT_TRUE(value(*store, "v0").has_value());
  EXPECT_EQ(value(*store, "v" + std::to_string(written)), std::nullopt);
}

// etcd looks at its quota twice, before and after it has written. Those that come together pass the
// first look together.
TEST_F(EtcdStoreTest, I9_F27_WhatIsRefusedForWantOfSpaceIsNotThere) {
  Cluster own({.arguments = {"--quota-backend-bytes", "16777216"}});
  const auto store = open_store(own.url(prefix_));
  constexpr int kThreads = 8;
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::vector<std::string> refused;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 100; ++i) {
        const std::string key = "t" + std::to_string(thread) + "." + std::to_string(i);
        const auto done = try_put(*store, key, std::string(1U << 20, 'v'));
        if (done) continue;
        EXPECT_EQ(done.error().code, Code::kNoSpace) << done.error().message;
        const std::lock_guard lock(mutex);
        refused.push_back(key);
        return;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(refused.size(), kThreads);
  for (const std::string& key : refused) EXPECT_EQ(value(*store, key), std::nullopt) << key;
}

}  // namespace
}  // namespace lockkeeper::etcd_testing
