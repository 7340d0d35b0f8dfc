// Time on a store that several machines write (rule 9).
//
// Each machine has a monotonic clock of its own, and nobody knows how they are set to each other.
// So a row says by whose clock its times were written, and when. Whoever reads it on another
// machine counts from when it first saw the row as it is, on its own clock: what had a minute left
// when it was written has a minute left at that first sight. It may end late, and never early (I6).
// A row that was written again is another row, so its time counts from a new first sight.
//
// In front of the rules stands one translation: to_own_clock(), right after a row is decoded. From
// then on all times are of the reader's own clock. Where there is one clock for all, the context
// has no Sightings, rows say nothing of clocks, and none of this costs anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "kv/store.h"

namespace lockkeeper::core {

struct Activity;
struct Context;
struct Lease;
struct Trace;

// By whose clock a row's times were written, and when.
struct Stamp {
  std::uint64_t clock = 0;  // 0: there is one clock for all
  std::int64_t mono_ms = 0;
  friend bool operator==(const Stamp&, const Stamp&) = default;
};

// When this machine first saw each row as it is. Kept by the service, one for each store that it
// has open. Nothing of it is stored: after a restart everything is seen for the first time.
//
// Thread safety: none. A service with several threads overrides the virtual methods with a lock.
class Sightings {
 public:
  // `clock` names this machine's clock: not 0, and no other clock has it, of any machine or boot.
  explicit Sightings(std::uint64_t clock, std::size_t most = kMost) : clock_(clock), most_(most) {}

  virtual ~Sightings() = default;
  Sightings(const Sightings&) = delete;
  Sightings& operator=(const Sightings&) = delete;

  std::uint64_t own_clock() const { return clock_; }

  // When the row was first seen as it is; now, if it was not seen before. A row beyond the bound is
  // not kept: it is seen for the first time again.
  virtual std::int64_t first_sight(std::string_view key, kv::Version modified, std::int64_t now_ms);

  // The due rows of others are walked in rounds, one a second (Settler::walk). begin_walk() gives
  // the key to go on from, and false if it is not time yet. end_walk() takes the key where the walk
  // stopped; empty: the round is done. What was not seen during the last two rounds is forgotten.
  virtual bool begin_walk(std::int64_t now_ms, std::string& from);
  virtual void end_walk(std::string next);

  std::size_t size() const { return rows_.size(); }
  static constexpr std::size_t kMost = 1'000'000;
  static constexpr std::int64_t kWalkEveryMs = 1'000;

 private:
  struct Seen {
    kv::Version modified = 0;
    std::int64_t at_ms = 0;
    std::uint64_t round = 0;  // the last one in which it was seen
  };

  const std::uint64_t clock_;
  const std::size_t most_;
  std::unordered_map<std::string, Seen> rows_;
  std::uint64_t round_ = 1;
  std::int64_t next_walk_ms_ = INT64_MIN;
  std::string from_;  // not empty: within a round
};

// Moves all times of what was decoded from this row to the clock of whoever reads it. Of a lease,
// `due_mono_ms` stays as it is filed.
void to_own_clock(Lease& lease, const kv::Row& row, const Context& context);
void to_own_clock(Activity& activity, const kv::Row& row, const Context& context);
void to_own_clock(Trace& trace, const kv::Row& row, const Context& context);
// What whoever writes now writes.
Stamp stamp_of(const Context& context);

}  // namespace lockkeeper::core
