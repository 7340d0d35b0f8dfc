// The reference store and the simulator's: everything in this process's memory, in two flavours.
//
// Pessimistic, as lmdb: a write transaction excludes all others from begin() until it is destroyed,
// readers exclude writers, turns are taken in order of arrival so that neither starves. There is no
// budget, guarded reads cost nothing, and only an explicit guard that does not hold can make a
// commit conflict. One thread has at most one transaction open at a time: a second one could wait
// for ever for the first, which is our bug, and asserted.
//
// Optimistic, as etcd: any number of transactions, also of one thread. Each reads the state at its
// begin(). Guards are checked at the commit against the newest state. They are counted there as
// etcd counts compares: one for each row seen, absent or present, one for each range; equal ones
// once.
//
// Its clock stands still until pass() moves it. A row whose lifetime is over stays until vanish()
// takes it away, as late as the caller likes.
//
// Thread safety: as kv::Store says.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "kv/memory/table.h"
#include "kv/store.h"

namespace lockkeeper::kv {

enum class Flavour { kPessimistic, kOptimistic };

// What one commit of the optimistic flavour may have, a little below etcd's default of 128.
inline constexpr std::size_t kOptimisticGuardsMax = 100;
inline constexpr std::size_t kOptimisticWritesMax = 100;

struct MemoryOptions {
  Flavour flavour = Flavour::kPessimistic;
  Epoch epoch = {.id = 1, .fence_offset = 0, .start_mono_ms = 0};
  Version start_version = 0;  // the version of the empty store; the first commit has the next
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

  // The end of the store's process: what was committed stays, open transactions are void. Every
  // call on them, and begin() until reopen(), answers store_unavailable.
  void crash();

  // The next start, under a new epoch. REQUIRES: crashed; epoch.id has grown.
  void reopen(Epoch epoch);

  // Lifetimes. vanish() takes away what is over and `chosen`, in a version of its own, outside of
  // all transactions; gives how many. REQUIRES: optimistic.
  void pass(std::int64_t ms);
  std::size_t vanish(const std::function<bool(std::string_view key)>& chosen);

  Version version() const;       // of the newest commit
  std::size_t versions() const;  // of rows, with those kept only for open transactions; counts them
  std::size_t open_txns() const;  // not destroyed yet, void ones with them

 private:
  friend class MemoryTxn;

  // Waits for this transaction's turn; false if the store crashed meanwhile.
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

  // The turns of the pessimistic flavour, of this life; protected by mutex_.
  std::condition_variable turn_;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t serving_ = 0;
  bool writing_ = false;
  std::size_t readers_ = 0;
  std::vector<std::thread::id> inside_;  // who has one open or waits for it
};

}  // namespace lockkeeper::kv
