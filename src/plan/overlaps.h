// Which packages want the same thing: every overlapping pair of resources, by the exact engine,
// without comparing everybody with everybody.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "key/resource.h"

namespace lockkeeper::plan {

struct Want {
  key::Resource resource;
  std::uint32_t package = 0;
  std::uint32_t index = 0;  // the asker's own: which of the package's names
};

struct Overlap {
  const Want* a = nullptr;  // of the smaller package number
  const Want* b = nullptr;
  std::string witness;
};

// Comparisons with a pattern that one search may make; limit_exceeded beyond.
inline constexpr std::size_t kPatternsCompared = 5'000'000;
// The same of pairs that are looked at, those of one package and those apart included.
inline constexpr std::size_t kPairsLookedAt = 50'000'000;

// Calls `found` for every pair of wants of two different packages that overlap, each once, until it
// says false. `apart` passes over pairs of packages that never meet. Cost: for each want its
// ancestors and what lies below it, as in the lock table. An error of the
// engine ends the search after what was found so far.
Result<void> find_overlaps(const std::vector<Want>& wants,
                           const std::function<bool(std::uint32_t, std::uint32_t)>& apart,
                           const std::function<bool(const Overlap&)>& found);

}  // namespace lockkeeper::plan
