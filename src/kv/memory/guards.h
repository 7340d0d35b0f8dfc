// The guards of one optimistic transaction: what must still be true when it commits.
//
// There are two forms, as in etcd: a point (this key's row has this modified version, 0 for "no
// row") and a range (empty, or nothing in it written since the snapshot). A scan that found rows
// needs a range guard plus one point for each row, because "nothing written since" does not notice
// an erased row.
//
// Thread safety: none; part of a transaction.
#pragma once

#include <compare>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kv/memory/table.h"
#include "kv/store.h"

namespace lockkeeper::kv::internal {

class Guards {
 public:
  // Equal guards count once.
  void point(std::string_view key, Version modified) { add(Point{std::string(key), modified}); }
  void empty_range(std::string_view from, std::string_view to) {
    add(Span{std::string(from), std::string(to), true});
  }
  void unwritten_range(std::string_view from, std::string_view to) {
    add(Span{std::string(from), std::string(to), false});
  }

  std::size_t size() const { return order_.size(); }
  // Keeps only the first `size` guards.
  void cut(std::size_t size);

  // Do all hold in the newest state, for a transaction that read at `snapshot`?
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
  using Guard = std::variant<Point, Span>;

  void add(Guard guard);

  std::set<Guard> guards_;
  std::vector<std::set<Guard>::const_iterator> order_;  // as they were added
};

}  // namespace lockkeeper::kv::internal
