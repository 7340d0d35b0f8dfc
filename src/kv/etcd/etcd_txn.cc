#include "kv/etcd/etcd_txn.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace lockkeeper::kv {
namespace {

constexpr std::size_t kFirstPage = 16;  // many scans stop at their first rows
constexpr std::size_t kLaterPage = 256;

std::unexpected<Error> too_many(const std::string& what, std::size_t max) {
  return fail(Code::kLimitExceeded,
              "more than " + std::to_string(max) + " " + what +
                  " in one transaction, which etcd limits with --max-txn-ops",
              "ask for fewer resources at a time");
}

}  // namespace

// A scan on its way: the rows of the snapshot in pages, merged with the transaction's own writes.
class EtcdTxn::Walk {
 public:
  Walk(EtcdTxn& txn, const Range& range, bool forward)
      : txn_(txn),
        range_(range),
        forward_(forward),
        own_(txn.writes_.lower_bound(forward ? range.from : range.to)) {}

  struct Step {
    std::optional<Row> row;       // none: erased by this transaction
    const Row* stored = nullptr;  // of the snapshot, if the row is that one
    bool met_stored = false;      // the snapshot has a row there
  };
  // nullopt: the end.
  Result<std::optional<Step>> next() {
    LK_ASSIGN(const Row* const base, stored());
    const Writes::value_type* const mine = own();
    if (base == nullptr && mine == nullptr) return std::nullopt;
    int order = base == nullptr ? -1 : mine == nullptr ? 1 : mine->first.compare(base->key);
    if (base != nullptr && mine != nullptr && !forward_) order = -order;
    Step step;
    step.met_stored = order >= 0;
    if (order > 0) {
      step.row = *base;
      step.stored = base;
    } else if (mine->second.value) {
      step.row = Row{mine->first, *mine->second.value, order == 0 ? base->created : 0, 0};
    }
    if (order >= 0) ++at_;
    if (order <= 0) forward_ ? ++own_ : --own_;
    return step;
  }

 private:
  Result<const Row*> stored() {
    while (at_ == page_.rows.size()) {
      if (!more_) return nullptr;
      LK_ASSIGN(page_, txn_.reader_->rows(rest_ ? *rest_ : range_, forward_, next_page_));
      next_page_ = kLaterPage;
      at_ = 0;
      more_ = page_.more;
      if (!more_ || page_.rows.empty()) continue;
      if (!rest_) rest_ = range_;
      if (forward_) {
        rest_->from = key_behind(page_.rows.back().key);
      } else {
        rest_->to = page_.rows.back().key;
      }
    }
    return &page_.rows[at_];
  }

  const Writes::value_type* own() const {
    if (forward_) {
      return own_ != txn_.writes_.end() && own_->first < range_.to ? &*own_ : nullptr;
    }
    if (own_ == txn_.writes_.begin()) return nullptr;
    const auto& before = *std::prev(own_);
    return before.first >= range_.from ? &before : nullptr;
  }

  EtcdTxn& txn_;
  const Range& range_;
  std::optional<Range> rest_;  // what was not read yet; none: all
  const bool forward_;
  Writes::const_iterator own_;
  etcd::Page page_;
  std::size_t at_ = 0;
  std::size_t next_page_ = kFirstPage;
  bool more_ = true;
};

EtcdTxn::EtcdTxn(std::shared_ptr<EtcdStore::Core> core, Access access)
    : core_(std::move(core)),
      access_(access),
      epoch_(core_->epoch_version()),
      reader_(core_->reader(access, epoch_)) {}

void EtcdTxn::remember(std::string_view key, Version modified, bool guarded) {
  if (guarded || reader_->may_be_old()) (guarded ? guards_ : unguarded_).point(key, modified);
}

void EtcdTxn::remember(std::string_view from, std::string_view to, bool met_stored,
                       Version snapshot, bool guarded) {
  etcd::Guards& guards = guarded ? guards_ : unguarded_;
  if (met_stored) {
    guards.uncreated_range(from, to, snapshot);
  } else {
    guards.empty_range(from, to);
  }
}

Result<Row> EtcdTxn::own_row(const Writes::value_type& write) {
  Row row{write.first, *write.second.value, 0, 0};
  LK_ASSIGN(const auto base, reader_->get(write.first));
  if (base) row.created = base->created;
  return row;
}

Result<std::optional<Row>> EtcdTxn::get(std::string_view key, Read read) {
  // Its own writes cannot change under it: no guard.
  if (const auto own = writes_.find(key); own != writes_.end()) {
    if (!own->second.value) return std::nullopt;
    LK_ASSIGN(const Row row, own_row(*own));
    return row;
  }
  LK_ASSIGN(const auto row, reader_->get(key));
  remember(key, row ? row->modified : 0, read == Read::kGuarded);
  return row;
}

