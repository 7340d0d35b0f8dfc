// Does something on this machine listen on a TCP port?
#pragma once

#include <cstdint>

namespace lockkeeper::host {

// Tries to bind to the port on every address and on loopback, of IPv4 and of IPv6, and keeps
// nothing. Also true if unknown: a port that may be in use is not offered. Connections in TIME_WAIT
// of a server with SO_REUSEADDR, as servers usually are, do not count. Looks only at the process's
// own network namespace.
bool may_have_listener(std::uint16_t port);

}  // namespace lockkeeper::host
