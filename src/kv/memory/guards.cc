#include "kv/memory/guards.h"

#include <algorithm>
#include <utility>

namespace lockkeeper::kv::internal {

namespace {

std::unexpected<Error> too_many(std::size_t max) {
  return fail(Code::kLimitExceeded,
              "more than " + std::to_string(max) + " guards in one transaction",
              "ask for fewer resources at a time");
}

}  // namespace

Result<void> Guards::point(std::string_view key, Version modified, std::size_t reserve) {
  Point point{std::string(key), modified};
  const auto at = points_.lower_bound(point);
  if (at != points_.end() && *at == point) return {};
  if (left() < 1 + reserve) return too_many(max_);
  points_.insert(at, std::move(point));
  return {};
}

Result<void> Guards::empty_range(std::string_view from, std::string_view to) {
  return span({std::string(from), std::string(to), true});
}

Result<void> Guards::unwritten_range(std::string_view from, std::string_view to) {
  return span({std::string(from), std::string(to), false});
}

Result<void> Guards::span(Span span) {
  const auto at = ranges_.lower_bound(span);
  if (at != ranges_.end() && *at == span) return {};
  if (left() < 1) return too_many(max_);
  ranges_.insert(at, std::move(span));
  return {};
}

bool Guards::hold(const Table& table, Version snapshot) const {
  const Version now = table.version();
  const bool points = std::ranges::all_of(points_, [&](const Point& point) {
    const Entry* entry = table.find(point.key, now).entry;
    return (entry == nullptr ? 0 : entry->modified) == point.modified;
  });
  if (!points) return false;
  return std::ranges::all_of(ranges_, [&](const Span& span) {
    if (span.empty) return table.first(span.from, span.to, now).entry == nullptr;
    return !table.modified_since(span.from, span.to, snapshot);
  });
}

}  // namespace lockkeeper::kv::internal
