// What two packages both name, less what one of them may not write.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "key/resource.h"

namespace lockkeeper::plan {

// Something that `a` and `b` both cover and none of `denied` does: `witness` (a name that both
// cover) itself, or another text for it; nullopt if nothing is left. Where two patterns cross and
// only their common part is denied it may say that something is left, never the reverse.
std::optional<std::string> left_of(const key::Resource& a, const key::Resource& b,
                                   const std::string& witness,
                                   const std::vector<key::Resource>& denied,
                                   const key::Rules& rules);

}  // namespace lockkeeper::plan
