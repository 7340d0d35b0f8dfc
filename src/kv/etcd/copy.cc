#include "kv/etcd/copy.h"

#include <iterator>
#include <utility>

#include "base/assert.h"

namespace lockkeeper::kv::etcd {
namespace {

constexpr std::size_t kRowOverhead = 256;        // of the maps and lists, about
constexpr std::size_t kPrunedAtOnce = 1024;      // so that nobody waits long
constexpr std::size_t kCreatedPageOfCopy = 256;  // and what else the last commit has created
constexpr std::size_t kOwnMax = 256;             // commits of which the watch tells sooner

}  // namespace

// The newest that is not newer than that; null: it was not there, or erased.
const Copy::Stored* Copy::at(const Rows::value_type& row, Version version) {
  for (auto stored = row.second.rbegin(); stored != row.second.rend(); ++stored) {
    if (stored->modified <= version) return stored->created == 0 ? nullptr : &*stored;
  }
  return nullptr;
}

std::size_t Copy::size_of(const Rows::value_type& row, const Stored& stored) {
  return kRowOverhead + row.first.size() + stored.value.size();
}

void Copy::store(Rows::iterator row, Stored stored) {
  bytes_ += size_of(*row, stored);
  if (stored.created != 0) order_[row->first.front()].insert({stored.created, &*row});
  row->second.push_back(std::move(stored));
}

void Copy::load(const Row& row) {
  if (row.key.empty()) return;
  const std::lock_guard lock(mutex_);
  const auto [at, fresh] = rows_.try_emplace(std::string(row.key));
  if (!fresh) return;  // no server answers so
  store(at, {row.created, row.modified, std::string(row.value)});
}

bool Copy::apply(Version version, std::vector<Change>& changes) {
  const std::lock_guard lock(mutex_);
  if (version <= version_) return true;  // this process has committed it
  if (!change(version, changes)) return false;
  apply_own();
  prune();
  return true;
}

void Copy::commit(Version version, std::vector<Change> changes) {
  const std::lock_guard lock(mutex_);
  if (version <= version_) return;
  own_.emplace(version, std::move(changes));
  if (own_.size() > kOwnMax) own_.erase(own_.begin());
  apply_own();
  prune();
}

void Copy::apply_own() {
  while (!own_.empty() && own_.begin()->first <= version_ + 1) {
    const auto own = own_.extract(own_.begin());
    if (own.key() <= version_) continue;
    std::vector<Change>& changes = own.mapped();
    std::erase_if(changes, [this](Change& change) {
      const auto row = rows_.find(change.key);
      change.created = row == rows_.end() ? 0 : row->second.back().created;
      return change.created == 0 && !change.value;  // there was nothing to erase
    });
    for (Change& change : changes) {
      if (change.created == 0) change.created = own.key();
    }
    LOCKKEEPER_ASSERT(change(own.key(), changes));
  }
}

bool Copy::change(Version version, std::vector<Change>& changes) {
  for (Change& change : changes) {
    const auto known = rows_.lower_bound(change.key);
    const bool there = known != rows_.end() && known->first == change.key;
    const Version before = there ? known->second.back().created : 0;
    const bool is_new = change.value && change.created == version;
    const bool follows = is_new ? before == 0 : before != 0;
    if (!follows || change.key.empty()) return false;
    if (change.value && !is_new && change.created != before) return false;
    const auto row = there ? known : rows_.try_emplace(known, std::move(change.key));
    store(row, {change.value ? change.created : 0, version,
                change.value ? std::move(*change.value) : std::string()});
    changed_.push_back({version, row});
    last_change_ = version;
  }
  move_to(version);
  return true;
}

void Copy::advance(Version version) {
  const std::lock_guard lock(mutex_);
  if (version > version_) move_to(version);
  apply_own();
  prune();
}

void Copy::move_to(Version version) {
  version_ = version;
  moved_.notify_all();
}

Version Copy::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

std::size_t Copy::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void Copy::set_in_step(bool in_step) {
  const std::lock_guard lock(mutex_);
  in_step_ = in_step;
  moved_.notify_all();
}

bool Copy::in_step() const {
  const std::lock_guard lock(mutex_);
  return in_step_;
}

bool Copy::reach(Version version, std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  moved_.wait_until(lock, until, [&] { return !in_step_ || version_ >= version; });
  return in_step_ && version_ >= version;
}

void Copy::note_late(Version version) {
  const std::lock_guard lock(mutex_);
  late_ = version;
}

bool Copy::is_late() const {
  const std::lock_guard lock(mutex_);
  return version_ < late_;
}

std::unique_ptr<Copy::View> Copy::view(Version at_least) {
  const std::lock_guard lock(mutex_);
  if (!in_step_ || version_ < at_least) return nullptr;
  auto view = std::make_unique<View>(shared_from_this(), version_);
  view->last_change_ = last_change_;
  ++pins_[version_];
  return view;
}

void Copy::unpin(Version version) {
  const std::lock_guard lock(mutex_);
  const auto pin = pins_.find(version);
  if (--pin->second > 0) return;
  pins_.erase(pin);
  prune();
}

// A row's versions that are older than what the oldest view sees are needed by nobody, and neither
// is an erased row.
void Copy::prune() {
  const Version needed = pins_.empty() ? version_ : pins_.begin()->first;
  for (std::size_t i = 0; i < kPrunedAtOnce && !changed_.empty(); ++i) {
    const Changed& oldest = changed_.front();
    if (oldest.version > needed) return;
    const auto row = oldest.row;
    std::list<Stored>& versions = row->second;
    while (versions.size() > 1 && std::next(versions.begin())->modified <= needed) {
      const Stored& stored = versions.front();
      const bool last_of_life = std::next(versions.begin())->created != stored.created;
      if (stored.created != 0 && last_of_life) {
        order_[row->first.front()].erase(Made{stored.created, &*row});
      }
      bytes_ -= size_of(*row, stored);
      versions.pop_front();
    }
    // Only at its last change: the former ones point to the row too.
    if (versions.back().created == 0 && versions.back().modified == oldest.version) {
      bytes_ -= size_of(*row, versions.back());
      rows_.erase(row);
    }
    changed_.pop_front();
  }
}

// --- views ---------------------------------------------------------------------------------------

std::optional<Row> Copy::View::get(std::string_view key) const {
  const std::lock_guard lock(copy_->mutex_);
  const auto row = copy_->rows_.find(key);
  if (row == copy_->rows_.end()) return std::nullopt;
  const Stored* const stored = at(*row, version_);
  if (stored == nullptr) return std::nullopt;
  return Row{row->first, stored->value, stored->created, stored->modified};
}

Page Copy::View::rows(const Range& range, bool forward, std::size_t most) const {
  Page page;
  if (range.from >= range.to) return page;
  const std::lock_guard lock(copy_->mutex_);
  auto row = copy_->rows_.lower_bound(forward ? range.from : range.to);
  const auto first = copy_->rows_.lower_bound(range.from);
  while (forward ? row != copy_->rows_.end() && row->first < range.to : row != first) {
    if (page.rows.size() == most) {
      page.more = true;
      break;
    }
    if (!forward) --row;
    const Stored* const stored = at(*row, version_);
    if (stored != nullptr) {
      page.rows.push_back({row->first, stored->value, stored->created, stored->modified});
    }
    if (forward) ++row;
  }
  return page;
}

// False: the page has enough whole commits.
bool Copy::View::take(Page& page, const Made& made, const Range& range) const {
  const Rows::value_type& row = *made.row;
  if (row.first < range.from || row.first >= range.to) return true;
  const Stored* const stored = at(row, version_);
  if (stored == nullptr || stored->created != made.created) return true;
  if (page.rows.size() >= kCreatedPageOfCopy && page.rows.back().created != made.created) {
    page.more = true;
    return false;
  }
  page.rows.push_back({row.first, stored->value, stored->created, stored->modified});
  return true;
}

Page Copy::View::created(const Range& range, const Reader::Created& when, bool forward) const {
  Page page;
  if (range.from.empty() || range.from >= range.to) return page;
  const std::lock_guard lock(copy_->mutex_);
  const auto order = copy_->order_.find(range.from.front());
  if (order == copy_->order_.end()) return page;
  const Version last = when.last == 0 ? version_ : when.last;
  if (when.first > last) return page;
  const auto begin = order->second.lower_bound(when.first);
  const auto end = order->second.upper_bound(last);
  if (forward) {
    for (auto made = begin; made != end && take(page, *made, range);) ++made;
  } else {
    for (auto made = end; made != begin && take(page, *std::prev(made), range);) --made;
  }
  return page;
}

}  // namespace lockkeeper::kv::etcd
