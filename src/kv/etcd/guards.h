// The guards of one transaction, as etcd's compares.
//
// There are two forms: a point (this key's row has this modified version, 0 for "no row") and a
// range (empty, or nothing in it created since the snapshot). A scan that found rows needs both:
// "created since" alone notices no change and no erasure, and the points alone no new row. Together
// nothing escapes them: a row that was erased and put again was created since.
//
// Thread safety: none; part of a transaction.
#pragma once

#include <compare>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kv/etcd/copy.h"
#include "kv/etcd/keys.h"
#include "kv/etcd/messages.h"
#include "kv/store.h"

namespace lockkeeper::kv::etcd {

class Guards {
 public:
  // Equal guards count once.
  void point(std::string_view key, Version modified) {
    add({std::string(key), {}, modified, Kind::kPoint});
  }
  void empty_range(std::string_view from, std::string_view to) {
    add({std::string(from), std::string(to), 0, Kind::kEmpty});
  }
  void uncreated_range(std::string_view from, std::string_view to, Version snapshot) {
    add({std::string(from), std::string(to), snapshot, Kind::kUncreated});
  }

  std::size_t size() const { return order_.size(); }
  // Keeps only the first `size` guards. `dropped` gets the others; it may be null.
  void cut(std::size_t size, Guards* dropped);
  void add_all(const Guards& others);
  // Would a commit on this state find that they hold?
  bool hold_in(const Copy::View& view) const;
  // Those from `first` on, at most `most`.
  std::vector<Compare> compares(const Keys& keys, std::size_t first, std::size_t most) const;

 private:
  enum class Kind { kPoint, kEmpty, kUncreated };
  struct Guard {
    std::string from;
    std::string to;
    Version version;
    Kind kind;
    auto operator<=>(const Guard&) const = default;
  };
  void add(Guard guard);
  static bool holds_in(const Copy::View& view, const Guard& guard);

  std::set<Guard> guards_;
  std::vector<std::set<Guard>::const_iterator> order_;  // as they were added
};

}  // namespace lockkeeper::kv::etcd
