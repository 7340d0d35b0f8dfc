#include <chrono>

#include "base/assert.h"
#include "base/clock.h"
#include "base/test_folder.h"
#include "contract.h"
#include "kv/memory/memory_store.h"
#ifdef LOCKKEEPER_CONTRACT_LMDB
#include "kv/lmdb/lmdb_store.h"
#endif
#ifdef LOCKKEEPER_CONTRACT_ETCD
#include "etcd/cluster.h"
#endif

namespace lockkeeper::contract {

namespace {

class OpenedMemory final : public Opened {
 public:
  OpenedMemory(kv::Flavour flavour, kv::Version start)
      : optimistic_(flavour == kv::Flavour::kOptimistic),
        store_({.flavour = flavour, .start_version = start}) {}
  kv::Store& store() override { return store_; }
  void pass(std::int64_t ms) override { store_.pass(ms); }
  bool vanish() override {
    if (optimistic_) store_.vanish([](std::string_view) { return true; });
    return optimistic_;
  }
  std::unique_ptr<kv::Store> another() override {
    return optimistic_ ? store_.open_another() : nullptr;
  }

 private:
  const bool optimistic_;
  kv::MemoryStore store_;
};

Backend memory(std::string name, kv::Flavour flavour) {
  return {.name = std::move(name),
          .optimistic = flavour == kv::Flavour::kOptimistic,
          .open_at = [flavour](kv::Version start) {
            return std::make_unique<OpenedMemory>(flavour, start);
          }};
}

#ifdef LOCKKEEPER_CONTRACT_LMDB
class OpenedLmdb final : public Opened {
 public:
  explicit OpenedLmdb(kv::Durability durability) {
    kv::LmdbOptions options;
    options.folder = folder_.file("store");
    options.create = true;
    options.durability = durability;
    options.boot_id = "one boot";
    options.clock = &clock_;
    auto store = kv::LmdbStore::open(std::move(options));
    EXPECT_TRUE(store.has_value()) << store.error().message;
    LOCKKEEPER_ASSERT(store.has_value());
    store_ = std::move(*store);
  }
  kv::Store& store() override { return *store_; }

 private:
  TestFolder folder_;
  SystemClock clock_;
  std::unique_ptr<kv::LmdbStore> store_;
};

Backend lmdb(std::string name, kv::Durability durability) {
  return {
      .name = std::move(name),
      .syncs = durability == kv::Durability::kFull,
      .open_at = [durability](kv::Version) { return std::make_unique<OpenedLmdb>(durability); }};
}
#endif

#ifdef LOCKKEEPER_CONTRACT_ETCD
constexpr std::chrono::seconds kCopyIsThere{30};

std::unique_ptr<kv::EtcdStore> open_etcd(bool copies) {
  kv::EtcdOptions options;
  if (!copies) options.copy_bytes_max = 0;
  auto store = etcd_testing::open_store(
      etcd_testing::shared_cluster().url(etcd_testing::fresh_prefix()), "", std::move(options));
  EXPECT_EQ(copies, store->wait_for_copy(std::chrono::steady_clock::now() + kCopyIsThere));
  return store;
}

class OpenedEtcd final : public Opened {
 public:
  explicit OpenedEtcd(bool copies) : store_(open_etcd(copies)) {}
  kv::Store& store() override { return *store_; }

 private:
  const std::unique_ptr<kv::EtcdStore> store_;
};

Backend etcd(std::string name, bool copies) {
  return {.name = std::move(name),
          .optimistic = true,
          .far = true,
          .copies = copies,
          .open_at = [copies](kv::Version) { return std::make_unique<OpenedEtcd>(copies); }};
}
#endif

}  // namespace

const std::vector<Backend>& backends() {
  static const std::vector<Backend> all = [] {
    std::vector<Backend> made;
    made.push_back(memory("memory_pessimistic", kv::Flavour::kPessimistic));
    made.push_back(memory("memory_optimistic", kv::Flavour::kOptimistic));
#ifdef LOCKKEEPER_CONTRACT_LMDB
    made.push_back(lmdb("lmdb_process", kv::Durability::kProcess));
    made.push_back(lmdb("lmdb_full", kv::Durability::kFull));
#endif
#ifdef LOCKKEEPER_CONTRACT_ETCD
    if (etcd_testing::programs()) {
      made.push_back(etcd("etcd", false));
      made.push_back(etcd("etcd_copy", true));
    }
#endif
    return made;
  }();
  return all;
}

}  // namespace lockkeeper::contract
