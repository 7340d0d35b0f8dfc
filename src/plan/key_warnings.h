// What a plan should hear about its keys.
#pragma once

#include <string>
#include <vector>

#include "key/resource.h"

namespace lockkeeper::plan {

// The warnings of a key that was parsed by these rules. Any word may be a feature's purpose, and
// only `pause` means something to us. So without a configured list a purpose is worth a warning
// only if it looks like a misspelt one.
std::vector<std::string> key_warnings(const key::Parsed& parsed, const key::Rules& rules);

}  // namespace lockkeeper::plan
