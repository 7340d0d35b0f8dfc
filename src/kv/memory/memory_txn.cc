#include "kv/memory/memory_txn.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/assert.h"

namespace lockkeeper::kv {

namespace {

Row to_row(const internal::Table::Found& found) {
  return {found.at->first, found.entry->value, found.entry->created, found.entry->modified};
}

}  // namespace

MemoryTxn::MemoryTxn(MemoryStore& store, Access access, std::uint64_t opened, std::uint64_t epoch)
    : store_(store),
      access_(access),
      opened_(opened),
      epoch_(epoch),
      life_(store.life_),
      snapshot_(store.table_.version()),
      thread_(std::this_thread::get_id()) {
  store_.table_.pin(snapshot_);
}

MemoryTxn::~MemoryTxn() {
  const std::lock_guard lock(store_.mutex_);
  if (pinned_) store_.table_.unpin(snapshot_);
  --store_.open_txns_;
  if (!optimistic() && life_ == store_.life_) store_.leave(access_, thread_);
}

Result<void> MemoryTxn::alive() const {
  LOCKKEEPER_ASSERT(!ended_);
  if (life_ == store_.life_) return {};
  return fail(Code::kStoreUnavailable, "the memory store crashed during this transaction",
              "begin again");
}

Row MemoryTxn::own_row(const Writes::value_type& write) const {
  Row row{write.first, *write.second.value, 0, 0};
  const auto base = store_.table_.find(write.first, snapshot_);
  if (base.entry != nullptr) row.created = base.entry->created;
  return row;
}

Result<std::optional<Row>> MemoryTxn::get(std::string_view key, Read read) {
  const std::lock_guard lock(store_.mutex_);
  LK_CHECK(alive());
  // Its own writes cannot change under it: no guard.
  if (const auto own = writes_.find(key); own != writes_.end()) {
    if (!own->second.value) return std::nullopt;
    return own_row(*own);
  }
  const auto found = store_.table_.find(key, snapshot_);
  if (guards_reads(read)) guards_.point(key, found.entry == nullptr ? 0 : found.entry->modified);
  if (found.entry == nullptr) return std::nullopt;
  return to_row(found);
}

Result<void> MemoryTxn::scan(const Range& range, const Visit& visit, Read read) {
  return walk(range, visit, read, true);
}

Result<void> MemoryTxn::scan_back(const Range& range, const Visit& visit) {
  return walk(range, visit, Read::kPeek, false);
}

// Merges the pinned rows with the overlay. The mutex is not held during a visit: the visitor may
// read through this transaction, and other threads go on. The position stays valid, because this
// transaction's pin keeps its row.
Result<void> MemoryTxn::walk(const Range& range, const Visit& visit, Read read, bool forward) {
  const bool guarded = guards_reads(read);
  const internal::Table& table = store_.table_;
  std::unique_lock lock(store_.mutex_);
  LK_CHECK(alive());
  if (range.from >= range.to) return {};

  auto base = forward ? table.first(range.from, range.to, snapshot_)
                      : table.last(range.from, range.to, snapshot_);
  const auto step_base = [&] {
    base = forward ? table.next(base.at, range.to, snapshot_)
                   : table.previous(base.at, range.from, snapshot_);
  };
  auto own = writes_.lower_bound(forward ? range.from : range.to);
  const auto current_own = [&]() -> const Writes::value_type* {
    if (forward) return own != writes_.end() && own->first < range.to ? &*own : nullptr;
    if (own == writes_.begin()) return nullptr;
    const auto& before = *std::prev(own);
    return before.first >= range.from ? &before : nullptr;
  };

  bool base_seen = false;
  std::string_view last;
  const auto seal = [&](std::string_view to) {
    if (!guarded) return;
    if (base_seen) {
      guards_.unwritten_range(range.from, to);
    } else {
      guards_.empty_range(range.from, to);
    }
  };
  while (true) {
    const Writes::value_type* mine = current_own();
    if (base.entry == nullptr && mine == nullptr) break;
    const int order = base.entry == nullptr ? -1
                      : mine == nullptr     ? 1
                      : forward             ? mine->first.compare(base.at->first)
                                            : base.at->first.compare(mine->first);
    const bool from_base = order >= 0;
    std::optional<Row> row;  // none: an own erasure
    if (order <= 0) {
      if (forward)
        ++own;
      else
        --own;
      if (mine->second.value) row = own_row(*mine);
    } else {
      row = to_row(base);
      if (guarded) guards_.point(row->key, row->modified);
    }
    base_seen = base_seen || from_base;
    if (row) {
      last = row->key;
      lock.unlock();
      ++visiting_;
      const bool more = visit(*row);
      --visiting_;
      lock.lock();
      LK_CHECK(alive());
      if (!more) {
        seal(key_behind(last));
        return {};
      }
    }
    if (from_base) step_base();
  }
  seal(range.to);
  return {};
}

bool MemoryTxn::wrote_in(std::string_view from, std::string_view to) const {
  const auto own = writes_.lower_bound(from);
  return own != writes_.end() && own->first < to;
}

Result<void> MemoryTxn::guard_point(std::string_view key, Version modified) {
  const std::lock_guard lock(store_.mutex_);
  LK_CHECK(alive());
  LOCKKEEPER_ASSERT(!writes_.contains(key));
  if (optimistic()) {
    guards_.point(key, modified);
    return {};
  }
  const auto found = store_.table_.find(key, snapshot_);
  if ((found.entry == nullptr ? 0 : found.entry->modified) != modified) broken_ = true;
  return {};
}

Result<void> MemoryTxn::guard_absent(std::string_view key) {
  return guard_point(key, 0);
}

Result<void> MemoryTxn::guard_unchanged(std::string_view key, Version modified) {
  LOCKKEEPER_ASSERT(modified != 0);  // 0 is a row of this very transaction
  return guard_point(key, modified);
}

Result<void> MemoryTxn::guard_empty(const Range& range) {
  const std::lock_guard lock(store_.mutex_);
  LK_CHECK(alive());
  LOCKKEEPER_ASSERT(!wrote_in(range.from, range.to));
  if (range.from >= range.to) return {};
  if (optimistic()) {
    guards_.empty_range(range.from, range.to);
    return {};
  }
  if (store_.table_.first(range.from, range.to, snapshot_).entry != nullptr) broken_ = true;
  return {};
}

Result<void> MemoryTxn::room_for_write() const {
  LOCKKEEPER_ASSERT(access_ == Access::kWrite);
  LOCKKEEPER_ASSERT(visiting_ == 0);
  const std::size_t max = store_.budget().writes;
  if (writes_.size() + appends_.size() < max) return {};
  return fail(Code::kLimitExceeded,
              "more than " + std::to_string(max) + " writes in one transaction",
              "ask for fewer resources at a time");
}

Result<void> MemoryTxn::put(std::string_view key, std::string_view value, Lifetime lifetime) {
  LOCKKEEPER_ASSERT(!key.empty());
  LK_CHECK(check_lengths(key.size(), value.size()));
  const std::lock_guard lock(store_.mutex_);
  LK_CHECK(alive());
  auto own = writes_.lower_bound(key);
  if (own == writes_.end() || own->first != key) {
    LK_CHECK(room_for_write());
    own = writes_.try_emplace(own, std::string(key));
  }
  own->second.value.emplace(value);
  own->second.lifetime = lifetime;
  put_ = true;
  return {};
}

Result<void> MemoryTxn::erase(std::string_view key) {
  LOCKKEEPER_ASSERT(!key.empty());
  LK_CHECK(check_lengths(key.size(), 0));
  const std::lock_guard lock(store_.mutex_);
  LK_CHECK(alive());
  auto own = writes_.lower_bound(key);
  if (own == writes_.end() || own->first != key) {
    // Kept and counted even if there is no such row: somebody may put it before the commit.
    LK_CHECK(room_for_write());
    own = writes_.try_emplace(own, std::string(key));
  }
  own->second.value.reset();
  return {};
}

Result<void> MemoryTxn::append(std::string_view prefix, std::string_view value) {
  LK_CHECK(check_lengths(prefix.size() + kAppendTailBytes, value.size()));
  const std::lock_guard lock(store_.mutex_);
  LK_CHECK(alive());
  LK_CHECK(room_for_write());
  LK_CHECK(check_appends(appends_.size() + 1));
  appends_.push_back({std::string(prefix), std::string(value)});
  put_ = true;
  return {};
}

Budget MemoryTxn::left() const {
  Budget left = store_.budget();
  if (!optimistic()) return left;
  left.guards -= std::min(left.guards, guards_.size());
  left.writes -= writes_.size() + appends_.size();
  return left;
}

Result<CommitResult> MemoryTxn::commit() {
  const std::lock_guard lock(store_.mutex_);
  auto ok = alive();
  ended_ = true;
  if (!ok) return fail(std::move(ok.error()));
  LOCKKEEPER_ASSERT(visiting_ == 0);
  store_.table_.unpin(snapshot_);
  pinned_ = false;
  if (access_ == Access::kWrite && epoch_ != store_.epoch_.id) {
    return fail(Code::kStoreUnavailable, "a new epoch of the store has begun", "open it again");
  }
  // Counted now, because a search may read more than the decision depends on.
  const std::size_t max = store_.budget().guards;
  if (access_ == Access::kWrite && guards_.size() > max) {
    return fail(Code::kLimitExceeded,
                "more than " + std::to_string(max) + " guards in one transaction",
                "ask for fewer resources at a time");
  }
  if (broken_ || !guards_.hold(store_.table_, snapshot_)) {
    return CommitResult{Fate::kConflict, 0};
  }
  return CommitResult{Fate::kCommitted, apply()};
}

internal::Life MemoryTxn::life_of(Lifetime lifetime) const {
  if (lifetime == kUntilErased) return {};
  if (lifetime != kWhileOpen) return {store_.now_ms_ + lifetime, 0};
  if (store_.open_.contains(opened_)) return {internal::kNever, opened_};
  return {store_.now_ms_ + kAfterOpenMs, 0};  // it arrives after its Store has closed
}

Version MemoryTxn::apply() {
  internal::Table& table = store_.table_;
  const Version version = table.version() + 1;
  bool changed = put_;
  for (auto& [key, write] : writes_) {
    if (write.value) {
      table.put(key, std::move(*write.value), life_of(write.lifetime));
    } else {
      changed = table.erase(key) || changed;
    }
  }
  std::size_t index = 0;
  for (Append& append : appends_) {
    table.put(appended_key(append.prefix, version, index), std::move(append.value));
    ++index;
  }
  if (!changed) return snapshot_;
  table.advance();
  return version;
}

}  // namespace lockkeeper::kv
