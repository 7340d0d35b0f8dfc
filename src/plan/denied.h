// What two packages share, without what one of them may not write.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "key/resource.h"

namespace lockkeeper::plan {

// Something that `a` and `b` both cover and `denied` does not: `witness` (a name that both cover),
// or another text; nullopt if nothing is left. If two patterns cross and exactly their common part
// is denied, the answer may be that something is left; never the reverse.
std::optional<std::string> left_of(const key::Resource& a, const key::Resource& b,
                                   const std::string& witness,
                                   const std::vector<key::Resource>& denied);

}  // namespace lockkeeper::plan
