#include "kv/etcd/guards.h"

#include <algorithm>
#include <utility>

namespace lockkeeper::kv::etcd {
namespace {

constexpr std::size_t kRowsAtOnce = 256;

}  // namespace

void Guards::add(Guard guard) {
  const auto [place, fresh] = guards_.insert(std::move(guard));
  if (fresh) order_.push_back(place);
}

void Guards::cut(std::size_t size, Guards* dropped) {
  while (order_.size() > size) {
    if (dropped != nullptr) dropped->add(*order_.back());
    guards_.erase(order_.back());
    order_.pop_back();
  }
}

void Guards::add_all(const Guards& others) {
  for (const auto& guard : others.order_) add(*guard);
}

bool Guards::holds_in(const Copy::View& view, const Guard& guard) {
  if (guard.kind == Kind::kPoint) {
    const auto row = view.get(guard.from);
    return (row ? row->modified : 0) == guard.version;
  }
  Range rest{guard.from, guard.to};
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
  return std::ranges::all_of(guards_, [&](const Guard& each) { return holds_in(view, each); });
}

std::vector<Compare> Guards::compares(const Keys& keys, std::size_t first, std::size_t most) const {
  constexpr std::size_t kOfTheStore = 2;  // which it adds to them
  std::vector<Compare> compares;
  compares.reserve(std::min(order_.size() - first, most) + kOfTheStore);
  for (std::size_t i = first; i < order_.size() && compares.size() < most; ++i) {
    const Guard& guard = *order_[i];
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
