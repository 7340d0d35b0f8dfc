#include "key/place.h"

#include <algorithm>

namespace lockkeeper::key {

Place::Place(const Resource& resource) {
  space_and_segments.reserve(
      std::min(kPlaceBytesMax, resource.space().size() + 1 + resource.text().size()));
  space_and_segments.append(resource.space());
  ancestor_ends.reserve(resource.literal().size());
  for (const std::string& segment : resource.literal()) {
    if (space_and_segments.size() + 1 + segment.size() > kPlaceBytesMax) break;
    ancestor_ends.push_back(space_and_segments.size());
    space_and_segments.push_back('\1');
    space_and_segments.append(segment);
  }
}

}  // namespace lockkeeper::key
