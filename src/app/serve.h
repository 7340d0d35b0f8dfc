// `serve`: opens the realms, the tokens and the socket, and serves until a signal comes.
#pragma once

#include "cli/context.h"

namespace lockkeeper::app {

Result<int> serve_hub(cli::VerbContext& context, const cli::ServeOptions& options);

}  // namespace lockkeeper::app
