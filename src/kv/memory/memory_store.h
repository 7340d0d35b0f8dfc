// The reference store, also used by the simulator: everything in this process's memory, in two
// flavours.
//
// Pessimistic, like lmdb: a write transaction excludes all others from begin() until it is
// destroyed, and readers exclude writers. Turns are taken in order of arrival, so neither starves.
// There is no budget, guarded reads cost nothing, and only an explicit guard can make a commit
// conflict. A thread may have one transaction open: a second could wait forever for the first,
// which would be our bug and is asserted.
//
// Optimistic, like etcd: any number of transactions, even in one thread. Each reads the state at
// its begin(). The commit checks the guards against the newest state. It counts them as etcd counts
// compares: one for each row seen, absent or present, and one for each range; equal ones count
// once.
//
// The clock stands still until pass() moves it. A row whose lifetime is over stays until vanish()
// removes it, as late as the caller likes.
//
// Several machines: open_another() gives further Stores on the same rows, one for each. The
// MemoryStore itself is one of them; for kWhileOpen it closes at a crash.
//
// Thread safety: as kv::Store says.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "kv/memory/table.h"
#include "kv/store.h"

namespace lockkeeper::kv {

enum class Flavour { kPessimistic, kOptimistic };

// The budget of one optimistic commit, a little below etcd's default of 128.
inline constexpr std::size_t kOptimisticGuardsMax = 100;
inline constexpr std::size_t kOptimisticWritesMax = 100;

struct MemoryOptions {
  Flavour flavour = Flavour::kPessimistic;
  Epoch epoch = {.id = 1, .fence_offset = 0, .start_mono_ms = 0};
  Version start_version = 0;  // the version of the empty store; the first commit gets the next
  std::size_t guards_max = kOptimisticGuardsMax;  // of the optimistic flavour
};

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(MemoryOptions options = {});
  ~MemoryStore() override;  // REQUIRES: no transaction is left
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  // Pessimistic: waits for its turn, without a limit. store_unavailable after crash().
  Result<std::unique_ptr<Txn>> begin(Access access) override;
  Budget budget() const override;
  Epoch epoch() const override;

  // Ends the store's process: commits stay, open transactions are void. Every call on them, and
  // begin() until reopen(), answers store_unavailable.
  void crash();

  // Starts again under a new epoch. REQUIRES: crashed; epoch.id has grown.
  void reopen(Epoch epoch);

  // The store of another machine, on the same rows. Destroying it closes it; a commit of it that is
  // still under way may arrive later. `start_mono_ms`: of its epoch, on its own machine's clock.
  // REQUIRES: optimistic; this outlives it.
  std::unique_ptr<Store> open_another(std::int64_t start_mono_ms = 0);

  // Begins an epoch while Stores are open, as a repair does. Those commit nothing more. The
  // MemoryStore itself goes on in the new one. REQUIRES: optimistic; epoch.id has grown.
  void begin_epoch(Epoch epoch);

  // Lifetimes. vanish() removes the rows that are over and `chosen`, in a version of its own,
  // outside all transactions, and returns how many. REQUIRES: optimistic.
  void pass(std::int64_t ms);
  std::size_t vanish(const std::function<bool(std::string_view key)>& chosen);

  Version version() const;        // of the newest commit
  std::size_t versions() const;   // of rows, including those kept only for open transactions
  std::size_t open_txns() const;  // not destroyed yet, including void ones

 private:
  friend class MemoryTxn;
  friend class AnotherStore;

  Result<std::unique_ptr<Txn>> begin_for(std::uint64_t opened, std::uint64_t epoch, Access access);
  void close(std::uint64_t opened);
  // Waits for this transaction's turn. False: the store crashed meanwhile.
  bool enter(std::unique_lock<std::mutex>& lock, Access access);
  void leave(Access access, std::thread::id thread);

  const Flavour flavour_;
  const std::size_t guards_max_;

  // Protected by mutex_.
  mutable std::mutex mutex_;
  internal::Table table_;
  Epoch epoch_;
  std::int64_t now_ms_ = 0;
  bool down_ = false;
  std::uint64_t life_ = 0;  // grows at each crash: transactions of an earlier life are void
  std::size_t open_txns_ = 0;
  std::uint64_t own_ = 1;               // this Store among those on these rows
  std::uint64_t opened_ = 1;            // the last one
  std::set<std::uint64_t> open_ = {1};  // those that are open

  // The turns of the pessimistic flavour, of this life; protected by mutex_.
  std::condition_variable turn_;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t serving_ = 0;
  bool writing_ = false;
  std::size_t readers_ = 0;
  std::vector<std::thread::id> inside_;  // threads that have one open or wait for it
};

}  // namespace lockkeeper::kv
