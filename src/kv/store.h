// The interface of the store: an ordered map of byte rows with snapshot reads and one atomic
// commit.
//
// The lock table is written once, against this interface. It runs on stores with one writer at a
// time (lmdb, the pessimistic memory store) and on stores that find out only at the commit whether
// what was read has changed (the optimistic memory store, etcd). The difference shows in one
// place: commit() may answer kConflict. Then nothing happened, and the caller starts over with a
// new transaction.
//
// Reads. All reads of a transaction see one state: that of its begin(), or of any moment up to its
// first read. A *guarded* read makes the commit fail if its answer has changed by then: absent must
// stay absent, an empty range empty, a row unchanged. A *peek* promises nothing and costs no guard;
// use it to choose what to try and whom to wake. An explicit guard turns a peek into a promise
// later. drop_guards() turns guarded reads into peeks when nothing depends on them after all.
// Guards are counted at the commit, so a search may read as much as it likes.
//
// Copies. A store may let write transactions read from a copy, which can be older than the newest
// state (etcd). Then commit() also finds that out: of a transaction that writes nothing it confirms
// all that was read, and of others what was guarded once, also if the guard was dropped. So
// kConflict can have that reason too, but not for the next write transaction of the same thread:
// that one reads the newest. An answer that is given without a commit is confirmed by
// confirm_reads(). What read transactions read is always the newest.
//
// Versions. Every commit that writes has a version, greater than all before. It exists only after
// the commit. A row knows the version that created it. Overwriting the row keeps that version;
// erasing it and putting it in a later transaction does not.
//
// One write for each key. If a transaction writes a key several times, the last write counts, and a
// backend makes only that one (etcd refuses two). So a row that is erased and put again in one
// transaction is overwritten: it keeps its created version.
//
// Lifetimes. A row that was put with a lifetime may vanish any time after that, never before. The
// backend decides when. Some (lmdb) never remove it, so callers that want it gone must erase it. It
// vanishes outside all transactions, without a trace. A transaction that guards it gets a conflict.
// Overwriting sets a new lifetime, or none. With kWhileOpen the row lives with the Store through
// which it was last put: whoever overwrites it through another Store takes it over.
//
// Several machines. Each has a Store of its own on the same rows, and a monotonic clock of its own.
// Once another epoch has begun, transactions of the former one commit nothing: their fences would
// be too small. (I3) The Store follows it (conflict), or must be opened again (store_unavailable).
//
// Doubt. commit() may answer `unknown`: it may have happened, or may still happen, even after the
// caller's next calls. That ends when a write transaction has been committed that the same Store
// began after the answer: from then on it has happened or never will. A Store that ends sooner
// leaves the doubt behind.
//
// A transaction sees its own writes. Guards always refer to the state before the transaction.
//
// On a store with one writer a guarded read cannot fail the commit, but an explicit guard can. A
// commit that only erased absent rows has written nothing. Each backend keeps one key for itself.
// Reads do not see it and writes refuse it (lmdb: "e", eight bytes ff, "ledger").
//
// Thread safety: several threads may use a Store. Only the thread that began a Txn may use it. A
// thread may have one Txn open at a time: a second could wait forever behind a writer that waits
// for the first.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "kv/types.h"

namespace lockkeeper::kv {

class Txn {
 public:
  // Destroying a transaction that was not committed undoes it.
  virtual ~Txn() = default;

  // The row, or nullopt if there is none. store_corrupt: it is damaged.
  virtual Result<std::optional<Row>> get(std::string_view key, Read read = Read::kGuarded) = 0;

  // Calls `visit` for each row of the range in key order until it returns false. A guarded scan
  // guards the rows visited, and that there are no others between `from` and the last row visited
  // (or `to` if it was not stopped). `visit` must not write to this transaction.
  using Visit = std::function<bool(const Row&)>;
  virtual Result<void> scan(const Range& range, const Visit& visit, Read read = Read::kGuarded) = 0;

  // The same from the end backwards; always a peek.
  virtual Result<void> scan_back(const Range& range, const Visit& visit) = 0;

  // The rows appended under `prefix`: those with a number greater than `after`, in order; or all of
  // them, newest first. Peeks. REQUIRES: nothing else was put under that prefix.
  using VisitAppended = std::function<bool(const Appended&)>;
  virtual Result<void> scan_appended(std::string_view prefix, std::uint64_t after,
                                     const VisitAppended& visit);
  virtual Result<void> scan_appended_back(std::string_view prefix, const VisitAppended& visit);

  // Explicit guards. REQUIRES: this transaction has not written there.
  virtual Result<void> guard_absent(std::string_view key) = 0;
  virtual Result<void> guard_empty(const Range& range) = 0;
  virtual Result<void> guard_unchanged(std::string_view key, Version modified) = 0;

  // The guarded reads since a mark become peeks, except for what was already guarded before it.
  // REQUIRES: no explicit guard since, and no write that depends on what was read since.
  using GuardMark = std::size_t;
  virtual GuardMark guard_mark() const = 0;
  virtual void drop_guards(GuardMark since) = 0;

  // Writes. REQUIRES: begun with Access::kWrite.
  // limit_exceeded: beyond the named limits or the budget's writes.
  virtual Result<void> put(std::string_view key, std::string_view value,
                           Lifetime lifetime = kUntilErased) = 0;
  virtual Result<void> erase(std::string_view key) = 0;  // an absent key is not an error

  // Adds a row behind all that were appended under this prefix (scan_appended). This transaction's
  // own reads do not see it.
  virtual Result<void> append(std::string_view prefix, std::string_view value) = 0;

  // False: what was read may have been old already. Begin again.
  virtual Result<bool> confirm_reads() { return true; }

  // What is left of the backend's budget. With no guards left, there may already be too many.
  virtual Budget left() const = 0;

  // Call at most once; afterwards the transaction may only be destroyed. kConflict: a guard did not
  // hold, and nothing was written. Error `unknown`: it may have happened, or may still happen; see
  // Doubt. Any other error: nothing was written (limit_exceeded: more guards than the budget has).
  // (I9)
  virtual Result<CommitResult> commit() = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  // Errors: store_busy, store_unavailable, store_corrupt, no_space. On a store with one writer, a
  // write transaction excludes all others until it is destroyed: keep it short, and never sleep or
  // fork inside it.
  virtual Result<std::unique_ptr<Txn>> begin(Access access) = 0;

  virtual Budget budget() const = 0;  // of a fresh transaction
  virtual Epoch epoch() const = 0;
};

}  // namespace lockkeeper::kv
