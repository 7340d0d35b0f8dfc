// `run [acquire's options] RESOURCE… -- COMMAND…`: take, run, keep renewed, free when it is gone.
#pragma once

#include "cli/context.h"

namespace lockkeeper::cli {

int run_verb(VerbContext& context);

}  // namespace lockkeeper::cli
