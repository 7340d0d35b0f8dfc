// The narrow waist: an ordered store of byte rows with snapshot reads and one atomic commit.
//
// The lock table is written once against this, for a store with one writer at a time (lmdb, the
// pessimistic memory store) and for one that only finds out at the commit whether what was read has
// changed (the optimistic memory store, etcd later). The difference shows in one place: commit()
// may answer kConflict, and then nothing happened and the caller starts over with a new
// transaction.
//
// Reads come in two kinds. A *guarded* read is a promise that the commit fails if the answer would
// be different by then: absent stays absent, an empty range stays empty, a row stays unchanged. A
// *peek* promises nothing and costs no guard; it is for choosing what to try and whom to wake.
// Explicit guards turn a peek into a promise later.
//
// Versions. Every commit that writes has a version, greater than all before, which exists only
// after the commit. A row knows the version that created it; overwriting keeps it, deleting and
// putting it again does not. An appended row is ordered by (version, index within the commit).
//
// A transaction sees its own writes. Guards always speak of the state before the transaction.
//
// On a store with one writer a guarded read cannot fail the commit, but an explicit guard that does
// not hold can. Erasing and putting one key in one transaction makes a new row. A commit that only
// erased what was absent has written nothing. One key is a backend's own: it is hidden from reads
// and refused in writes (lmdb: "e", eight bytes ff, "ledger").
//
// Thread safety: a Store may be used by several threads; a Txn by the one that began it, and a
// thread has one open at a time: a second one could wait for ever behind a writer who waits for the
// first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lockkeeper::kv {

// Named limits, equal for all backends so that a row that fits one fits all.
inline constexpr std::size_t kKeyBytesMax = 480;
inline constexpr std::size_t kValueBytesMax = 8 << 20;

using Version = std::uint64_t;

struct Row {
  std::string_view key;  // views are valid until the next write or the end of the transaction
  std::string_view value;
  Version created = 0;  // 0: written by this very transaction, version not known yet
  Version modified = 0;
};

// Half-open: from <= key < to.
struct Range {
  std::string from;
  std::string to;
};

// The keys that begin with `prefix`. REQUIRES: prefix is not empty nor all 0xff.
Range prefix_range(std::string_view prefix);
// The end of that range: the first key behind all that begin so.
std::string end_of_prefix(std::string_view prefix);

enum class Read { kGuarded, kPeek };
enum class Access { kRead, kWrite };

// What a backend can take in one commit. The lock table plans its work by it.
struct Budget {
  std::size_t guards = SIZE_MAX;
  std::size_t writes = SIZE_MAX;
};

// One life of the store: it grows at every boot, creation and restore, durably and before the first
// grant under it. Fence = version + fence_offset. (I3)
struct Epoch {
  std::uint64_t id = 0;
  std::int64_t fence_offset = 0;
  std::int64_t start_mono_ms = 0;  // when this epoch began, on this boot's monotonic clock
};

enum class Fate { kCommitted, kConflict };

struct CommitResult {
  Fate fate = Fate::kConflict;
  Version version =
      0;  // if committed; for a transaction that wrote nothing, the version it read at
};

class Txn {
 public:
  // Dropping a transaction that was not committed undoes it.
  virtual ~Txn() = default;

  // The row, or nullopt if there is none. store_corrupt if it is damaged.
  virtual Result<std::optional<Row>> get(std::string_view key, Read read = Read::kGuarded) = 0;

  // Calls `visit` for each row of the range in key order until it returns false. A guarded scan
  // guards what it has seen: the rows visited, and that there are no others between `from` and the
  // last row visited (or `to` if it was not stopped). `visit` must not write to this transaction.
  using Visit = std::function<bool(const Row&)>;
  virtual Result<void> scan(const Range& range, const Visit& visit, Read read = Read::kGuarded) = 0;

  // The same from the end backwards; a peek only.
  virtual Result<void> scan_back(const Range& range, const Visit& visit) = 0;

  // Explicit guards. REQUIRES: this transaction has not written there.
  virtual Result<void> guard_absent(std::string_view key) = 0;
  virtual Result<void> guard_empty(const Range& range) = 0;
  virtual Result<void> guard_unchanged(std::string_view key, Version modified) = 0;

  // Writes. REQUIRES: begun with Access::kWrite. limit_exceeded beyond the named limits or the
  // budget.
  virtual Result<void> put(std::string_view key, std::string_view value) = 0;
  virtual Result<void> erase(std::string_view key) = 0;  // of an absent key: nothing, no error

  // Adds a row whose key is prefix + be64(version) + be16(index), index counting from 0 in each
  // commit. Not visible to this transaction's own reads.
  virtual Result<void> append(std::string_view prefix, std::string_view value) = 0;

  // What is left of the backend's budget.
  virtual Budget left() const = 0;

  // At most once; afterwards the transaction may only be destroyed. kConflict: a guard did not
  // hold, nothing was written. An error other than `unknown` means that nothing was written;
  // `unknown` that it cannot be told. (I9)
  virtual Result<CommitResult> commit() = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  // store_busy, store_unavailable, store_corrupt, no_space as CONTRACT has them. A write
  // transaction of a single-writer store excludes all others until it is destroyed: keep it short,
  // never sleep or fork inside it.
  virtual Result<std::unique_ptr<Txn>> begin(Access access) = 0;

  virtual Budget budget() const = 0;  // of a fresh transaction
  virtual Epoch epoch() const = 0;
};

}  // namespace lockkeeper::kv