bool EtcdTxn::visit_row(const Visit& visit, const Row& row) {
  ++visiting_;
  const bool more = visit(row);
  --visiting_;
  return more;
}

Result<void> EtcdTxn::scan(const Range& range, const Visit& visit, Read read) {
  return walk(range, visit, read, true);
}

Result<void> EtcdTxn::scan_back(const Range& range, const Visit& visit) {
  return walk(range, visit, Read::kPeek, false);
}

Result<void> EtcdTxn::walk(const Range& range, const Visit& visit, Read read, bool forward) {
  if (range.from >= range.to) return {};
  const bool guarded = read == Read::kGuarded;
  Walk walk(*this, range, forward);
  bool met_stored = false;
  std::string_view last;  // where it stopped; empty: at the end
  while (true) {
    LK_ASSIGN(const auto step, walk.next());
    if (!step) break;
    met_stored = met_stored || step->met_stored;
    if (step->stored != nullptr) remember(step->row->key, step->row->modified, guarded);
    if (!step->row) continue;
    if (visit_row(visit, *step->row)) continue;
    last = step->row->key;
    break;
  }
  if (!guarded && !reader_->may_be_old()) return {};
  LK_ASSIGN(const Version snapshot, reader_->snapshot());
  if (last.empty()) {
    remember(range.from, range.to, met_stored, snapshot, guarded);
  } else if (forward) {
    remember(range.from, key_behind(last), met_stored, snapshot, guarded);
  } else {
    remember(last, range.to, met_stored, snapshot, guarded);
  }
  return {};
}

Result<void> EtcdTxn::scan_appended(std::string_view prefix, std::uint64_t after,
                                    const VisitAppended& visit) {
  return walk_appended(prefix, after, true, visit);
}

Result<void> EtcdTxn::scan_appended_back(std::string_view prefix, const VisitAppended& visit) {
  return walk_appended(prefix, 0, false, visit);
}

// A key has a ticket where other stores have the version, so the number is put together from the
// version that created the row and the index.
Result<void> EtcdTxn::walk_appended(std::string_view prefix, std::uint64_t after, bool forward,
                                    const VisitAppended& visit) {
  const Range range{std::string(prefix), end_of_prefix(prefix)};
  etcd::Reader::Created when{(after + 1) / kNumbersPerVersion, 0};
  while (true) {
    LK_ASSIGN(const etcd::Page page, reader_->created(range, when, forward));
    if (reader_->may_be_old()) {
      LK_ASSIGN(const Version snapshot, reader_->snapshot());
      remember(range.from, range.to, true, snapshot, false);
    }
    for (const Row& row : page.rows) {
      remember(row.key, row.modified, false);
      Appended appended = to_appended(prefix, row);
      if (appended.number != 0) {
        appended.number = row.created * kNumbersPerVersion + appended.number % kNumbersPerVersion;
        if (appended.number <= after) continue;
      }
      if (const auto own = writes_.find(row.key); own != writes_.end()) {
        if (!own->second.value) continue;
        appended.value = *own->second.value;
      }
      ++visiting_;
      const bool more = visit(appended);
      --visiting_;
      if (!more) return {};
    }
    if (!page.more || page.rows.empty()) return {};
    const Version last = page.rows.back().created;
    if (forward) {
      when.first = last + 1;
    } else {
      when.last = last - 1;
    }
  }
}

Result<void> EtcdTxn::guard_absent(std::string_view key) {
  LOCKKEEPER_ASSERT(!writes_.contains(key));
  guards_.point(key, 0);
  return {};
}

Result<void> EtcdTxn::guard_unchanged(std::string_view key, Version modified) {
  LOCKKEEPER_ASSERT(modified != 0);  // 0 is a row of this very transaction
  LOCKKEEPER_ASSERT(!writes_.contains(key));
  guards_.point(key, modified);
  return {};
}

Result<void> EtcdTxn::guard_empty(const Range& range) {
  const auto own = writes_.lower_bound(range.from);
  LOCKKEEPER_ASSERT(own == writes_.end() || own->first >= range.to || range.from >= range.to);
  if (range.from < range.to) guards_.empty_range(range.from, range.to);
  return {};
}

Result<void> EtcdTxn::room_for_write() const {
  LOCKKEEPER_ASSERT(access_ == Access::kWrite);
  LOCKKEEPER_ASSERT(visiting_ == 0);
  if (writes_.size() + appends_.size() < EtcdStore::kWritesMax) return {};
  return too_many("writes", EtcdStore::kWritesMax);
}

