// `doctor [--repair]`: explains a damaged store and repairs it on request.
#pragma once

#include "cli/context.h"

namespace lockkeeper::cli {

// Parses its flags, then calls CliEnvironment::doctor.
Result<int> doctor_verb(VerbContext& context);

}  // namespace lockkeeper::cli
