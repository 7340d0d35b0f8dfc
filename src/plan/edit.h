// Writes a change of a plan into its file.
#pragma once

#include <string>
#include <string_view>

#include "plan/change.h"
#include "yaml/rewrite.h"

namespace lockkeeper::plan {

// The document with the change made and nothing else touched. After a merge, jobs that waited for
// either wait for the merged one. REQUIRES: `plan` was loaded from `root`, and is usable.
yaml::Node edited(const yaml::Node& root, const Plan& plan, const Change& change,
                  const key::Rules& rules);

// The same in the file's text. invalid_input if it is not a document.
Result<yaml::Rewritten> apply_change(std::string_view text, const Plan& plan, const Change& change,
                                     const key::Rules& rules);

}  // namespace lockkeeper::plan
