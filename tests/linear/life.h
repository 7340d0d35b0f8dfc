// When a lease or a request in the queue is over by itself: moments that are only known to lie in
// an interval.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "linear/history.h"

namespace lockkeeper::linear {

struct Step;

inline constexpr std::int64_t kMs = 1'000'000;

// Strictly after so many milliseconds, of which the clock counts whole ones.
inline std::int64_t moment_after(std::int64_t from, std::int64_t ms) {
  return from > kNever - (ms + 1) * kMs ? kNever : (from / kMs + ms + 1) * kMs;
}

// One that keeps a lease: a process, or, never dead, nobody in particular.
struct Keeper {
  Death death;
  // A commit that found it dead may have read its clock this early: it had begun before.
  std::int64_t found_from = kNever;
  bool perhaps_forgotten = false;  // it may have been dead when another was added
};

struct Life {
  std::int64_t end_from = kNever;  // by its length: not before, and from `end_to` on surely
  std::int64_t end_to = kNever;
  std::map<std::string, Keeper> holds;  // by process; "": detached
  std::int64_t grace_ms = 0;
  bool orphaned = false;              // its processes were found dead
  std::int64_t orphan_to = kNever;    // its grace has surely passed
  bool handed = false;                // a lease that was handed over and not yet taken,
  std::int64_t handed_from = 0;       // at a moment not before this,
  std::int64_t handed_to = kNever;    // and not after this
  const Step* asker = nullptr;        // of a request in the queue, or of what was handed over
  std::uint64_t fence_above = 0;      // its fence, if nobody was told, is greater than this,
  std::uint64_t fence_below = ~0ULL;  // and smaller than this

  // All who keep it are dead: the last of them died between these moments.
  Death gone() const {
    Death last{0, 0};
    for (const auto& [process, keeper] : holds) {
      last.from = std::max(last.from, keeper.death.from);
      last.to = std::max(last.to, keeper.death.to);
    }
    return last;
  }
  // Without those who keep it: by its grace, as far as it is known, or at once.
  Death left() const {
    if (grace_ms == 0) return gone();
    std::int64_t found = 0;
    for (const auto& [process, keeper] : holds) found = std::max(found, keeper.found_from);
    return {std::max(gone().from, moment_after(found, grace_ms)), orphan_to};
  }
  std::int64_t from() const { return std::min(end_from, left().from); }
  std::int64_t to() const { return std::min(end_to, left().to); }
};

}  // namespace lockkeeper::linear
