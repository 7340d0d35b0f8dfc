// Which packages want the same thing: every overlapping pair of resources, without comparing every
// resource with every other.
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
  std::uint32_t index = 0;  // for the caller: which of the package's names
};

struct Overlap {
  const Want* a = nullptr;  // of the smaller package number
  const Want* b = nullptr;
  std::string witness;
};

// The limits of one search: comparisons with a pattern, and pairs in total. limit_exceeded beyond.
inline constexpr std::size_t kPatternsCompared = 5'000'000;
inline constexpr std::size_t kPairsLookedAt = 50'000'000;

// Calls `found` once for every overlapping pair of wants of two packages, until it returns false.
// `apart`: packages that never run at the same time are ignored. Cost: for each want its ancestors
// and what lies below it, as in the lock table. An error ends the search.
Result<void> find_overlaps(const std::vector<Want>& wants,
                           const std::function<bool(std::uint32_t, std::uint32_t)>& apart,
                           const std::function<bool(const Overlap&)>& found);

}  // namespace lockkeeper::plan
