// The store's contract as tests: every sentence of kv/store.h, run on every backend.
//
// A backend joins by a line in backends.cc. A test takes a fresh, empty store; `Tx` is a
// transaction that fails the test on any error, for the cases that are not about errors.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kv/store.h"

namespace lockkeeper::contract {

// A store with whatever it stands on.
class Opened {
 public:
  virtual ~Opened() = default;
  virtual kv::Store& store() = 0;
  // Moves the store's clock; takes away every row whose lifetime is over, if it has lifetimes.
  virtual void pass(std::int64_t /*ms*/) {}
  virtual bool vanish() { return false; }
  // The store of another machine on the same rows; null: only one machine has it.
  virtual std::unique_ptr<kv::Store> another() { return nullptr; }
};

struct Backend {
  std::string name;
  bool optimistic = false;  // many open transactions; a commit may conflict
  bool syncs = false;       // a commit waits for the disk: short runs only
  // Every step waits for another process, which serves other stores too: short runs only. Versions
  // skip numbers, and the keys of appended rows have tickets in place of versions.
  bool far = false;
  // Write transactions read from a copy, so what they have read may be a reason for a conflict even
  // if nothing guards it.
  bool copies = false;
  // A fresh, empty store. `start` is the version it begins at, where that can be chosen.
  std::function<std::unique_ptr<Opened>(kv::Version start)> open_at;

  std::unique_ptr<Opened> open() const { return open_at(0); }
};

inline void PrintTo(const Backend& backend, std::ostream* out) {
  *out << backend.name;
}

// Every backend of this build.
const std::vector<Backend>& backends();
std::vector<Backend> optimistic_backends();

// LOCKKEEPER_SEED, else `otherwise`. Print it where a random test fails.
std::uint64_t test_seed(std::uint64_t otherwise);

inline std::string backend_name(const testing::TestParamInfo<Backend>& info) {
  return info.param.name;
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

class Tx {
 public:
  Tx(kv::Store& store, kv::Access access);

  kv::Txn& operator*() { return *txn_; }
  kv::Txn* operator->() { return txn_.get(); }

  std::optional<std::string> get(std::string_view key, kv::Read read = kv::Read::kGuarded);
  std::optional<kv::Row> row(std::string_view key);
  // Rows of [from, to), at most `most`.
  Pairs scan(const std::string& from, const std::string& to, std::size_t most = SIZE_MAX,
             kv::Read read = kv::Read::kGuarded);
  Pairs scan_back(const std::string& from, const std::string& to, std::size_t most = SIZE_MAX);
  void put(std::string_view key, std::string_view value);
  void erase(std::string_view key);
  void append(std::string_view prefix, std::string_view value);
  void guard_absent(std::string_view key);
  void guard_empty(const std::string& from, const std::string& to);
  void guard_unchanged(std::string_view key, kv::Version modified);

  kv::CommitResult commit();     // and ends the transaction
  kv::Version committed();       // the same; the fate must be kCommitted
  void drop() { txn_.reset(); }  // without a commit

 private:
  std::unique_ptr<kv::Txn> txn_;
};

class Contract : public testing::TestWithParam<Backend> {
 protected:
  Contract() : opened_(GetParam().open()) {}

  kv::Store& store() { return opened_->store(); }
  void pass(std::int64_t ms) { opened_->pass(ms); }
  bool vanish() { return opened_->vanish(); }  // whether this backend keeps lifetimes
  std::unique_ptr<kv::Store> another() { return opened_->another(); }
  Tx read() { return {store(), kv::Access::kRead}; }
  Tx write() { return {store(), kv::Access::kWrite}; }

  // Puts all in one commit; its version.
  kv::Version fill(const Pairs& rows);
  // Every row, read by a transaction of its own.
  Pairs all();
  Pairs all_by_version();  // the same with appended rows as by_version() has them

 private:
  std::unique_ptr<Opened> opened_;
};

// A row's key, but of an appended row the one that backends have which know a commit's version
// while they write it. REQUIRES: no other key has ten bytes that begin with four zeros at its end.
std::string by_version(std::string_view key, kv::Version created);

// "k7" of "k" and 7.
std::string numbered(std::string prefix, std::size_t number);

// The keys of some rows, joined by blanks: short to compare.
std::string keys(const Pairs& rows);

}  // namespace lockkeeper::contract
