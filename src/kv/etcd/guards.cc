#include "kv/etcd/guards.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"

namespace lockkeeper::kv::etcd {
namespace {

constexpr std::size_t kRowsAtOnce = 256;
constexpr std::size_t kPlacesLeast = 64;

}  // namespace

Guards::Guard Guards::at(std::size_t index) const {
  const Kept& kept = kept_[index];
  const std::string_view bytes(bytes_);
  return {bytes.substr(kept.at, kept.from_size),
          bytes.substr(kept.at + kept.from_size, kept.to_size), kept.version, kept.kind};
}

// Where it is, or would be. REQUIRES: there is an empty place, and a power of two of places
std::uint32_t* Guards::place_of(const Guard& guard) {
  std::size_t place = hash64(guard.from, guard.to) + guard.version;
  while (true) {
    std::uint32_t& found = places_[place++ & (places_.size() - 1)];
    if (found == 0 || at(found - 1) == guard) return &found;
  }
}

void Guards::fill_places(std::size_t count) {
  places_.assign(count, 0);
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    *place_of(at(i)) = static_cast<std::uint32_t>(i + 1);
  }
}

void Guards::add(const Guard& guard) {
  if (2 * kept_.size() >= places_.size()) fill_places(std::max(kPlacesLeast, 2 * places_.size()));
  std::uint32_t* const place = place_of(guard);
  if (*place != 0) return;
  kept_.push_back({bytes_.size(), guard.from.size(), guard.to.size(), guard.version, guard.kind});
  bytes_.append(guard.from).append(guard.to);
  *place = static_cast<std::uint32_t>(kept_.size());
}

void Guards::cut(std::size_t size, Guards* dropped) {
  if (kept_.size() <= size) return;
  for (std::size_t i = kept_.size(); dropped != nullptr && i > size; --i) dropped->add(at(i - 1));
  bytes_.resize(kept_[size].at);
  kept_.resize(size);
  fill_places(places_.size());
}

void Guards::add_all(const Guards& others) {
  for (std::size_t i = 0; i < others.size(); ++i) add(others.at(i));
}

bool Guards::holds_in(const Copy::View& view, const Guard& guard) {
  if (guard.kind == Kind::kPoint) {
    const auto row = view.get(guard.from);
    return (row ? row->modified : 0) == guard.version;
  }
  Range rest{std::string(guard.from), std::string(guard.to)};
  Page page;
  do {
    page = view.rows(rest, true, kRowsAtOnce);
    const bool empty = guard.kind == Kind::kEmpty;
    for (const Row& row : page.rows) {
      if (empty || row.created > guard.version) return false;
    }
    if (page.more) rest.from = std::string(page.rows.back().key).append(1, '\0');
  } while (page.more);
  return true;
}

bool Guards::hold_in(const Copy::View& view) const {
  for (std::size_t i = 0; i < size(); ++i) {
    if (!holds_in(view, at(i))) return false;
  }
  return true;
}

std::vector<Compare> Guards::compares(const Keys& keys, std::size_t first, std::size_t most) const {
  constexpr std::size_t kOfTheStore = 2;  // which it adds to them
  std::vector<Compare> compares;
  compares.reserve(std::min(size() - first, most) + kOfTheStore);
  for (std::size_t i = first; i < size() && compares.size() < most; ++i) {
    const Guard guard = at(i);
    Compare& compare = compares.emplace_back();
    compare.key = keys.row(guard.from);
    if (guard.kind != Kind::kPoint) compare.range_end = keys.row(guard.to);
    // Of a key that is not there, and of a range without keys, etcd compares zeros.
    const bool absent = guard.kind == Kind::kEmpty || guard.version == 0;
    if (absent || guard.kind == Kind::kUncreated) compare.target = Compare::Target::kCreate;
    if (guard.kind == Kind::kUncreated) compare.result = Compare::Result::kLess;
    compare.revision = guard.kind == Kind::kUncreated ? guard.version + 1 : guard.version;
  }
  return compares;
}

}  // namespace lockkeeper::kv::etcd
