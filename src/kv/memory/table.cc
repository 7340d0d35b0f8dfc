#include "kv/memory/table.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace lockkeeper::kv::internal {

namespace {

// The newest entry not younger than `at`, or null.
const Entry* entry_at(const Cell& cell, Version at) {
  const Entry* entry = cell.newest.get();
  while (entry != nullptr && entry->modified > at) entry = entry->older.get();
  return entry;
}

// The same, but an erasure counts as no row.
const Entry* row_at(const Cell& cell, Version at) {
  const Entry* entry = entry_at(cell, at);
  return entry == nullptr || entry->erased ? nullptr : entry;
}

}  // namespace

void Cell::drop_older(Entry& entry) {
  std::unique_ptr<Entry> old = std::move(entry.older);
  while (old != nullptr) old = std::move(old->older);
}

std::size_t Table::entries() const {
  std::size_t count = 0;
  for (const auto& [key, cell] : cells_) {
    for (const Entry* entry = cell.newest.get(); entry != nullptr; entry = entry->older.get()) {
      ++count;
    }
  }
  return count;
}

void Table::pin(Version version) {
  LOCKKEEPER_ASSERT(version <= version_);
  LOCKKEEPER_ASSERT(pins_.empty() || pins_.back().version <= version);
  if (!pins_.empty() && pins_.back().version == version) {
    ++pins_.back().count;
  } else {
    pins_.push_back({version, 1});
  }
}

void Table::unpin(Version version) {
  const auto pin = std::lower_bound(pins_.begin(), pins_.end(), version,
                                    [](const Pin& p, Version v) { return p.version < v; });
  LOCKKEEPER_ASSERT(pin != pins_.end() && pin->version == version && pin->count > 0);
  --pin->count;
  while (!pins_.empty() && pins_.front().count == 0) pins_.pop_front();
  while (!pins_.empty() && pins_.back().count == 0) pins_.pop_back();
  collect();
}

Table::Found Table::find(std::string_view key, Version at) const {
  const auto cell = cells_.find(key);
  if (cell == cells_.end()) return {cell, nullptr};
  return {cell, row_at(cell->second, at)};
}

Table::Found Table::first(std::string_view from, std::string_view to, Version at) const {
  for (auto cell = cells_.lower_bound(from); cell != cells_.end() && cell->first < to; ++cell) {
    if (const Entry* entry = row_at(cell->second, at)) return {cell, entry};
  }
  return {cells_.end(), nullptr};
}

Table::Found Table::next(Map::const_iterator behind, std::string_view to, Version at) const {
  for (auto cell = std::next(behind); cell != cells_.end() && cell->first < to; ++cell) {
    if (const Entry* entry = row_at(cell->second, at)) return {cell, entry};
  }
  return {cells_.end(), nullptr};
}

Table::Found Table::last(std::string_view from, std::string_view to, Version at) const {
  if (from >= to) return {cells_.end(), nullptr};
  return previous(cells_.lower_bound(to), from, at);
}

Table::Found Table::previous(Map::const_iterator before, std::string_view from, Version at) const {
  for (auto cell = before; cell != cells_.begin();) {
    --cell;
    if (cell->first < from) break;
    if (const Entry* entry = row_at(cell->second, at)) return {cell, entry};
  }
  return {cells_.end(), nullptr};
}

bool Table::modified_since(std::string_view from, std::string_view to, Version since) const {
  if (version_ <= since) return false;
  for (auto cell = cells_.lower_bound(from); cell != cells_.end() && cell->first < to; ++cell) {
    const Entry& newest = *cell->second.newest;
    if (!newest.erased && newest.modified > since) return true;
  }
  return false;
}

void Table::put(std::string_view key, std::string value, Life life) {
  const Version version = version_ + 1;
  auto at = cells_.lower_bound(key);
  if (at == cells_.end() || at->first != key) {
    at = cells_.try_emplace(at, std::string(key));
    at->second.newest->created = version;
    at->second.newest->modified = version;
    at->second.newest->vanishes_ms = life.vanishes_ms;
    at->second.newest->opened = life.opened;
    at->second.newest->value = std::move(value);
    return;
  }
  const bool exists = !at->second.newest->erased;
  const Version created = exists ? at->second.newest->created : version;
  Entry& entry = writable(at);
  entry.created = created;
  entry.modified = version;
  entry.erased = false;
  entry.vanishes_ms = life.vanishes_ms;
  entry.opened = life.opened;
  entry.value = std::move(value);
  if (entry.older != nullptr) tidy_later(at);
}

bool Table::erase(std::string_view key) {
  const auto at = cells_.find(key);
  if (at == cells_.end() || at->second.newest->erased) return false;
  Entry& entry = writable(at);
  if (entry.older == nullptr && !at->second.queued) {
    cells_.erase(at);  // nobody can see it: no need to remember the erasure
    return true;
  }
  entry.created = 0;
  entry.modified = version_ + 1;
  entry.erased = true;
  entry.vanishes_ms = kNever;
  entry.opened = 0;
  entry.value.clear();
  tidy_later(at);
  return true;
}

void Table::closed(std::uint64_t opened, std::int64_t vanishes_ms) {
  for (auto& [key, cell] : cells_) {
    if (cell.newest->opened != opened) continue;
    cell.newest->vanishes_ms = vanishes_ms;
    cell.newest->opened = 0;
  }
}

std::vector<std::string> Table::vanishing(std::int64_t now_ms) const {
  std::vector<std::string> keys;
  for (const auto& [key, cell] : cells_) {
    if (!cell.newest->erased && cell.newest->vanishes_ms < now_ms) keys.push_back(key);
  }
  return keys;
}

void Table::advance() {
  ++version_;
  collect();
}

Entry& Table::writable(Map::iterator at) {
  Cell& cell = at->second;
  const bool needed = !pins_.empty() && pins_.back().version >= cell.newest->modified;
  if (needed) {
    auto fresh = std::make_unique<Entry>();
    fresh->older = std::move(cell.newest);
    cell.newest = std::move(fresh);
  }
  return *cell.newest;
}

void Table::tidy_later(Map::iterator at) {
  if (at->second.queued) return;
  at->second.queued = true;
  garbage_.push_back({at->second.newest->modified, at});
}

void Table::collect() {
  const Version needed = oldest_needed();
  while (!garbage_.empty() && garbage_.front().version <= needed) {
    const auto at = garbage_.front().at;
    garbage_.pop_front();
    Cell& cell = at->second;
    cell.queued = false;
    Entry* entry = cell.newest.get();
    while (entry != nullptr && entry->modified > needed) entry = entry->older.get();
    if (entry != nullptr) Cell::drop_older(*entry);
    if (entry != nullptr && entry == cell.newest.get() && entry->erased) {
      cells_.erase(at);
    } else if (cell.newest->older != nullptr || cell.newest->erased) {
      tidy_later(at);  // written again meanwhile: wait for the newest version
    }
  }
}

}  // namespace lockkeeper::kv::internal
