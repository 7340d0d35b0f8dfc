#include "plan/place_index.h"

#include <algorithm>

#include "key/place.h"

namespace lockkeeper::plan {

void PlaceIndex::add(const key::Resource& resource, std::size_t number) {
  filed_.emplace_back(key::Place(resource).space_and_segments, number);
}

void PlaceIndex::sort() {
  std::ranges::sort(filed_);
}

bool PlaceIndex::above(const key::Resource& resource, const Each& each) const {
  const key::Place place(resource);
  return std::ranges::all_of(place.ancestor_ends, [&](std::size_t end) {
    return at(std::string_view(place.space_and_segments).substr(0, end), each);
  });
}

bool PlaceIndex::beside(const key::Resource& resource, const Each& each) const {
  return at(key::Place(resource).space_and_segments, each);
}

bool PlaceIndex::at(std::string_view place, const Each& each) const {
  auto filed = std::ranges::lower_bound(
      filed_, place, {}, [](const auto& one) -> std::string_view { return one.first; });
  for (; filed != filed_.end() && filed->first == place; ++filed) {
    if (!each(filed->second)) return false;
  }
  return true;
}

}  // namespace lockkeeper::plan
