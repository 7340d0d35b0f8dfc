// `open`: the hub's page in the user's browser, logged in. Serves it if no hub does.
#pragma once

#include "cli/context.h"

namespace lockkeeper::app {

Result<int> open_page(cli::VerbContext& context, const cli::OpenOptions& options);

}  // namespace lockkeeper::app
