// For tests alone: a realm in a fresh repository, its table on the real store, and a clock that a
// test moves.
#pragma once

#include <memory>

#include "base/random.h"
#include "host/process.h"
#include "kv/lmdb/lmdb_store.h"
#include "service/locks.h"
#include "service/test_repository.h"

namespace lockkeeper::service {

class MovedClock final : public Clock {
 public:
  Now now() const override {
    Now now = system_.now();
    now.mono_ms += ahead_ms;
    now.wall_ms += ahead_ms;
    return now;
  }
  std::int64_t ahead_ms = 0;

 private:
  SystemClock system_;
};

// One process's view; several in one test are several processes.
class TestTable {
 public:
  TestTable() {
    files.init("repo");
    runtime.clock = &clock;
    runtime.random = &random;
    runtime.env = files.env();
    runtime.open_store = [this](const StoreRequest& request) { return open(request); };
    realm = find_realm({.explicit_dir = files.at("repo"),
                        .resources = {},
                        .cwd = files.at("repo"),
                        .env = files.env()})
                .value();
  }

  // With the settings as they are now.
  std::unique_ptr<LockTable> table() const {
    return std::make_unique<LockTable>(runtime, realm, load_settings(realm, runtime.env).value());
  }

  TestRepository files;
  MovedClock clock;
  SystemRandom random;
  Runtime runtime;
  Realm realm;

 private:
  Result<std::unique_ptr<kv::Store>> open(const StoreRequest& request) const {
    kv::LmdbOptions options;
    options.folder = request.realm.store_folder;
    options.create = request.create;
    options.epoch_copy = request.realm.epoch_copy;
    options.boot_id = host::boot_id().value();
    options.clock = &clock;
    LK_ASSIGN(std::unique_ptr<kv::Store> store, kv::LmdbStore::open(std::move(options)));
    return store;
  }
};

}  // namespace lockkeeper::service
