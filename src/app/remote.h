// What the program does about a hub elsewhere: tries a login, and becomes the relay.
#pragma once

#include "cli/context.h"
#include "realm/server.h"

namespace lockkeeper::app {

// The name of the token's person.
Result<std::string> try_login(const realm::Login& login, Random& random);
Result<int> run_relay(cli::VerbContext& context, const std::string& url);

}  // namespace lockkeeper::app
