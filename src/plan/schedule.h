// In which order, and how many at once. Two packages cannot run in one round if they conflict or if
// one needs the other.
//
// The fewest rounds is a colouring of a mixed graph: hard in general, small here. Up to
// kExactPackages the answer is exact, by search with a lower bound from cliques and chains; beyond
// that a heuristic, with the bound, so that one can see how far it may be off.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "plan/graph.h"

namespace lockkeeper::plan {

inline constexpr std::size_t kExactPackages = 40;

// Who conflicts with whom; both directions, no doubles.
using Conflicts = std::vector<std::vector<std::size_t>>;

struct Waves {
  std::vector<std::vector<std::size_t>> rounds;  // each in the order of numbers
  std::size_t at_least = 0;                      // no plan has fewer rounds
  bool exact = false;                            // rounds.size() is the fewest there can be
};

// REQUIRES: no ring in `needs`. The search ends after `steps`, with the best that was found.
inline constexpr std::size_t kSearchSteps = 3'000'000;
Waves fewest_rounds(const Graph& needs, const Conflicts& conflicts,
                    std::size_t steps = kSearchSteps);

// What really happens when each package starts as soon as it can: when what it needs is done and
// nothing that runs conflicts with it. `jobs`: at most so many at once; 0: no limit.
struct Slot {
  std::size_t package = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
std::vector<Slot> timeline(const Graph& needs, const Conflicts& conflicts,
                           const std::vector<std::int64_t>& minutes, std::size_t jobs);

// The longest chain of needs by time, first to last, and how long it takes.
std::pair<std::vector<std::size_t>, std::int64_t> critical_path(
    const Graph& needs, const std::vector<std::int64_t>& minutes);

}  // namespace lockkeeper::plan
