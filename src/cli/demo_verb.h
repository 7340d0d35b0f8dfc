// `demo`: several agents share a repository, end to end, in a temporary folder.
#pragma once

#include "cli/context.h"

namespace lockkeeper::cli {

int demo_verb(VerbContext& context);

}  // namespace lockkeeper::cli
