// The lock table of a MemoryRealm, and the clock that moves it.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "base/clock.h"
#include "core/types.h"
#include "host/waker.h"
#include "kv/store.h"

namespace lockkeeper::embed {

class ManualTime final : public Clock {
 public:
  explicit ManualTime(std::int64_t wall_ms) : now_{.mono_ms = kStartMonoMs, .wall_ms = wall_ms} {}

  Now now() const override;
  void advance(std::int64_t ms);

  // Calls `moved` after each step, as long as `life` lasts. The newest listener comes first: an
  // owner hears of the end of its leases before those that wait for them.
  void listen(std::weak_ptr<void> life, std::function<void()> moved);

 private:
  static constexpr std::int64_t kStartMonoMs = 1'000'000;
  struct Listener {
    std::weak_ptr<void> life;
    std::function<void()> moved;
  };

  mutable std::mutex mutex_;  // protects what follows; not held while a listener is called
  Now now_;
  std::vector<Listener> listeners_;
};

// What owners of one realm share: the store, the words that waiters sleep on, and who is alive.
class MemoryTable final : public host::Waker, public core::Prober {
 public:
  static std::shared_ptr<MemoryTable> make(std::shared_ptr<ManualTime> time);

  const std::shared_ptr<ManualTime>& time() const { return time_; }
  // Another door to the one store.
  std::unique_ptr<kv::Store> open_store() const;

  // Time moves for sleepers only when it is moved. Wakes them now and then for nothing, because
  // wakes are hints.
  std::uint32_t read(std::uint64_t id) const override;
  host::Woken wait(std::uint64_t id, std::uint32_t seen, std::int64_t timeout_ms) const override;
  void wake(std::uint64_t id) const override;

  // What an owner's leases are bound to, in place of a live slot.
  std::uint64_t take_slot();
  void end_slot(std::uint64_t slot);
  core::Alive probe(const core::Attachment& attachment) const override;

 private:
  explicit MemoryTable(std::shared_ptr<ManualTime> time);
  void wake_all() const;
  std::uint32_t word(std::uint64_t id) const;

  const std::shared_ptr<ManualTime> time_;
  const std::shared_ptr<kv::Store> store_;

  mutable std::mutex mutex_;
  mutable std::condition_variable woken_;
  // Protected by mutex_.
  mutable std::map<std::uint64_t, std::uint32_t> words_;  // those that were ever woken
  mutable std::uint32_t steps_ = 0;                       // added to every word
  std::uint64_t last_slot_ = 0;
  std::set<std::uint64_t> slots_;
};

}  // namespace lockkeeper::embed
