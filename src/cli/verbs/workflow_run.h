// `workflow run`: a plan's agents, side by side, each under its locks; and `workflow keep`, the
// process that stands behind each of them.
#pragma once

#include "cli/context.h"

namespace lockkeeper::cli {

int workflow_run(VerbContext& context);

// Started by `workflow run` alone, with its attempt's folder.
int workflow_keep(VerbContext& context);

}  // namespace lockkeeper::cli
