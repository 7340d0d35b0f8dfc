// A transaction on LMDB: rows with checksums, and the ledger. See kv/store.h for what it promises.
// There is one writer at a time, so only an explicit guard can make a commit conflict.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kv/lmdb/commit_hooks.h"
#include "kv/lmdb/env.h"
#include "kv/lmdb/record.h"
#include "kv/lmdb/row_copies.h"
#include "kv/store.h"

namespace lockkeeper::kv::internal {

inline constexpr std::size_t kLongestKey = kKeyBytesMax + kAppendTailBytes;

class LmdbTxn final : public Txn {
 public:
  struct Begin {
    std::unique_ptr<CommitHooks> hooks;
    Env* env = nullptr;
    MDB_txn* txn = nullptr;  // owned from here on
    Access access = Access::kRead;
    Version version = 0;  // read: of the last commit; write: of this one
    Epoch epoch = {};     // write: goes into the ledger
  };
  explicit LmdbTxn(Begin begin);
  ~LmdbTxn() override;
  LmdbTxn(const LmdbTxn&) = delete;
  LmdbTxn& operator=(const LmdbTxn&) = delete;

  Result<std::optional<Row>> get(std::string_view key, Read read) override;
  Result<void> scan(const Range& range, const Visit& visit, Read read) override;
  Result<void> scan_back(const Range& range, const Visit& visit) override;
  Result<void> guard_absent(std::string_view key) override;
  Result<void> guard_empty(const Range& range) override;
  Result<void> guard_unchanged(std::string_view key, Version modified) override;
  // With one writer what was read stays true, and there are no guards to count.
  GuardMark guard_mark() const override { return 0; }
  void drop_guards(GuardMark) override {}
  // Ignores the lifetime: a row stays until it is erased.
  Result<void> put(std::string_view key, std::string_view value, Lifetime lifetime) override;
  Result<void> erase(std::string_view key) override;
  Result<void> append(std::string_view prefix, std::string_view value) override;
  Budget left() const override { return {}; }
  Result<CommitResult> commit() override;

  // Starts a new file with this ledger.
  void found(const Ledger& ledger) { ledger_ = ledger, first_ = true, wrote_ = true; }
  // Recorded with the commit; for migrations.
  void set_schema(std::uint32_t schema) { schema_ = schema, wrote_ = true; }
  // Puts a row as it was, with its versions; for repair. Replaces a row that is there only if this
  // one is newer or `decisive`.
  Result<void> restore(std::string_view key, const Record& record, bool decisive);
  std::uint64_t rows_added() const { return rows_delta_; }
  // store_corrupt: it is missing or damaged.
  Result<Ledger> ledger();

 private:
  struct Append {
    std::string prefix;
    std::string value;
  };

  Error error(int code, std::string_view what);
  Error damaged(std::string_view key);
  Result<Row> to_row(std::string_view key, const MDB_val& value, RowCopies& copies);
  Result<MDB_cursor*> cursor(std::string_view key);
  Result<void> open(MDB_cursor*& cursor);
  void close_cursors();
  bool in_gap(const Range& range) const;
  void note_gap(const Range& range, std::optional<std::string_view> next);
  // `copy`: the key's, with room for any.
  struct Found {
    MDB_val key{};
    MDB_val value{};
    char copy[kLongestKey];
    std::string_view copied() const { return {copy, key.mv_size}; }
  };
  int step(MDB_cursor* cursor, Found& found, MDB_cursor_op op);
  Result<void> walk(const Range& range, const Visit& visit, bool forward);
  Result<bool> visit_one(const Found& found, const Visit& visit);
  Version created_before(std::string_view key) const;
  Result<void> put_record(std::string_view key, std::string_view value);
  Result<void> put_ledger();
  Result<void> keep_room(std::size_t value_bytes);
  Result<void> put_all();
  Result<CommitResult> finish();
  void end();  // of LMDB's transaction, undone unless committed

  std::unique_ptr<CommitHooks> hooks_;
  Env* const env_;
  MDB_txn* txn_;
  const Access access_;
  const Version version_;
  const Epoch epoch_;
  // LMDB first looks for a key on the cursor's page, which saves most of a search. So neighbouring
  // kinds of rows (by the key's first byte) have a cursor of their own.
  static constexpr std::size_t kCursors = 8;
  std::array<MDB_cursor*, kCursors> cursors_{};
  std::vector<MDB_cursor*> inner_;  // one for each scan inside a scan's visit, then kept
  // The last empty stretch that a scan met: no row is in [gap_from_, gap_to_).
  bool gap_ = false;
  bool gap_open_ = false;  // nothing at all from gap_from_ on
  std::string gap_from_;
  std::string gap_to_;
  std::size_t visiting_ = 0;
  std::uint64_t writes_checked_ = 16;  // there is room for this many writes, whatever they touch
  bool broken_ = false;                // an explicit guard does not hold
  bool wrote_ = false;
  bool ended_ = false;
  std::optional<Error> failed_;  // a write that failed half-way: the commit must not happen
  std::vector<Append> appends_;
  // Rows that it has erased, by the hash of their keys, and the versions that created them: a row
  // that is put again is overwritten.
  std::unordered_map<std::uint64_t, Version> erased_;
  Ledger ledger_;
  bool first_ = false;
  std::optional<std::uint32_t> schema_;
  std::uint64_t rows_delta_ = 0;  // modulo 2^64, like the digest's
  std::uint64_t digest_delta_ = 0;
  CommitHooks::Demand demand_;
  RowCopies got_;                   // what get() has returned since the last write
  std::vector<RowCopies> visited_;  // one row for each scan inside another
  std::string key_;                 // scratch: LMDB may move what a caller's view points to
  std::string record_;
};

}  // namespace lockkeeper::kv::internal
