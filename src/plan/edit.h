// A change of a plan, made in its file.
#pragma once

#include <string>
#include <string_view>

#include "plan/proposals.h"
#include "yaml/rewrite.h"

namespace lockkeeper::plan {

// The document of `plan` with that change made. Nothing else is touched; after a merge, who waited
// for either waits for the one that is left. REQUIRES: `plan` was loaded from `root`, and is
// usable.
yaml::Node edited(const yaml::Node& root, const Plan& plan, const Change& change,
                  const key::Rules& rules);

// The same in the file's own text. invalid_input if it is no document.
Result<yaml::Rewritten> apply_change(std::string_view text, const Plan& plan, const Change& change,
                                     const key::Rules& rules);

}  // namespace lockkeeper::plan
