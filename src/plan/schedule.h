// In which order packages run, and how many at once. Two packages cannot share a round if they
// conflict or one needs the other.
//
// Finding the fewest rounds is colouring a mixed graph: hard in general, but plans are small. Up to
// kExactPackages the answer is exact, by a search with a lower bound from cliques and chains.
// Beyond that it is a heuristic, and the bound shows how far off it may be.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "plan/graph.h"

namespace lockkeeper::plan {

inline constexpr std::size_t kExactPackages = 40;

// The packages that each conflicts with; both directions, no doubles.
using Conflicts = std::vector<std::vector<std::size_t>>;

struct Waves {
  std::vector<std::vector<std::size_t>> rounds;  // each in the order of numbers
  std::size_t at_least = 0;                      // a lower bound
  bool exact = false;                            // rounds.size() is the minimum
};

// The search ends after `steps` with the best result so far. REQUIRES: no cycle in `needs`.
inline constexpr std::size_t kSearchSteps = 3'000'000;
Waves fewest_rounds(const Graph& needs, const Conflicts& conflicts,
                    std::size_t steps = kSearchSteps);

// What happens if each package starts as soon as it can: when all it needs is done and no running
// package conflicts with it. `jobs`: the most at once; 0: no limit.
struct Slot {
  std::size_t package = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
std::vector<Slot> timeline(const Graph& needs, const Conflicts& conflicts,
                           const std::vector<std::int64_t>& minutes, std::size_t jobs);

// The longest chain of needs by time, from first to last, and its duration.
std::pair<std::vector<std::size_t>, std::int64_t> critical_path(
    const Graph& needs, const std::vector<std::int64_t>& minutes);

}  // namespace lockkeeper::plan
