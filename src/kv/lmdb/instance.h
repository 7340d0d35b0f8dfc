// One opened life of a store: its gate, its environment, its epoch. All stores of a process with
// the same folder share one. It never changes; when the files change, another one is opened.
//
// Thread safety: all methods.
#pragma once

#include <memory>
#include <shared_mutex>

#include "kv/lmdb/env.h"
#include "kv/lmdb/epoch.h"
#include "kv/lmdb/gate.h"
#include "kv/lmdb/lmdb_txn.h"
#include "kv/lmdb/options.h"
#include "kv/lmdb/prepare.h"

namespace lockkeeper::kv::internal {

class Instance : public std::enable_shared_from_this<Instance> {
 public:
  // As LmdbStore::open().
  static Result<std::shared_ptr<Instance>> open(const LmdbOptions& options);

  // Begins a transaction. Null: the files are not those that were opened, or somebody else changed
  // them; open another instance.
  Result<std::unique_ptr<LmdbTxn>> begin(Access access, int patience_ms);

  const EpochRecord& epoch() const { return epoch_; }
  bool recreated_after_reboot() const { return recreated_; }
  bool read_only() const { return gate_->read_only(); }
  Gate& gate() const { return *gate_; }
  Env& env() const { return *env_; }
  const Place& place() const { return place_; }
  std::shared_mutex& local() { return local_; }

  // Reserves disk space for a commit; see CommitHooks::make_room().
  Result<void> make_room(MDB_txn* txn, const CommitHooks::Demand& demand, std::uint64_t data_bytes);
  // The same inside a transaction that writes through the map: enough for twice as much.
  Result<void> keep_room(MDB_txn* txn, const CommitHooks::Demand& demand);
  // Records the data file as the last write left it. REQUIRES: inside the gate as a writer.
  void note_data(Version version);

 private:
  explicit Instance(const LmdbOptions& options) : place_(options) {}

  Result<void> open_gate();
  void expect_open(Durability durability);
  Result<void> load();
  Result<void> load_prepared(bool& prepared);
  Result<std::uint64_t> fits() const;
  Result<int> begin_lmdb(Access access, MDB_txn*& txn);
  Result<void> grow_map();
  Result<void> extend(std::uint64_t pages);
  Result<void> reserve(std::uint64_t pages);

  // Constant after open().
  Place place_;
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<Env> env_;
  EpochRecord epoch_;
  bool recreated_ = false;

  // Exclusive in write transactions and while the map changes, shared in reads. The gate already
  // excludes threads of one process from each other; this shows it to the sanitizers.
  std::shared_mutex local_;
};

}  // namespace lockkeeper::kv::internal
