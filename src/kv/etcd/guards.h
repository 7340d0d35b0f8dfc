// The guards of one transaction, as etcd's compares.
//
// There are two forms: a point (this key's row has this modified version, 0 for "no row") and a
// range (empty, or nothing in it created since the snapshot). A scan that found rows needs both:
// "created since" alone notices no change and no erasure, and the points alone no new row. Together
// nothing escapes them: a row that was erased and put again was created since.
//
// Thread safety: none; part of a transaction.
#pragma once

#include <cstddef>
#include <cstdint>
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
  void point(std::string_view key, Version modified) { add({key, {}, modified, Kind::kPoint}); }
  void empty_range(std::string_view from, std::string_view to) { add({from, to, 0, Kind::kEmpty}); }
  void uncreated_range(std::string_view from, std::string_view to, Version snapshot) {
    add({from, to, snapshot, Kind::kUncreated});
  }

  std::size_t size() const { return kept_.size(); }
  // Keeps only the first `size` guards. `dropped` gets the others; it may be null.
  void cut(std::size_t size, Guards* dropped);
  void add_all(const Guards& others);
  // Would a commit on this state find that they hold?
  bool hold_in(const Copy::View& view) const;
  // Those from `first` on, at most `most`.
  std::vector<Compare> compares(const Keys& keys, std::size_t first, std::size_t most) const;

 private:
  enum class Kind : std::uint8_t { kPoint, kEmpty, kUncreated };
  struct Guard {
    std::string_view from;
    std::string_view to;
    Version version = 0;
    Kind kind = Kind::kPoint;
    bool operator==(const Guard&) const = default;
  };
  // One of them; its keys are in `bytes_`.
  struct Kept {
    std::size_t at = 0;
    std::size_t from_size = 0;
    std::size_t to_size = 0;
    Version version = 0;
    Kind kind = Kind::kPoint;
  };
  void add(const Guard& guard);
  Guard at(std::size_t index) const;
  std::uint32_t* place_of(const Guard& guard);
  void fill_places(std::size_t count);
  static bool holds_in(const Copy::View& view, const Guard& guard);

  std::vector<Kept> kept_;  // as they were added
  std::string bytes_;
  std::vector<std::uint32_t> places_;  // by hash: 0, or 1 + the index of a guard
};

}  // namespace lockkeeper::kv::etcd
