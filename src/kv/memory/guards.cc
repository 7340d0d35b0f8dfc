#include "kv/memory/guards.h"

#include <algorithm>
#include <utility>

namespace lockkeeper::kv::internal {

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

bool Guards::hold(const Table& table, Version snapshot) const {
  const Version now = table.version();
  return std::ranges::all_of(guards_, [&](const Guard& guard) {
    if (const Point* const point = std::get_if<Point>(&guard)) {
      const Entry* const entry = table.find(point->key, now).entry;
      return (entry == nullptr ? 0 : entry->modified) == point->modified;
    }
    const Span& span = std::get<Span>(guard);
    if (span.empty) return table.first(span.from, span.to, now).entry == nullptr;
    return !table.modified_since(span.from, span.to, snapshot);
  });
}

}  // namespace lockkeeper::kv::internal
