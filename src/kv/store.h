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
// Explicit guards turn a peek into a promise later, and drop_guards() makes peeks of reads on which
// nothing depends after all. What a commit may have of guards is counted at the commit, so a search
// may read as much as it likes.
//
// Versions. Every commit that writes has a version, greater than all before, which exists only
// after the commit. A row knows the version that created it; overwriting keeps it, deleting it and
// putting it in a later transaction does not.
//
// One write for each key. Of several writes of one key in one transaction the last one counts, and
// a backend makes only that one (etcd refuses two). So a row that is erased and put again by one
// transaction was overwritten: it keeps its created version.
//
// Lifetimes. A row that was put with a lifetime may vanish any time after it, and never before.
// When it does is up to the backend: on some (lmdb) never, so that whoever wants it gone must erase
// it. It vanishes outside of all transactions, without a trace; whoever has guarded it gets a
// conflict. Overwriting sets the lifetime anew, also to none.
//
// A transaction sees its own writes. Guards always speak of the state before the transaction.
//
// On a store with one writer a guarded read cannot fail the commit, but an explicit guard that does
// not hold can. A commit that only erased what was absent has written nothing. One key is a
// backend's own: it is hidden from reads and refused in writes (lmdb: "e", eight bytes ff,
// "ledger").
//
// Thread safety: a Store may be used by several threads; a Txn by the one that began it, and a
// thread has one open at a time: a second one could wait forever behind a writer that waits for the
// first.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "kv/types.h"

namespace lockkeeper::kv {

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

  // What was appended under `prefix`, in the order of the numbers: those greater than `after`; and
  // all of it, newest first. Peeks. REQUIRES: nothing else was put under that prefix.
  using VisitAppended = std::function<bool(const Appended&)>;
  virtual Result<void> scan_appended(std::string_view prefix, std::uint64_t after,
                                     const VisitAppended& visit);
  virtual Result<void> scan_appended_back(std::string_view prefix, const VisitAppended& visit);

  // Explicit guards. REQUIRES: this transaction has not written there.
  virtual Result<void> guard_absent(std::string_view key) = 0;
  virtual Result<void> guard_empty(const Range& range) = 0;
  virtual Result<void> guard_unchanged(std::string_view key, Version modified) = 0;

  // The guarded reads since a mark become peeks, apart from what was guarded before it as well.
  // REQUIRES: no explicit guard since, and no write that depends on what was read since.
  using GuardMark = std::size_t;
  virtual GuardMark guard_mark() const = 0;
  virtual void drop_guards(GuardMark since) = 0;

  // Writes. REQUIRES: begun with Access::kWrite.
  // limit_exceeded: beyond the named limits or the budget's writes.
  virtual Result<void> put(std::string_view key, std::string_view value,
                           Lifetime lifetime = kUntilErased) = 0;
  virtual Result<void> erase(std::string_view key) = 0;  // of an absent key: nothing, no error

  // Adds a row behind all that were appended under this prefix (scan_appended). Not visible to this
  // transaction's own reads.
  virtual Result<void> append(std::string_view prefix, std::string_view value) = 0;

  // What is left of the backend's budget. No guards left: the commit may have too many already.
  virtual Budget left() const = 0;

  // At most once; afterwards the transaction may only be destroyed. kConflict: a guard did not
  // hold, nothing was written. An error other than `unknown` means that nothing was written
  // (limit_exceeded: more guards than the budget has); `unknown` that it cannot be told, and that
  // it may still happen, later than whatever is asked next. (I9)
  virtual Result<CommitResult> commit() = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  // store_busy, store_unavailable, store_corrupt, no_space. A write transaction of a single-writer
  // store excludes all others until it is destroyed: keep it short, never sleep or fork inside it.
  virtual Result<std::unique_ptr<Txn>> begin(Access access) = 0;

  virtual Budget budget() const = 0;  // of a fresh transaction
  virtual Epoch epoch() const = 0;
};

}  // namespace lockkeeper::kv
