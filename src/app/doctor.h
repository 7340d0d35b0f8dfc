// `doctor`: is everything in order, and if not, what is it and what to do? Looks at the realm, the
// settings, who asks, the store's files and the table's rows; told to, repairs the store.
#pragma once

#include "cli/context.h"

namespace lockkeeper::app {

// Exit status 0 if all is well, that of the first thing that is not.
int doctor(cli::VerbContext& context, bool repair);

}  // namespace lockkeeper::app
