// `serve`: opens the realms, the tokens and the socket, and serves until a signal comes.
#pragma once

#include <functional>

#include "cli/context.h"

namespace lockkeeper::app {

Result<int> serve_hub(cli::VerbContext& context, const cli::ServeOptions& options);

// The name of a repository that was given none: as its clones call it, or after its folder.
Result<std::string> served_name(const realm::Realm& realm, const realm::Environment& env);

// For `open`: a hub that needs no token yet, and only for the realms that are named.
struct ServeForPage {
  std::function<Result<void>()> ready;  // called once it listens
};
Result<int> serve_hub(cli::VerbContext& context, const cli::ServeOptions& options,
                      const ServeForPage* page);

}  // namespace lockkeeper::app
