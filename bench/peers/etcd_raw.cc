#include "bench/peers/etcd_raw.h"

#include <unistd.h>

#include <map>

#include "base/assert.h"
#include "base/random.h"
#include "bench/must.h"
#include "bench/peers/ours.h"
#include "kv/etcd/ask.h"
#include "kv/etcd/etcd_store.h"
#include "kv/etcd/wire.h"
#include "kv/memory/memory_store.h"

namespace lockkeeper::bench {
namespace {

using kv::etcd::Compare;
using kv::etcd::TxnRequest;

// Beside the table's own guards: the lane, the epoch, and the row of the hub that serves the store.
constexpr std::size_t kStoreCompares = 3;
constexpr std::size_t kLaneBytes = 24;
constexpr std::int64_t kLockLeaseS = 600;

// Passes everything on to a transaction in memory, and notes what is committed.
class ShapeTxn final : public kv::Txn {
 public:
  ShapeTxn(std::unique_ptr<kv::Txn> txn, kv::Budget budget, std::vector<CommitShape>& shapes)
      : txn_(std::move(txn)), budget_(budget), shapes_(shapes) {}

  Result<std::optional<kv::Row>> get(std::string_view key, kv::Read read) override {
    return txn_->get(key, read);
  }
  Result<void> scan(const kv::Range& range, const Visit& visit, kv::Read read) override {
    return txn_->scan(range, visit, read);
  }
  Result<void> scan_back(const kv::Range& range, const Visit& visit) override {
    return txn_->scan_back(range, visit);
  }
  Result<void> scan_appended(std::string_view prefix, std::uint64_t after,
                             const VisitAppended& visit) override {
    return txn_->scan_appended(prefix, after, visit);
  }
  Result<void> scan_appended_back(std::string_view prefix, const VisitAppended& visit) override {
    return txn_->scan_appended_back(prefix, visit);
  }
  Result<void> guard_absent(std::string_view key) override { return txn_->guard_absent(key); }
  Result<void> guard_empty(const kv::Range& range) override { return txn_->guard_empty(range); }
  Result<void> guard_unchanged(std::string_view key, kv::Version modified) override {
    return txn_->guard_unchanged(key, modified);
  }
  GuardMark guard_mark() const override { return txn_->guard_mark(); }
  void drop_guards(GuardMark since) override { txn_->drop_guards(since); }
  Result<void> put(std::string_view key, std::string_view value, kv::Lifetime lifetime) override {
    writes_[std::string(key)] = {key.size(), value.size(), false};
    return txn_->put(key, value, lifetime);
  }
  Result<void> erase(std::string_view key) override {
    writes_[std::string(key)] = {key.size(), 0, true};
    return txn_->erase(key);
  }
  Result<void> append(std::string_view prefix, std::string_view value) override {
    // The store adds a number of 20 characters or so.
    writes_[std::string(prefix) + std::to_string(writes_.size())] = {prefix.size() + 20,
                                                                     value.size(), false};
    return txn_->append(prefix, value);
  }
  kv::Budget left() const override { return txn_->left(); }
  Result<kv::CommitResult> commit() override {
    if (!writes_.empty()) {
      CommitShape shape{budget_.guards - txn_->left().guards, {}};
      for (const auto& [key, write] : writes_) shape.writes.push_back(write);
      shapes_.push_back(std::move(shape));
    }
    return txn_->commit();
  }

 private:
  const std::unique_ptr<kv::Txn> txn_;
  const kv::Budget budget_;
  std::vector<CommitShape>& shapes_;
  std::map<std::string, CommitShape::Write> writes_;
};

class ShapeStore final : public kv::Store {
 public:
  explicit ShapeStore(std::vector<CommitShape>& shapes)
      : store_({.flavour = kv::Flavour::kOptimistic, .guards_max = kv::EtcdStore::kGuardsMax}),
        shapes_(shapes) {}
  Result<std::unique_ptr<kv::Txn>> begin(kv::Access access) override {
    LK_ASSIGN(auto txn, store_.begin(access));
    return std::make_unique<ShapeTxn>(std::move(txn), budget(), shapes_);
  }
  kv::Budget budget() const override { return store_.budget(); }
  kv::Epoch epoch() const override { return store_.epoch(); }

