// A plan named on the command line.
#pragma once

#include <string>

#include "base/error.h"

namespace lockkeeper::cli {

// The whole text. not_found if there is no such file, limit_exceeded if it is longer than a plan
// may be, invalid_input if it is a folder, a pipe or cannot be read; each with a hint.
Result<std::string> read_plan_text(const std::string& file);

}  // namespace lockkeeper::cli
