// The nouns of a store: rows, ranges, versions, the budget of one commit. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lockkeeper::kv {

// Limits, the same for all backends, so that a row that fits one fits all.
inline constexpr std::size_t kKeyBytesMax = 480;
inline constexpr std::size_t kValueBytesMax = 8 << 20;
inline constexpr std::size_t kAppendsMax = 1 << 16;  // appended rows in one transaction

// limit_exceeded beyond them.
Result<void> check_lengths(std::size_t key_bytes, std::size_t value_bytes);
Result<void> check_appends(std::size_t appended);

using Version = std::uint64_t;

// The views of a row that get() returned are valid until the next write or the end of the
// transaction; those of a row that is visited, until the visit returns.
struct Row {
  std::string_view key;
  std::string_view value;
  Version created = 0;  // 0: written by this transaction, version not known yet
  Version modified = 0;
};

// A row that was appended. Its number rises with the commits, and within one commit with the calls.
// The number never changes, and no other row of the prefix gets it (unless a commit appends more
// than kNumbersPerVersion rows).
struct Appended {
  std::uint64_t number = 0;  // 0: its key is damaged
  std::string_view key;      // to erase it; each backend has its own form
  std::string_view value;
  Version created = 0;
};

// Half-open: from <= key < to.
struct Range {
  std::string from;
  std::string to;
};

// The keys that begin with `prefix`. REQUIRES: prefix is neither empty nor all 0xff.
Range prefix_range(std::string_view prefix);
// The end of that range: the first key behind all that begin with `prefix`.
std::string end_of_prefix(std::string_view prefix);
// The first key behind this one.
std::string key_behind(std::string_view key);

enum class Read { kGuarded, kPeek };
enum class Access { kRead, kWrite };

// How long a row lives, in milliseconds on the store's clock, from the commit that puts it.
using Lifetime = std::int64_t;
inline constexpr Lifetime kUntilErased = 0;
// The row lives while the Store through which it was put is open, and at least 60 s longer; then it
// may vanish.
inline constexpr Lifetime kWhileOpen = -1;
inline constexpr std::int64_t kAfterOpenMs = 60'000;

// What a backend can take in one commit. The lock table plans its work accordingly.
struct Budget {
  std::size_t guards = SIZE_MAX;
  std::size_t writes = SIZE_MAX;
};

// One life of the store. The id grows at every boot, creation and restore, durably, before the
// first grant under it. Fence = version + fence_offset. (I3)
struct Epoch {
  std::uint64_t id = 0;
  std::int64_t fence_offset = 0;
  // When this epoch began, on this boot's monotonic clock. Where several machines write: when this
  // Store first saw it, on the clock of its own machine.
  std::int64_t start_mono_ms = 0;
};

enum class Fate { kCommitted, kConflict };

struct CommitResult {
  Fate fate = Fate::kConflict;
  // If committed. Of a transaction that wrote nothing: the version it read at.
  Version version = 0;
};

// The key of an appended row, for backends that know a commit's version while they write it: the
// prefix, then version and index in byte order. Nothing above kv may depend on it.
inline constexpr std::size_t kAppendTailBytes = sizeof(std::uint64_t) + sizeof(std::uint16_t);
inline constexpr std::uint64_t kNumbersPerVersion = 4096;
std::string appended_key(std::string_view prefix, Version version, std::size_t index);
Appended to_appended(std::string_view prefix, const Row& row);

}  // namespace lockkeeper::kv
