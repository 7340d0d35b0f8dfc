// Resources indexed by their literal part, as in the lock table: only resources at the same place,
// above it or below it can overlap.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "key/resource.h"

namespace lockkeeper::plan {

class PlaceIndex {
 public:
  // `number`: for the caller; the answers contain it.
  void add(const key::Resource& resource, std::size_t number);
  void sort();  // after the last add()

  // The numbers above the resource's place, or at it, until `each` returns false.
  using Each = std::function<bool(std::size_t)>;
  bool above(const key::Resource& resource, const Each& each) const;
  bool beside(const key::Resource& resource, const Each& each) const;

 private:
  bool at(std::string_view place, const Each& each) const;

  std::vector<std::pair<std::string, std::size_t>> filed_;
};

}  // namespace lockkeeper::plan
