// What the program does about a hub elsewhere: tries a login, and becomes the relay.
#pragma once

#include "cli/context.h"
#include "realm/server.h"

namespace lockkeeper::app {

// One for each address of the login.
std::vector<realm::TriedHub> try_hubs(const realm::Login& login, Random& random);
Result<int> run_relay(cli::VerbContext& context, const std::string& url);

}  // namespace lockkeeper::app
