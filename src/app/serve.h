// `serve`: opens the realms, the tokens and the socket, and serves until a signal comes.
#pragma once

#include <functional>

#include "cli/context.h"

namespace lockkeeper::app {

Result<int> serve_hub(cli::VerbContext& context, const cli::ServeOptions& options);

// For `open`: a hub that needs no token yet, and only for the realms that are named.
struct ServeForPage {
  std::function<Result<void>()> ready;  // called once it listens
};
Result<int> serve_hub(cli::VerbContext& context, const cli::ServeOptions& options,
                      const ServeForPage* page);

}  // namespace lockkeeper::app
