// For tests alone: a realm in a fresh repository, its table on the real store, and a clock that a
// test moves.
#pragma once

#include <memory>

#include "base/random.h"
#include "host/process.h"
#include "kv/lmdb/lmdb_store.h"
#include "layout/lock_table.h"
#include "realm/test_repository.h"

namespace lockkeeper::layout {

// The real store, as the program opens it.
inline Result<std::unique_ptr<kv::Store>> open_test_store(
    const StoreRequest& request, const Clock& clock,
    kv::Durability durability = kv::LmdbOptions{}.durability) {
  kv::LmdbOptions options;
  options.folder = request.realm.store_folder;
  options.create = request.create;
  options.durability = durability;
  options.epoch_copy = request.realm.epoch_copy;
  options.clock = &clock;
  LK_ASSIGN(options.boot_id, host::boot_id());
  LK_ASSIGN(std::unique_ptr<kv::Store> store, kv::LmdbStore::open(std::move(options)));
  return store;
}

// One process's view; several in one test are several processes.
class TestTable {
 public:
  TestTable() {
    files.init("repo");
    runtime.clock = &clock;
    runtime.random = &random;
    runtime.env = files.env();
    runtime.open_store = [this](const StoreRequest& request) {
      return open_test_store(request, clock);
    };
    realm = files.realm("repo");
  }

  // With the settings as they are now.
  std::unique_ptr<LockTable> table() const {
    return std::make_unique<LockTable>(runtime, realm,
                                       realm::load_settings(realm, runtime.env).value());
  }

  realm::TestRepository files;
  realm::MovedClock clock;
  SystemRandom random;
  Runtime runtime;
  realm::Realm realm;
};

}  // namespace lockkeeper::layout
