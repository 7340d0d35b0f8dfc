// The embedded store: LMDB behind a gate of our own, any number of processes, no daemon. See
// docs/internals/store.md for the formats, the measurements and what is not detected.
//
// Thread safety: as kv::Store. A thread may have one transaction open at a time: a second could
// wait forever for the first.
//
// Fork: a child may use a store that it inherited; it opens its own descriptions at the next
// begin(). A transaction that was open at the fork belongs to the parent. The child can only
// destroy it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "kv/lmdb/options.h"
#include "kv/store.h"

namespace lockkeeper::kv {

class LmdbStore final : public Store {
 public:
  // Opens or creates the store in options.folder.
  //   not_found          there is none, and options.create is false; nothing was created
  //   store_corrupt      lost, emptied, truncated, damaged, foreign or rolled back; nothing changed
  //   store_unavailable  no permission, a refused filesystem, another time namespace or schema
  //   store_busy         somebody is inside and does not move; named
  // A read-only folder is opened for reading: begin(Access::kWrite) is then store_unavailable. An
  // existing store keeps its durability; see set_durability().
  static Result<std::unique_ptr<LmdbStore>> open(LmdbOptions options);
  ~LmdbStore() override;  // REQUIRES: no transaction is left
  LmdbStore(const LmdbStore&) = delete;
  LmdbStore& operator=(const LmdbStore&) = delete;

  // Opens the files again if they were replaced or the epoch has changed. store_corrupt: they were
  // rolled back or deleted.
  Result<std::unique_ptr<Txn>> begin(Access access) override;
  Budget budget() const override { return {}; }
  Epoch epoch() const override;

  // The durability in force, which may differ from the options.
  Durability durability() const;

  // Changes the store's durability for all processes. From kProcess to kFull, everything is synced
  // first. From kFull to kProcess, earlier grants no longer survive a reboot.
  Result<void> set_durability(Durability durability);

  // This open found a kProcess store of an earlier boot and started an empty one.
  bool recreated_after_reboot() const;

  // Reads every page and every row, alone in the store. store_corrupt names the first fault.
  struct Verified {
    std::uint64_t rows = 0;
    std::uint64_t digest = 0;
    std::uint64_t file_bytes = 0;
    Version version = 0;
  };
  Result<Verified> verify();

 private:
  struct State;
  explicit LmdbStore(LmdbOptions options);
  State& state() const;

  const LmdbOptions options_;
  // Replaced in a forked child, which leaves its parent's alone.
  mutable std::atomic<State*> state_;
};

}  // namespace lockkeeper::kv
