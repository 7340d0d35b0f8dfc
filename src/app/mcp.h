// `mcp`: connects the lock tools to a transport and serves until the client is gone or a signal
// comes.
#pragma once

#include "cli/context.h"

namespace lockkeeper::app {

Result<int> serve_mcp(cli::VerbContext& context, const cli::McpOptions& options);

}  // namespace lockkeeper::app
