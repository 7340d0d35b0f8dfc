// `demo`: several agents share a repository, end to end, in a temporary folder.
#pragma once

#include "cli/context.h"

namespace lockkeeper::demo {

Result<int> demo_verb(cli::VerbContext& context);

}  // namespace lockkeeper::demo