Result<EtcdTxn::Write*> EtcdTxn::write_at(std::string_view key) {
  auto own = writes_.lower_bound(key);
  if (own == writes_.end() || own->first != key) {
    LK_CHECK(room_for_write());
    own = writes_.try_emplace(own, std::string(key));
  }
  return &own->second;
}

Result<void> EtcdTxn::put(std::string_view key, std::string_view value, Lifetime lifetime) {
  LOCKKEEPER_ASSERT(!key.empty());
  LK_CHECK(check_lengths(key.size(), value.size()));
  LK_ASSIGN(Write* const write, write_at(key));
  write->value.emplace(value);
  write->lifetime = lifetime;
  put_ = true;
  return {};
}

Result<void> EtcdTxn::erase(std::string_view key) {
  LOCKKEEPER_ASSERT(!key.empty());
  LK_CHECK(check_lengths(key.size(), 0));
  LK_ASSIGN(Write* const write, write_at(key));
  write->value.reset();
  return {};
}

Result<void> EtcdTxn::append(std::string_view prefix, std::string_view value) {
  LK_CHECK(check_lengths(prefix.size() + kAppendTailBytes, value.size()));
  LK_CHECK(room_for_write());
  appends_.push_back({std::string(prefix), std::string(value)});
  put_ = true;
  return {};
}

Budget EtcdTxn::left() const {
  Budget left = {EtcdStore::kGuardsMax, EtcdStore::kWritesMax};
  left.guards -= std::min(left.guards, guards_.size());
  left.writes -= writes_.size() + appends_.size();
  return left;
}

void EtcdTxn::drop_guards(GuardMark since) {
  guards_.cut(since, reader_->may_be_old() ? &dropped_ : nullptr);
}

// Do these hold in the newest state, with all guards? Then the snapshot was the newest when etcd
// was asked just now, as far as it matters.
Result<bool> EtcdTxn::hold_now(const etcd::Guards& others) {
  LK_ASSIGN(const Version snapshot, reader_->snapshot());
  LK_ASSIGN(const auto now, core_->newest_view(epoch_));
  if (now == nullptr) return false;
  if (!guards_.hold_in(*now)) return false;
  return now->same_as(snapshot) || (dropped_.hold_in(*now) && others.hold_in(*now));
}

Result<bool> EtcdTxn::confirm_reads() {
  if (!reader_->may_be_old()) return true;
  LK_ASSIGN(const bool hold, hold_now(unguarded_));
  if (!hold) core_->ask_first();
  return hold;
}

Result<CommitResult> EtcdTxn::commit() {
  LOCKKEEPER_ASSERT(visiting_ == 0);
  if (access_ == Access::kWrite && guards_.size() > EtcdStore::kGuardsMax) {
    return too_many("guards", EtcdStore::kGuardsMax);
  }
  auto done = writes_.empty() && appends_.empty() ? commit_reads() : commit_writes();
  // Perhaps the copy was behind, and is still.
  if (done && done->fate == Fate::kConflict) core_->ask_first();
  return done;
}

Result<CommitResult> EtcdTxn::commit_reads() {
  LK_ASSIGN(const Version read_at, reader_->snapshot());
  if (!reader_->may_be_old()) return core_->confirm(guards_, read_at);
  LK_ASSIGN(const bool hold, hold_now(unguarded_));
  if (!hold) return CommitResult{Fate::kConflict, 0};
  return CommitResult{Fate::kCommitted, read_at};
}

Result<CommitResult> EtcdTxn::commit_writes() {
  // What was decided does not depend on these any more, but it must have been true when it was
  // read. To guard it costs nothing where there is room.
  if (guards_.size() + dropped_.size() <= EtcdStore::kGuardsMax) {
    guards_.add_all(dropped_);
  } else if (dropped_.size() > 0) {
    LK_ASSIGN(const bool hold, hold_now({}));
    if (!hold) return CommitResult{Fate::kConflict, 0};
  }
  std::vector<EtcdWrite> writes;
  writes.reserve(writes_.size() + appends_.size());
  while (!writes_.empty()) {
    auto write = writes_.extract(writes_.begin());
    writes.push_back(
        {std::move(write.key()), std::move(write.mapped().value), write.mapped().lifetime, false});
  }
  for (Append& append : appends_) {
    writes.push_back({std::move(append.prefix), std::move(append.value), kUntilErased, true});
  }
  Version read_at = 0;
  if (reader_->fixed()) {
    LK_ASSIGN(read_at, reader_->snapshot());
  }
  return core_->commit(guards_, std::move(writes), put_, read_at, epoch_);
}

}  // namespace lockkeeper::kv
