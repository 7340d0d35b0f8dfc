#include "kv/lmdb/lmdb_txn.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/text.h"

namespace lockkeeper::kv::internal {
namespace {

Result<void> check_row(std::string_view key, std::size_t key_bytes, std::size_t value_bytes) {
  LK_CHECK(check_lengths(key_bytes, value_bytes));
  if (key == kLedgerKey) return fail(Code::kInvalidInput, "this key is reserved by the store");
  return {};
}

// LMDB refuses longer keys. No row's key is that long, so cutting does not matter.
std::string_view bound(std::string_view key) {
  return key.substr(0, 500);
}

class PrivateHost final : public CommitHooks {
 public:
  Result<void> make_room(MDB_txn*, const Demand&) override { return {}; }
  Result<void> keep_room(MDB_txn*, const Demand&) override { return {}; }
  Result<void> committed(Version) override { return {}; }
  void ended() override {}
  bool ours() const override { return true; }
};

constexpr std::size_t kRecordBytesMax = kValueBytesMax + kRecordHeadBytesMax;

}  // namespace

std::unique_ptr<CommitHooks> private_hooks() {
  return std::make_unique<PrivateHost>();
}

LmdbTxn::LmdbTxn(Begin begin)
    : hooks_(std::move(begin.hooks)),
      env_(begin.env),
      txn_(begin.txn),
      access_(begin.access),
      version_(begin.version),
      epoch_(begin.epoch) {}

LmdbTxn::~LmdbTxn() {
  if (!hooks_->ours()) return;  // a child's copy: the parent's transaction goes on untouched
  end();
  hooks_->ended();
}

void LmdbTxn::end() {
  if (txn_ == nullptr) return;
  MDB_txn* const txn = std::exchange(txn_, nullptr);
  if (env_->poisoned()) return;
  const int code = guarded([&] {
    close_cursors();
    mdb_txn_abort(txn);
    return 0;
  });
  if (code != 0) env_->poison();
}

void LmdbTxn::close_cursors() {
  for (MDB_cursor*& open : cursors_) {
    if (open != nullptr) mdb_cursor_close(std::exchange(open, nullptr));
  }
  for (MDB_cursor* open : inner_) mdb_cursor_close(open);
  inner_.clear();
}

Error LmdbTxn::error(int code, std::string_view what) {
  return env_->error(code, what);
}

Error LmdbTxn::damaged(std::string_view key) {
  return {Code::kStoreCorrupt, env_->path() + ": the row " + quote(key, 60) + " is damaged",
          "run lockkeeper doctor"};
}

// `key` is the row's, copied. The value is copied before it is checked.
Result<Row> LmdbTxn::to_row(std::string_view key, const MDB_val& value, RowCopies& copies) {
  if (value.mv_size > kRecordBytesMax) return fail(damaged(key));
  char* const copy = copies.room(value.mv_size);
  const int code = guarded([&] {
    std::memcpy(copy, value.mv_data, value.mv_size);
    return 0;
  });
  if (code != 0) return fail(error(code, "read"));
  Record record;
  if (!read_record(key, {copy, value.mv_size}, record)) return fail(damaged(key));
  Row row{key, record.payload, record.created, record.modified};
  if (access_ == Access::kWrite) {
    if (row.created == version_) row.created = 0;
    if (row.modified == version_) row.modified = 0;
  }
  return row;
}

Result<std::optional<Row>> LmdbTxn::get(std::string_view key, Read) {
  LOCKKEEPER_ASSERT(!ended_);
  if (key.empty() || key.size() > kLongestKey || key == kLedgerKey) return std::nullopt;
  LK_ASSIGN(MDB_cursor* const at, cursor(key));
  Found found;
  found.key = to_val(key);
  const int code = step(at, found, MDB_SET_KEY);
  if (code == MDB_NOTFOUND) return std::nullopt;
  if (code != 0) return fail(error(code, "read"));
  char* const copy = got_.room(key.size());
  std::memcpy(copy, key.data(), key.size());
  LK_ASSIGN(const Row row, to_row({copy, key.size()}, found.value, got_));
  return row;
}

Result<void> LmdbTxn::open(MDB_cursor*& cursor) {
  const int code = guarded([&] { return mdb_cursor_open(txn_, kRows, &cursor); });
  if (code != 0) return fail(error(code, "read"));
  return {};
}

Result<MDB_cursor*> LmdbTxn::cursor(std::string_view key) {
  if (visiting_ > 0) {
    while (inner_.size() < visiting_) {
      MDB_cursor* opened = nullptr;
      LK_CHECK(open(opened));
      inner_.push_back(opened);
    }
    return inner_[visiting_ - 1];
  }
  // Halved so that "e" and "f" share a cursor: the newest events, the ledger and the newest due
  // rows are on one page.
  const std::size_t first = key.empty() ? 0 : static_cast<unsigned char>(key[0]);
  MDB_cursor*& kept = cursors_[(first + 1) / 2 % kCursors];
  if (kept == nullptr) LK_CHECK(open(kept));
  return kept;
}

bool LmdbTxn::in_gap(const Range& range) const {
  return gap_ && range.from >= gap_from_ && (gap_open_ || range.to <= gap_to_);
}

// `next`: the first row not less than the range's beginning.
void LmdbTxn::note_gap(const Range& range, std::optional<std::string_view> next) {
  gap_ = range.from.size() <= kKeyBytesMax;  // a longer one was cut
  gap_open_ = !next;
  gap_from_.assign(range.from);
  if (next) gap_to_.assign(*next);
}

int LmdbTxn::step(MDB_cursor* cursor, Found& found, MDB_cursor_op op) {
  return guarded([&] {
    const int code = mdb_cursor_get(cursor, &found.key, &found.value, op);
    if (code != 0) return code;
    if (found.key.mv_size == 0 || found.key.mv_size > kLongestKey) return MDB_CORRUPTED;
    std::memcpy(found.copy, found.key.mv_data, found.key.mv_size);
    return 0;
  });
}

Result<void> LmdbTxn::scan(const Range& range, const Visit& visit, Read) {
  if (range.from >= range.to || in_gap(range)) return {};
  return walk(range, visit, true);
}

Result<void> LmdbTxn::scan_back(const Range& range, const Visit& visit) {
  if (range.from >= range.to) return {};
  return walk(range, visit, false);
}

Result<void> LmdbTxn::walk(const Range& range, const Visit& visit, bool forward) {
  LOCKKEEPER_ASSERT(!ended_);
  const std::string& start = forward ? range.from : range.to;
  LK_ASSIGN(MDB_cursor* const at, cursor(start));
  if (visited_.size() <= visiting_) visited_.resize(visiting_ + 1);
  Found both[2];  // this one and the one before, in turns
  Found* now = &both[0];
  std::string_view last;
  now->key = to_val(bound(start));
  int code = step(at, *now, start.empty() ? MDB_FIRST : MDB_SET_RANGE);
  if (!forward) {
    code = step(at, *now, code == MDB_NOTFOUND ? MDB_LAST : MDB_PREV);
  } else if (code == MDB_NOTFOUND) {
    note_gap(range, std::nullopt);
  }
  for (; code == 0; code = step(at, *now, forward ? MDB_NEXT : MDB_PREV)) {
    const std::string_view found = now->copied();
    if (forward ? found >= range.to : found < range.from) {
      if (forward && last.empty()) note_gap(range, found);
      return {};
    }
    // Rows out of order mean a damaged page, and could make this loop run forever.
    const bool in_order = last.empty() || (forward ? found > last : found < last);
    if (!in_order) return fail(damaged(found));
    last = found;
    LK_ASSIGN(const bool more, visit_one(*now, visit));
    if (!more) return {};
    now = now == &both[0] ? &both[1] : &both[0];
  }
  if (code != MDB_NOTFOUND) return fail(error(code, "read"));
  return {};
}

Result<bool> LmdbTxn::visit_one(const Found& found, const Visit& visit) {
  if (found.copied() == kLedgerKey) return true;
  visited_[visiting_].clear();
  LK_ASSIGN(const Row row, to_row(found.copied(), found.value, visited_[visiting_]));
  ++visiting_;
  const bool more = visit(row);
  --visiting_;
  return more;
}

Result<void> LmdbTxn::guard_absent(std::string_view key) {
  LK_ASSIGN(const std::optional<Row> row, get(key, Read::kPeek));
  if (row) broken_ = true;
  return {};
}

Result<void> LmdbTxn::guard_unchanged(std::string_view key, Version modified) {
  LOCKKEEPER_ASSERT(modified != 0);  // 0 is a row of this very transaction
  LK_ASSIGN(const std::optional<Row> row, get(key, Read::kPeek));
  if (!row || row->modified != modified) broken_ = true;
  return {};
}

Result<void> LmdbTxn::guard_empty(const Range& range) {
  return scan(
      range,
      [this](const Row&) {
        broken_ = true;
        return false;
      },
      Read::kPeek);
}

Version LmdbTxn::created_before(std::string_view key) const {
  if (erased_.empty()) return version_;
  const auto erased = erased_.find(hash64(key));
  return erased == erased_.end() ? version_ : erased->second;
}

Result<void> LmdbTxn::put_record(std::string_view key, std::string_view value) {
  LK_ASSIGN(MDB_cursor* const at, cursor(key));
  if (gap_ && key >= gap_from_ && (gap_open_ || key < gap_to_)) gap_ = false;
  key_.assign(key);
  std::uint64_t sum = write_record(record_, key_, created_before(key_), version_, value);
  MDB_val where = to_val(key_);
  MDB_val what = to_val(record_);
  const auto put_with = [&](unsigned flags) {
    return guarded([&] { return mdb_cursor_put(at, &where, &what, flags); });
  };
  int code = put_with(MDB_NOOVERWRITE);
  if (code == MDB_KEYEXIST) {
    Record old;
    const std::string_view bytes = to_view(what);
    bool good = false;
    code = guarded([&] {
      good = read_record(key_, bytes, old);
      return 0;
    });
    if (code == 0 && !good) return fail(damaged(key));
    demand_.erased_bytes += key.size() + bytes.size();
    --rows_delta_;
    digest_delta_ -= old.checksum;
    if (code == 0) {
      sum = write_record(record_, key_, old.created, version_, value);
      what = to_val(record_);
      code = put_with(MDB_CURRENT);
    }
  }
  if (code != 0) return fail(error(code, "write"));
  ++rows_delta_;
  digest_delta_ += sum;
  ++demand_.writes;
  demand_.put_bytes += key.size() + record_.size();
  if (record_.size() > env_->page_bytes() / 4) {
    demand_.overflow_pages += record_.size() / env_->page_bytes() + 1;
  }
  return {};
}

// A few small rows always fit. For more, or for a large one, space must be reserved.
Result<void> LmdbTxn::keep_room(std::size_t value_bytes) {
  const bool large = value_bytes > env_->page_bytes() / 4;
  if (demand_.writes < writes_checked_ && !large) return {};
  CommitHooks::Demand demand = demand_;
  if (large) demand.overflow_pages += value_bytes / env_->page_bytes() + 2;
  if (auto ok = hooks_->keep_room(txn_, demand); !ok) {
    failed_ = ok.error();
    return ok;
  }
  writes_checked_ = std::max(writes_checked_, demand.writes * 2);
  return {};
}

Result<void> LmdbTxn::put(std::string_view key, std::string_view value, Lifetime) {
  LOCKKEEPER_ASSERT(!key.empty());
  LOCKKEEPER_ASSERT(!ended_ && access_ == Access::kWrite && visiting_ == 0);
  LK_CHECK(check_row(key, key.size(), value.size()));
  LK_CHECK(keep_room(value.size()));
  wrote_ = true;
  auto ok = put_record(key, value);
  if (!ok) failed_ = ok.error();
  got_.clear();
  return ok;
}

Result<void> LmdbTxn::erase(std::string_view key) {
  LOCKKEEPER_ASSERT(!key.empty());
  LOCKKEEPER_ASSERT(!ended_ && access_ == Access::kWrite && visiting_ == 0);
  LK_CHECK(check_row(key, key.size(), 0));
  LK_CHECK(keep_room(0));
  LK_ASSIGN(MDB_cursor* const at, cursor(key));
  key_.assign(key);
  Found found;
  found.key = to_val(key_);
  int code = step(at, found, MDB_SET_KEY);
  if (code == MDB_NOTFOUND) return {};
  Record old;
  bool good = true;
  if (code == 0) {
    demand_.erased_bytes += key.size() + found.value.mv_size;
    code = guarded([&] {
      good = read_record(key_, to_view(found.value), old);
      return good ? mdb_cursor_del(at, 0) : 0;
    });
  }
  if (code != 0 || !good) {
    failed_ = good ? error(code, "erase") : damaged(key);
    return fail(*failed_);
  }
  if (old.created != version_) erased_.emplace(hash64(key_), old.created);
  got_.clear();
  wrote_ = true;
  ++demand_.writes;
  --rows_delta_;
  digest_delta_ -= old.checksum;
  return {};
}

Result<void> LmdbTxn::append(std::string_view prefix, std::string_view value) {
  LOCKKEEPER_ASSERT(!ended_ && access_ == Access::kWrite && visiting_ == 0);
  LK_CHECK(check_row(prefix, prefix.size() + kAppendTailBytes, value.size()));
  LK_CHECK(check_appends(appends_.size() + 1));
  appends_.push_back({std::string(prefix), std::string(value)});
  wrote_ = true;
  return {};
}

Result<void> LmdbTxn::restore(std::string_view key, const Record& record, bool decisive) {
  MDB_val where = to_val(key);
  MDB_val found{};
  Record old;
  wrote_ = true;
  gap_ = false;
  if (mdb_get(txn_, kRows, &where, &found) == 0 && read_record(key, to_view(found), old)) {
    if (!decisive && old.modified >= record.modified) return {};
    --rows_delta_;
    digest_delta_ -= old.checksum;
  }
  const std::uint64_t sum =
      write_record(record_, key, record.created, record.modified, record.payload);
  MDB_val what = to_val(record_);
  if (const int code = mdb_put(txn_, kRows, &where, &what, 0); code != 0) {
    return fail(error(code, "write"));
  }
  ++rows_delta_;
  digest_delta_ += sum;
  return {};
}

Result<Ledger> LmdbTxn::ledger() {
  LK_ASSIGN(MDB_cursor* const at, cursor(kLedgerKey));
  Found found;
  found.key = to_val(kLedgerKey);
  const int code = step(at, found, MDB_SET_KEY);
  if (code == MDB_NOTFOUND) {
    return fail(Code::kStoreCorrupt, env_->path() + ": not a lock store (it has no ledger)",
                "run lockkeeper doctor");
  }
  if (code != 0) return fail(error(code, "read"));
  LK_ASSIGN(const Row row, to_row(kLedgerKey, found.value, got_));
  Ledger ledger;
  if (!read_ledger(row.value, ledger)) return fail(damaged(kLedgerKey));
  ledger.modified = row.modified;
  return ledger;
}

Result<void> LmdbTxn::put_all() {
  std::size_t index = 0;
  for (const Append& append : appends_) {
    LK_CHECK(keep_room(append.value.size()));
    LK_CHECK(put_record(appended_key(append.prefix, version_, index), append.value));
    ++index;
  }
  return put_ledger();
}

Result<void> LmdbTxn::put_ledger() {
  Ledger now = ledger_;
  if (!first_) {
    LK_ASSIGN(now, ledger());
  }
  now.rows += rows_delta_;
  now.digest += digest_delta_;
  now.epoch_id = epoch_.id;
  now.fence_offset = epoch_.fence_offset;
  if (schema_) now.schema = *schema_;
  LK_ASSIGN(MDB_cursor* const at, cursor(kLedgerKey));
  write_record(record_, kLedgerKey, version_, version_, write_ledger(now));
  MDB_val where = to_val(kLedgerKey);
  MDB_val what = to_val(record_);
  // The cursor stands there, from reading it.
  const unsigned flags = first_ ? 0 : MDB_CURRENT;
  const int code = guarded([&] { return mdb_cursor_put(at, &where, &what, flags); });
  if (code != 0) return fail(error(code, "write"));
  return {};
}

Result<CommitResult> LmdbTxn::commit() {
  LOCKKEEPER_ASSERT(!ended_ && visiting_ == 0);
  ended_ = true;
  if (!hooks_->ours()) {
    return fail(Code::kFailed,
                "a transaction that was begun by another process cannot be committed",
                "open the store after the fork");
  }
  if (failed_) return fail(*failed_);
  if (broken_) return CommitResult{Fate::kConflict, 0};
  if (access_ == Access::kRead) return CommitResult{Fate::kCommitted, version_};
  if (!wrote_) return CommitResult{Fate::kCommitted, version_ - 1};
  LK_CHECK(put_all());
  LK_CHECK(hooks_->make_room(txn_, demand_));
  return finish();
}

Result<CommitResult> LmdbTxn::finish() {
  close_cursors();
  const std::uint64_t id = mdb_txn_id(txn_);
  MDB_txn* const txn = std::exchange(txn_, nullptr);
  const int code = guarded([&] { return mdb_txn_commit(txn); });
  if (code == 0) {
    LK_CHECK(hooks_->committed(version_));
    return CommitResult{Fate::kCommitted, version_};
  }
  Error why = error(code, "commit");
  // The meta page decides: if it was not written, nothing has happened.
  bool reached = code == kFaulted;
  if (code != kFaulted) {
    reached = env_->last_commit() >= id || env_->poisoned();
    if (!reached) env_->restore_meta(id);
    env_->retire();  // LMDB may refuse everything from now on
  }
  (void)hooks_->committed(0);
  if (reached) why.code = Code::kUnknown;
  return fail(std::move(why));
}

}  // namespace lockkeeper::kv::internal
