// Resources filed as in the lock table, by their literal part: what can overlap a resource stands
// at its own place, above it or below it, and nowhere else.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "key/resource.h"

namespace lockkeeper::plan {

class PlaceIndex {
 public:
  // `number` is the caller's own; it comes back in answers.
  void add(const key::Resource& resource, std::size_t number);
  void sort();  // after the last add()

  // The numbers at places strictly above the resource's own (at it), until `each` says false.
  using Each = std::function<bool(std::size_t)>;
  bool above(const key::Resource& resource, const Each& each) const;
  bool beside(const key::Resource& resource, const Each& each) const;

 private:
  bool at(std::string_view place, const Each& each) const;

  std::vector<std::pair<std::string, std::size_t>> filed_;
};

}  // namespace lockkeeper::plan
