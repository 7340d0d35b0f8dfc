// The relay: the one process of a user on this machine that talks to a hub. It holds token and
// connection, beats, and judges by slots and pids who lives here. docs/decisions/remote.md has the
// design; remote/relay_line.h has what processes say to it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "realm/environment.h"
#include "realm/server.h"

namespace lockkeeper::relay {

// A call takes at most this long, and `await` what it asks for more (at most a second).
inline constexpr int kCallMs = 6'000;

// Returns when nobody has needed it for half a minute, or SIGTERM came. `leave` is called before
// there are threads: it leaves the starter behind; what it returns is called with 0 once processes
// can connect. Without an error and at once: another relay is there.
using Ready = std::function<void(int status)>;
Result<void> run(const std::string& url, const std::string& version, const realm::Environment& env,
                 Random& random, const std::function<Result<Ready>()>& leave);

// Asks each address of the login once: is the token good, whose is it? Nothing is kept.
std::vector<realm::TriedHub> try_hubs(const realm::Login& login, const std::string& version,
                                      Random& random);

}  // namespace lockkeeper::relay
