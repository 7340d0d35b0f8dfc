#include "kv/memory/memory_store.h"

#include <algorithm>

#include "base/assert.h"
#include "kv/memory/memory_txn.h"

namespace lockkeeper::kv {

namespace {

std::unexpected<Error> down() {
  return fail(Code::kStoreUnavailable, "the memory store has crashed", "open it again");
}

}  // namespace

// The store as another machine has it.
class AnotherStore final : public Store {
 public:
  AnotherStore(MemoryStore& store, std::uint64_t opened, Epoch epoch)
      : store_(store), opened_(opened), epoch_(epoch) {}
  ~AnotherStore() override { store_.close(opened_); }
  AnotherStore(const AnotherStore&) = delete;
  AnotherStore& operator=(const AnotherStore&) = delete;

  Result<std::unique_ptr<Txn>> begin(Access access) override {
    return store_.begin_for(opened_, epoch_.id, access);
  }
  Budget budget() const override { return store_.budget(); }
  Epoch epoch() const override { return epoch_; }

 private:
  MemoryStore& store_;
  const std::uint64_t opened_;
  const Epoch epoch_;
};

MemoryStore::MemoryStore(MemoryOptions options)
    : flavour_(options.flavour),
      guards_max_(options.guards_max),
      table_(options.start_version),
      epoch_(options.epoch) {}

MemoryStore::~MemoryStore() {
  LOCKKEEPER_ASSERT(open_txns_ == 0);
}

Result<std::unique_ptr<Txn>> MemoryStore::begin(Access access) {
  std::unique_lock lock(mutex_);
  if (down_) return down();
  if (flavour_ == Flavour::kPessimistic && !enter(lock, access)) return down();
  ++open_txns_;
  return std::make_unique<MemoryTxn>(*this, access, own_, epoch_.id);
}

Result<std::unique_ptr<Txn>> MemoryStore::begin_for(std::uint64_t opened, std::uint64_t epoch,
                                                    Access access) {
  const std::lock_guard lock(mutex_);
  if (down_) return down();
  ++open_txns_;
  return std::make_unique<MemoryTxn>(*this, access, opened, epoch);
}

std::unique_ptr<Store> MemoryStore::open_another(std::int64_t start_mono_ms) {
  LOCKKEEPER_ASSERT(flavour_ == Flavour::kOptimistic);
  const std::lock_guard lock(mutex_);
  Epoch epoch = epoch_;
  epoch.start_mono_ms = start_mono_ms;
  open_.insert(++opened_);
  return std::make_unique<AnotherStore>(*this, opened_, epoch);
}

void MemoryStore::close(std::uint64_t opened) {
  const std::lock_guard lock(mutex_);
  open_.erase(opened);
  table_.closed(opened, now_ms_ + kAfterOpenMs);
}

void MemoryStore::begin_epoch(Epoch epoch) {
  LOCKKEEPER_ASSERT(flavour_ == Flavour::kOptimistic);
  const std::lock_guard lock(mutex_);
  LOCKKEEPER_ASSERT(epoch.id > epoch_.id);
  epoch_ = epoch;
}

bool MemoryStore::enter(std::unique_lock<std::mutex>& lock, Access access) {
  const auto self = std::this_thread::get_id();
  LOCKKEEPER_ASSERT(std::ranges::find(inside_, self) == inside_.end());
  inside_.push_back(self);
  const std::uint64_t life = life_;
  const std::uint64_t ticket = next_ticket_++;
  const bool write = access == Access::kWrite;
  turn_.wait(lock, [&] {
    if (life != life_) return true;
    return serving_ == ticket && !writing_ && !(write && readers_ > 0);
  });
  if (life != life_) return false;  // crash() has forgotten all that were inside
  ++serving_;
  if (write) {
    writing_ = true;
  } else {
    ++readers_;
  }
  turn_.notify_all();
  return true;
}

void MemoryStore::leave(Access access, std::thread::id thread) {
  if (access == Access::kWrite) {
    writing_ = false;
  } else {
    --readers_;
  }
  std::erase(inside_, thread);
  turn_.notify_all();
}

Budget MemoryStore::budget() const {
  if (flavour_ == Flavour::kPessimistic) return {};
  return {.guards = guards_max_, .writes = kOptimisticWritesMax};
}

Epoch MemoryStore::epoch() const {
  const std::lock_guard lock(mutex_);
  return epoch_;
}

void MemoryStore::crash() {
  const std::lock_guard lock(mutex_);
  down_ = true;
  ++life_;
  open_.erase(own_);
  table_.closed(own_, now_ms_ + kAfterOpenMs);
  own_ = ++opened_;
  open_.insert(own_);
  next_ticket_ = 0;
  serving_ = 0;
  writing_ = false;
  readers_ = 0;
  inside_.clear();
  turn_.notify_all();
}

void MemoryStore::reopen(Epoch epoch) {
  const std::lock_guard lock(mutex_);
  LOCKKEEPER_ASSERT(down_);
  LOCKKEEPER_ASSERT(epoch.id > epoch_.id);
  down_ = false;
  epoch_ = epoch;
}

void MemoryStore::pass(std::int64_t ms) {
  const std::lock_guard lock(mutex_);
  now_ms_ += ms;
}

std::size_t MemoryStore::vanish(const std::function<bool(std::string_view)>& chosen) {
  LOCKKEEPER_ASSERT(flavour_ == Flavour::kOptimistic);
  const std::lock_guard lock(mutex_);
  std::size_t gone = 0;
  for (const std::string& key : table_.vanishing(now_ms_)) {
    if (chosen(key) && table_.erase(key)) ++gone;
  }
  if (gone > 0) table_.advance();
  return gone;
}

Version MemoryStore::version() const {
  const std::lock_guard lock(mutex_);
  return table_.version();
}

std::size_t MemoryStore::versions() const {
  const std::lock_guard lock(mutex_);
  return table_.entries();
}

std::size_t MemoryStore::open_txns() const {
  const std::lock_guard lock(mutex_);
  return open_txns_;
}

}  // namespace lockkeeper::kv
