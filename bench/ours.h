// A realm of our own in a fresh folder, on the embedded store.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/assert.h"
#include "base/random.h"
#include "kv/lmdb/lmdb_store.h"
#include "service/locks.h"

namespace lockkeeper::bench {

// Hands an open store on to who asks for a kv::Store of its own.
class Borrowed final : public kv::Store {
 public:
  explicit Borrowed(kv::Store& store) : store_(store) {}
  Result<std::unique_ptr<kv::Txn>> begin(kv::Access access) override {
    return store_.begin(access);
  }
  kv::Budget budget() const override { return store_.budget(); }
  kv::Epoch epoch() const override { return store_.epoch(); }

 private:
  kv::Store& store_;
};

struct AlwaysAlive final : core::Prober {
  core::Alive probe(const core::Attachment&) const override { return core::Alive::kAlive; }
};

struct Ours {
  Ours(const std::string& folder, kv::Durability durability, bool fresh = true) {
    if (fresh) std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    realm.root = folder;
    realm.store_folder = folder + "/.lockkeeper";
    LOCKKEEPER_ASSERT(service::create_store_folder(realm));
    kv::LmdbOptions options;
    options.folder = realm.store_folder;
    options.create = true;
    options.durability = durability;
    options.boot_id = "bench";
    options.clock = &clock;
    auto opened = kv::LmdbStore::open(options);
    LOCKKEEPER_ASSERT(opened);
    store = std::move(*opened);
    runtime.clock = &clock;
    runtime.random = &random;
    runtime.env = [](const char*) { return std::nullopt; };
    runtime.open_store =
        [this](const service::StoreRequest&) -> Result<std::unique_ptr<kv::Store>> {
      return std::make_unique<Borrowed>(*store);
    };
  }

  service::LockTable& table() {
    if (!table_) table_ = std::make_unique<service::LockTable>(runtime, realm, service::Settings{});
    return *table_;
  }

  SystemClock clock;
  SystemRandom random;
  AlwaysAlive prober;
  service::Realm realm;
  service::Runtime runtime;
  std::unique_ptr<kv::LmdbStore> store;

 private:
  std::unique_ptr<service::LockTable> table_;
};

}  // namespace lockkeeper::bench
