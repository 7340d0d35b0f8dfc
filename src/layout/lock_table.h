// The realm's lock table as one process uses it: the store, opened when first needed; the file in
// which living processes hold their slots; how waiters sleep and are woken. Runs a piece of work
// inside a transaction, again if the store says so, and wakes afterwards whom the work has granted.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "core/table.h"
#include "host/live_slots.h"
#include "host/waker.h"
#include "layout/runtime.h"

namespace lockkeeper::layout {

class LockTable final : private core::Prober {
 public:
  // Opens nothing yet. `runtime` and what it points to must outlive it.
  LockTable(const Runtime& runtime, realm::Realm realm, realm::Settings settings);

  const realm::Realm& realm() const { return realm_; }
  const realm::Settings& settings() const { return settings_; }
  const Runtime& runtime() const { return runtime_; }

  // Runs `work` in a write transaction and commits; creates the store if there is none. Where the
  // commit is refused, `work` runs again from scratch; where it returns true, it runs again after
  // the commit, for more. `committed` is called after each commit. Gives the last version.
  using Work = std::function<Result<bool>(core::Table&)>;
  Result<kv::Version> write(const Work& work, const std::function<void()>& committed = {});

  using Write = std::function<Result<kv::Version>(const Work&, const std::function<void()>&)>;

  // Runs `work` in a read transaction. False: there is no store, hence nothing is locked; nothing
  // was created and `work` did not run.
  using Look = std::function<Result<void>(core::Table&)>;
  Result<bool> read(const Look& look);

  // This process's own slot, taken when first asked for: alive as long as the process. REQUIRES, as
  // for take_slot(): a realm with files.
  Result<core::Attachment> own_slot();
  // A slot of its own for a command that is to hold it; see host::LiveSlot.
  Result<host::LiveSlot> take_slot();

  // For those who wait. Never null after success.
  Result<host::Waker*> waker();

  core::Alive probe(const core::Attachment& attachment) const override;

  // Fresh and time-ordered: milliseconds, then random bits.
  std::uint64_t new_ticket();

 private:
  Result<kv::Store*> store(bool create);
  Result<void> open_live_slots() const;
  core::Context context(const kv::Store& store);
  std::uint64_t ticket_at(std::int64_t wall_ms);
  std::uint64_t ticket_bits();
  void wake(const std::vector<std::uint64_t>& words);
  std::string file(const char* name) const;

  const Runtime& runtime_;
  const realm::Realm realm_;
  const realm::Settings settings_;

  std::atomic<std::uint64_t> bits_ = 0;     // where the sequence of tickets' random bits stands
  std::atomic<std::uint64_t> bits_of_ = 0;  // for which process it was begun, see ticket_bits()

  mutable std::mutex mutex_;  // protects what is opened late, below
  std::unique_ptr<kv::Store> store_;
  mutable std::optional<host::LiveSlots> slots_;
  std::optional<host::LiveSlot> own_slot_;
  std::unique_ptr<host::Waker> waker_;
};

}  // namespace lockkeeper::layout
