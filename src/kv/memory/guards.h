// The guards of one optimistic transaction: what must still be true when it commits.
//
// Two forms suffice, and they are etcd's: a point (this key's row has this modified version, 0 for
// "no row") and a range (empty, or nothing in it written since the snapshot). A range read with
// rows in it is a range guard plus one point for each row, because "nothing written since" does not
// notice a row that was erased.
//
// Thread safety: none; a part of a transaction.
#pragma once

#include <compare>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "kv/memory/table.h"
#include "kv/store.h"

namespace lockkeeper::kv::internal {

class Guards {
 public:
  explicit Guards(std::size_t max) : max_(max) {}

  std::size_t left() const { return max_ - points_.size() - ranges_.size(); }

  // limit_exceeded if that would be one too many; then nothing is added. An equal guard is free.
  // `reserve`: how many more guards the caller knows it will add.
  Result<void> point(std::string_view key, Version modified, std::size_t reserve = 0);
  Result<void> empty_range(std::string_view from, std::string_view to);
  Result<void> unwritten_range(std::string_view from, std::string_view to);

  // Whether all hold in the newest state, for a transaction that read at `snapshot`.
  bool hold(const Table& table, Version snapshot) const;

 private:
  struct Point {
    std::string key;
    Version modified;
    auto operator<=>(const Point&) const = default;
  };
  struct Span {
    std::string from;
    std::string to;
    bool empty;
    auto operator<=>(const Span&) const = default;
  };

  Result<void> span(Span span);

  std::size_t max_;
  std::set<Point> points_;
  std::set<Span> ranges_;
};

}  // namespace lockkeeper::kv::internal
