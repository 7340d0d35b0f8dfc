// The realm's lock table as one process uses it: the store, opened when first needed; the file in
// which living processes hold their slots; the waker. Runs work inside a transaction, repeats it if
// the store says so, and afterwards wakes the waiters that were granted.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/sightings.h"
#include "core/table.h"
#include "host/live_slots.h"
#include "host/waker.h"
#include "layout/runtime.h"
#include "layout/turns.h"

namespace lockkeeper::layout {

class LockTable final : private core::Prober {
 public:
  // Opens nothing yet. `runtime` and what it points to must outlive it.
  LockTable(const Runtime& runtime, realm::Realm realm, realm::Settings settings);

  const realm::Realm& realm() const { return realm_; }
  // Valid as long as the table, also after follow_settings().
  const realm::Settings& settings() const { return *settings_.load(); }
  // Reads them again if their files have changed since. invalid_config: see load_settings(); the
  // old ones stay.
  Result<void> follow_settings();
  const Runtime& runtime() const { return runtime_; }

  // The hub that keeps this realm's locks; null: the table is here. With a hub, read() and write()
  // refuse (operation_not_permitted), and slots and wakes are in the relay's folder.
  const realm::Server* server() const { return server_ ? &*server_ : nullptr; }
  // How long ago the last beat was sent that the hub has answered; nullopt: never, or no hub.
  std::optional<std::int64_t> contact_age_ms() const;

  // Runs `work` in a write transaction and commits; creates the store if there is none. If the
  // commit is refused, `work` starts over. If it returns true, it runs again after the commit, for
  // more. Calls `committed` after each commit. Returns the last version.
  using Work = std::function<Result<bool>(core::Table&)>;
  Result<kv::Version> write(const Work& work, const std::function<void()>& committed = {});

  // All that one owner does changes one row (core/rows.h). Where commits would refuse each other
  // for it, they take turns; held around write().
  Turns::Turn turn_of(const core::Owner& owner);

  using Write = std::function<Result<kv::Version>(const Work&, const std::function<void()>&)>;

  // Opens it if it is there.
  Result<bool> has_store();
  // Is the store open, and one that several machines write?
  bool is_shared() const;
  // Runs `look` in a read transaction. False: there is no store, so nothing is locked. Nothing was
  // created, and `look` did not run.
  using Look = std::function<Result<void>(core::Table&)>;
  Result<bool> read(const Look& look);
  // The value that `look` finds in a read transaction; a default one if there is no store.
  template <typename F>
  auto get(const F& look) -> std::invoke_result_t<const F&, core::Table&> {
    typename std::invoke_result_t<const F&, core::Table&>::value_type found{};
    LK_CHECK(read([&](core::Table& table) -> Result<void> {
      LK_ASSIGN(found, look(table));
      return {};
    }));
    return found;
  }

  // This process's own slot, taken when first asked for: alive as long as the process. REQUIRES, as
  // for take_slot(): a realm with files.
  Result<core::Attachment> own_slot();
  // A separate slot, for a command to hold; see host::LiveSlot.
  Result<host::LiveSlot> take_slot();

  // For waiters. Never null after success.
  Result<host::Waker*> waker();
  // These sleep on words of this machine: something of theirs may have changed.
  void wake(const std::vector<std::uint64_t>& words);

  core::Alive probe(const core::Attachment& attachment) const override;
  core::Alive alive(const core::Lease& lease) const { return core::alive_of(lease, *this); }

  // Fresh and time-ordered: milliseconds, then random bits.
  std::uint64_t new_ticket();

 private:
  Result<kv::Store*> store(bool create);
  Result<void> make_slots_folder();
  Result<void> open_live_slots() const;
  core::Context context(const kv::Store& store);
  std::uint64_t ticket_at(std::int64_t wall_ms);
  std::uint64_t ticket_bits();
  std::string file(const char* name) const;

  const Runtime& runtime_;
  const realm::Realm realm_;
  const std::optional<realm::Server> server_;
  std::atomic<const realm::Settings*> settings_;  // the last of those below

  std::atomic<std::uint64_t> bits_ = 0;     // the state of the tickets' random bits
  std::atomic<std::uint64_t> bits_of_ = 0;  // the process they were begun for, see ticket_bits()

  Turns turns_;

  mutable std::mutex mutex_;  // protects everything below
  std::vector<std::unique_ptr<const realm::Settings>> all_settings_;
  // What is opened late:
  std::unique_ptr<kv::Store> store_;
  Sharing sharing_;
  std::unique_ptr<core::Sightings> sightings_;  // null: there is one clock for all
  mutable std::optional<host::LiveSlots> slots_;
  std::optional<host::LiveSlot> own_slot_;
  std::unique_ptr<host::Waker> waker_;
};

}  // namespace lockkeeper::layout
