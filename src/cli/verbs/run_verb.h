// `run [acquire's options] RESOURCE… -- COMMAND…`: holds a lease while a command runs.
#pragma once

#include "cli/context.h"
#include "service/run.h"

namespace lockkeeper::cli {

Result<int> run_verb(VerbContext& context);

// Prints an event of a command under a lock.
void tell_run(Output& out, const service::RunEvent& event);

}  // namespace lockkeeper::cli
