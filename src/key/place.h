// Where a resource is filed, so that everything it can overlap is found nearby.
//
// A place is the resource's space, then each of its literal segments after a byte 1. Neither can
// contain control characters, so "this place and all below" is a range of names in byte order, and
// so is "exactly this place". Two resources can overlap only if the literal part of one is a prefix
// of the other's. So what overlaps a resource is filed at its own place, above it or below it, and
// nowhere else.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "key/resource.h"

namespace lockkeeper::key {

// Longer literal parts are filed at the ancestor that fits. They are found there just the same, and
// overlap() decides.
inline constexpr std::size_t kPlaceBytesMax = 400;

struct Place {
  explicit Place(const Resource& resource);
  std::string space_and_segments;
  std::vector<std::size_t> ancestor_ends;  // prefixes of it that are strict ancestors, root first
};

}  // namespace lockkeeper::key
