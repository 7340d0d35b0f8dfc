// Rows with their history: an ordered map from a key to a short chain of entries, newest first.
//
// A reader pins the version it reads at. An entry stays while a pin may need it, so what a pin sees
// keeps its address until the pin is dropped: views of keys and values are stable.
//
// Invariants: the entries of a chain have falling versions. A write adds an entry only if a pin can
// see the one before, so a row written a million times during one long read has two. A cell with
// more than one entry, or whose newest entry is an erasure, is in the garbage queue exactly once.
//
// Thread safety: none; the owner locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kv/store.h"

namespace lockkeeper::kv::internal {

inline constexpr std::int64_t kNever = INT64_MAX;

// How long a row lives: see Entry.
struct Life {
  std::int64_t vanishes_ms = kNever;
  std::uint64_t opened = 0;
};

struct Entry {
  Version created = 0;
  Version modified = 0;
  bool erased = false;
  std::int64_t vanishes_ms = kNever;  // it may vanish from then on, on the store's clock
  std::uint64_t opened = 0;           // kWhileOpen: the Store that it lives with; 0: none
  std::string value;
  std::unique_ptr<Entry> older;
};

struct Cell {
  Cell() = default;
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;
  ~Cell() { drop_older(*newest); }

  // Frees the entries behind `entry` one by one: recursion could overflow the stack.
  static void drop_older(Entry& entry);

  std::unique_ptr<Entry> newest = std::make_unique<Entry>();
  bool queued = false;
};

class Table {
 public:
  using Map = std::map<std::string, Cell, std::less<>>;

  // A row as a pin sees it. `entry` is null if there is none.
  struct Found {
    Map::const_iterator at;
    const Entry* entry = nullptr;
  };

  explicit Table(Version version) : version_(version) {}

  Version version() const { return version_; }  // of the newest commit
  std::size_t entries() const;                  // all there are; counts them

  void pin(Version version);    // REQUIRES: not below the newest pin; at most version()
  void unpin(Version version);  // REQUIRES: pinned

  Found find(std::string_view key, Version at) const;

  // The first row of [from, to) as seen at a version; then the one behind a row found before.
  Found first(std::string_view from, std::string_view to, Version at) const;
  Found next(Map::const_iterator behind, std::string_view to, Version at) const;

  // The last row of [from, to); then the one before a row found before.
  Found last(std::string_view from, std::string_view to, Version at) const;
  Found previous(Map::const_iterator before, std::string_view from, Version at) const;

  // Has a row of [from, to) been written after `since`? Erasures do not show; a guard on each row
  // seen covers them.
  bool modified_since(std::string_view from, std::string_view to, Version since) const;

  // One commit: writes under version() + 1, then advance().
  void put(std::string_view key, std::string value, Life life = {});
  bool erase(std::string_view key);  // whether there was one
  void advance();

  // That Store has closed: the rows that lived with it may vanish from then on.
  void closed(std::uint64_t opened, std::int64_t vanishes_ms);

  // The rows that may be gone by that time.
  std::vector<std::string> vanishing(std::int64_t now_ms) const;

 private:
  struct Garbage {
    Version version;  // nobody needs what is older once no pin is below this
    Map::iterator at;
  };

  Version oldest_needed() const { return pins_.empty() ? version_ : pins_.front().version; }
  // The entry to write into: a new one if a pin may need the newest as it is.
  Entry& writable(Map::iterator at);
  void tidy_later(Map::iterator at);
  void collect();

  struct Pin {
    Version version;
    std::size_t count;
  };

  Map cells_;
  Version version_;
  std::deque<Pin> pins_;  // rising versions, no zero counts at the ends
  std::deque<Garbage> garbage_;
};

}  // namespace lockkeeper::kv::internal
