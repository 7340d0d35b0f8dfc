#include "kv/etcd/guards.h"

#include <algorithm>
#include <utility>

namespace lockkeeper::kv::etcd {

void Guards::add(Guard guard) {
  const auto [place, fresh] = guards_.insert(std::move(guard));
  if (fresh) order_.push_back(place);
}

void Guards::cut(std::size_t size) {
  while (order_.size() > size) {
    guards_.erase(order_.back());
    order_.pop_back();
  }
}

std::vector<Compare> Guards::compares(const Keys& keys, std::size_t first, std::size_t most) const {
  std::vector<Compare> compares;
  for (std::size_t i = first; i < order_.size() && compares.size() < most; ++i) {
    const Guard& guard = *order_[i];
    Compare compare;
    compare.key = keys.row(guard.from);
    if (guard.kind != Kind::kPoint) compare.range_end = keys.row(guard.to);
    // Of a key that is not there, and of a range without keys, etcd compares zeros.
    const bool absent = guard.kind == Kind::kEmpty || guard.version == 0;
    if (absent || guard.kind == Kind::kUncreated) compare.target = Compare::Target::kCreate;
    if (guard.kind == Kind::kUncreated) compare.result = Compare::Result::kLess;
    compare.revision = guard.kind == Kind::kUncreated ? guard.version + 1 : guard.version;
    compares.push_back(std::move(compare));
  }
  return compares;
}

}  // namespace lockkeeper::kv::etcd