 private:
  kv::MemoryStore store_;
  std::vector<CommitShape>& shapes_;
};

std::unique_ptr<kv::etcd::Client> open_client(const std::string& url) {
  return must(kv::etcd::Client::open(must(kv::etcd::parse_address(url))));
}

}  // namespace

PairShape shape_of_pair(const Setup& setup) {
  std::vector<CommitShape> shapes;
  Place place(setup.fresh("shape"), Kept::kProcess,
              [&] { return std::make_unique<ShapeStore>(shapes); });
  service::Locks locks(place.site(), {"bench", ""});
  verbs_pair(locks, path_at(0, 0));  // makes what later ones find
  shapes.clear();
  verbs_pair(locks, path_at(0, 1));
  LOCKKEEPER_ASSERT(shapes.size() == 2);
  return {std::move(shapes[0]), std::move(shapes[1])};
}

RawPairs::RawPairs(const std::string& url, PairShape shape, int worker)
    : shape_(std::move(shape)),
      mine_("/raw/" + std::to_string(::getpid()) + "-" + std::to_string(worker) + "/"),
      client_(open_client(url)) {}

std::string RawPairs::key(const std::string& kind, int turn, std::size_t index,
                          std::size_t bytes) const {
  std::string key = mine_ + kind + std::to_string(turn) + "/" + std::to_string(index);
  if (key.size() < bytes) key.append(bytes - key.size(), '.');
  return key;
}

// Compares that hold, up to so many; and the row that every commit of ours writes besides.
kv::Version RawPairs::commit(TxnRequest request, std::size_t compares) {
  for (std::size_t i = request.compares.size(); i < compares; ++i) {
    Compare none;
    none.target = Compare::Target::kCreate;
    none.key = key("none", 0, i, 0);
    request.compares.push_back(std::move(none));
  }
  request.then.emplace_back(kv::etcd::Put{mine_ + "lane", std::string(kLaneBytes, 'x'), 0});
  const kv::etcd::TxnAnswer answer = client_->txn(request);
  LOCKKEEPER_ASSERT(answer.end == kv::etcd::TxnAnswer::End::kDone);
  LOCKKEEPER_ASSERT(answer.response.message.succeeded);
  return answer.response.message.header.revision;
}

void RawPairs::pair(int turn) {
  TxnRequest acquire, release;
  std::vector<std::string> made;
  for (const CommitShape::Write& write : shape_.acquire.writes) {
    made.push_back(key("a", turn, made.size(), write.key_bytes));
    Compare absent;
    absent.target = Compare::Target::kCreate;
    absent.key = made.back();
    if (acquire.compares.size() < shape_.acquire.guards) acquire.compares.push_back(absent);
    acquire.then.emplace_back(kv::etcd::Put{made.back(), std::string(write.value_bytes, 'v'), 0});
  }
  const kv::Version version = commit(std::move(acquire), shape_.acquire.guards + kStoreCompares);
  std::size_t next = 0;
  for (const CommitShape::Write& write : shape_.release.writes) {
    if (write.erases && next < made.size()) {
      Compare same;
      same.key = made[next];
      same.revision = version;
      if (release.compares.size() < shape_.release.guards) release.compares.push_back(same);
      release.then.emplace_back(kv::etcd::Delete{made[next++]});
    } else {
      release.then.emplace_back(kv::etcd::Put{key("r", turn, release.then.size(), write.key_bytes),
                                              std::string(write.value_bytes, 'v'), 0});
    }
  }
  commit(std::move(release), shape_.release.guards + kStoreCompares);
}

LockApi::LockApi(const std::string& url)
    : client_(open_client(url)), lease_(SystemRandom().next() >> 1U | 1U) {
  const auto address = must(kv::etcd::parse_address(url));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  link_ = must(kv::etcd::Link::open(address.endpoints.front(), nullptr, until));
  must(client_->grant_lease(lease_, kLockLeaseS));
}

void LockApi::pair(const std::string& path) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  kv::etcd::MessageWriter lock;
  lock.bytes(1, path);
  lock.number(2, lease_);
  const kv::etcd::Answer locked = link_->call("/v3lockpb.Lock/Lock", {}, lock.take(), until);
  LOCKKEEPER_ASSERT(is_ok(locked));
  std::string key;
  kv::etcd::MessageReader reader(locked.body);
  while (reader.next()) {
    if (reader.field() == 2) key = reader.bytes();
  }
  kv::etcd::MessageWriter unlock;
  unlock.bytes(1, key);
  LOCKKEEPER_ASSERT(is_ok(link_->call("/v3lockpb.Lock/Unlock", {}, unlock.take(), until)));
}

}  // namespace lockkeeper::bench
