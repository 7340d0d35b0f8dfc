// Does something on this machine listen on a TCP port?
#pragma once

#include <cstdint>

namespace lockkeeper::host {

// Tried by binding to the port on every address and on loopback, of IPv4 and of IPv6; nothing is
// kept. Also true where that cannot be told: a port that may be in use is not offered. A port whose
// connections are merely closing (TIME_WAIT) is free. Speaks of the process's network namespace.
bool may_have_listener(std::uint16_t port);

}  // namespace lockkeeper::host
