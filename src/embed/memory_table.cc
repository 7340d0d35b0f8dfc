#include "embed/memory_table.h"

#include <algorithm>
#include <chrono>

#include "base/assert.h"
#include "wiring/memory_store.h"

namespace lockkeeper::embed {
namespace {

constexpr std::chrono::milliseconds kLookAgain(100);  // of real time

}  // namespace

Now ManualTime::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

void ManualTime::advance(std::int64_t ms) {
  LOCKKEEPER_ASSERT(ms >= 0);
  std::vector<Listener> listeners;
  {
    const std::lock_guard lock(mutex_);
    now_.mono_ms += ms;
    now_.wall_ms += ms;
    std::erase_if(listeners_, [](const Listener& one) { return one.life.expired(); });
    listeners = listeners_;
  }
  for (auto one = listeners.rbegin(); one != listeners.rend(); ++one) {
    if (const auto life = one->life.lock()) one->moved();
  }
}

void ManualTime::listen(std::weak_ptr<void> life, std::function<void()> moved) {
  const std::lock_guard lock(mutex_);
  listeners_.push_back({std::move(life), std::move(moved)});
}

std::shared_ptr<MemoryTable> MemoryTable::make(std::shared_ptr<ManualTime> time) {
  std::shared_ptr<MemoryTable> table(new MemoryTable(std::move(time)));
  table->time_->listen(table, [raw = table.get()] { raw->wake_all(); });
  return table;
}

MemoryTable::MemoryTable(std::shared_ptr<ManualTime> time)
    : time_(std::move(time)), store_(wiring::make_memory_store()) {}

std::unique_ptr<kv::Store> MemoryTable::open_store() const {
  return wiring::share_store(store_);
}

std::uint32_t MemoryTable::word(std::uint64_t id) const {
  const auto found = words_.find(id);
  return steps_ + (found == words_.end() ? 0 : found->second);
}

std::uint32_t MemoryTable::read(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  return word(id);
}

host::Woken MemoryTable::wait(std::uint64_t id, std::uint32_t seen, std::int64_t) const {
  std::unique_lock lock(mutex_);
  woken_.wait_for(lock, kLookAgain, [&] { return word(id) != seen; });
  return host::Woken::kWake;
}

void MemoryTable::wake(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  ++words_[id];
  woken_.notify_all();
}

void MemoryTable::wake_all() const {
  const std::lock_guard lock(mutex_);
  ++steps_;
  woken_.notify_all();
}

std::uint64_t MemoryTable::take_slot() {
  const std::lock_guard lock(mutex_);
  slots_.insert(++last_slot_);
  return last_slot_;
}

void MemoryTable::end_slot(std::uint64_t slot) {
  {
    const std::lock_guard lock(mutex_);
    slots_.erase(slot);
  }
  wake_all();
}

core::Alive MemoryTable::probe(const core::Attachment& attachment) const {
  if (attachment.slot == 0) return core::Alive::kUnknown;
  const std::lock_guard lock(mutex_);
  return slots_.contains(attachment.slot) ? core::Alive::kAlive : core::Alive::kDead;
}

}  // namespace lockkeeper::embed
