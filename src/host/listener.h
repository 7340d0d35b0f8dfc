// Does something on this machine listen on a TCP port?
#pragma once

#include <cstdint>

namespace lockkeeper::host {

// Tried by binding to the port on every address and on loopback, of IPv4 and of IPv6; nothing is
// kept. Also true where that cannot be told: a port that may be in use is not offered. What a
// server with SO_REUSEADDR, as servers are, left behind in TIME_WAIT does not count. Speaks of the
// process's network namespace.
bool may_have_listener(std::uint16_t port);

}  // namespace lockkeeper::host
