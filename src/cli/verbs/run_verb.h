// `run [acquire's options] RESOURCE… -- COMMAND…`: take, run, keep renewed, free when it is gone.
#pragma once

#include "cli/context.h"
#include "service/run.h"

namespace lockkeeper::cli {

int run_verb(VerbContext& context);

// What happens to a command under a lock, for the person who started it.
void tell_run(Output& out, const service::RunEvent& event);

}  // namespace lockkeeper::cli
