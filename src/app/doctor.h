// `doctor`: checks the realm, the settings, the caller's identity, the store's files and the
// table's rows; says what is wrong and what to do; repairs the store on request.
#pragma once

#include "cli/context.h"

namespace lockkeeper::app {

// Exit status 0 if all is well, otherwise that of the first problem.
int doctor(cli::VerbContext& context, cli::Repair how);

}  // namespace lockkeeper::app
