#include "core/history.h"

#include <algorithm>

namespace lockkeeper::core {
namespace {

// Events are small and each is counted once, but an old store may have many that were not.
constexpr std::size_t kCountedAtOnce = 4'096;

Result<std::vector<std::string>> oldest(State& state, std::size_t most) {
  std::vector<std::string> keys;
  if (most == 0) return keys;
  LK_CHECK(state.txn().scan_appended(kEventPrefix, 0, [&](const kv::Appended& row) {
    keys.emplace_back(row.key);
    return keys.size() < most;
  }));
  return keys;
}

Result<HistoryCount> read_count(State& state) {
  LK_ASSIGN(const std::optional<kv::Row> row, state.txn().get(kHistoryKey));
  if (!row) return HistoryCount{};
  return decode_history_count(row->value);
}

// Collects events in either direction, for readers.
struct Reading {
  std::vector<Event> events;
  Result<void> readable;
  bool take(const kv::Appended& row, std::size_t most) {
    auto event = decode_event(row);
    if (!event) {
      readable = fail(std::move(event.error()));
      return false;
    }
    events.push_back(std::move(*event));
    return events.size() < most;
  }
};

}  // namespace

Result<std::vector<Event>> events_after(State& state, std::uint64_t after, std::size_t most) {
  Reading reading;
  LK_CHECK(state.txn().scan_appended(
      kEventPrefix, after, [&](const kv::Appended& row) { return reading.take(row, most); }));
  LK_CHECK(reading.readable);
  return std::move(reading.events);
}

Result<std::vector<Event>> last_events(State& state, std::size_t most) {
  Reading reading;
  LK_CHECK(state.txn().scan_appended_back(
      kEventPrefix, [&](const kv::Appended& row) { return reading.take(row, most); }));
  LK_CHECK(reading.readable);
  std::ranges::reverse(reading.events);
  return std::move(reading.events);
}

Result<std::uint64_t> newest_event(State& state) {
  std::uint64_t newest = 0;
  LK_CHECK(state.txn().scan_appended_back(kEventPrefix, [&](const kv::Appended& row) {
    newest = row.number;
    return false;
  }));
  return newest;
}

Result<void> trim_history(State& state, std::size_t most) {
  const std::uint64_t kept = state.context().limits.events_kept;
  LK_ASSIGN(const HistoryCount before, read_count(state));
  HistoryCount count = before;
  std::size_t looked = 0;
  LK_CHECK(state.txn().scan_appended(kEventPrefix, count.counted_to, [&](const kv::Appended& row) {
    count.counted_to = std::max(count.counted_to, row.number);
    ++count.events;
    return ++looked < kCountedAtOnce;
  }));
  const std::size_t room = std::min(most, state.txn().left().writes / 2);
  const std::uint64_t beyond = count.events > kept ? count.events - kept : 0;
  LK_ASSIGN(const std::vector<std::string> old,
            oldest(state, static_cast<std::size_t>(std::min<std::uint64_t>(beyond, room))));
  for (const std::string& key : old) LK_CHECK(state.txn().erase(key));
  count.events -= old.size();
  if (looked == 0 && old.empty()) return {};
  return state.txn().put(kHistoryKey, encode_history_count(count));
}

Result<bool> forget_history(State& state, std::size_t most) {
  const std::size_t room = std::min(most, state.txn().left().writes / 2);
  LK_ASSIGN(const std::vector<std::string> old, oldest(state, room));
  for (const std::string& key : old) LK_CHECK(state.txn().erase(key));
  // The next one that needs the count starts from the beginning.
  LK_CHECK(state.txn().erase(kHistoryKey));
  return old.size() == room;
}

}  // namespace lockkeeper::core
