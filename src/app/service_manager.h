// What a service manager (systemd) hands to a server, and is told by it. No library of theirs is
// needed: two variables and a datagram.
#pragma once

#include <string_view>

#include "base/error.h"
#include "realm/environment.h"

namespace lockkeeper::app {

// The socket that it has opened for this process (LISTEN_FDS, LISTEN_PID); -1: none. invalid_input:
// more than one.
Result<int> inherited_socket(const realm::Environment& env);

// "READY=1", "STOPPING=1"; nothing where nobody listens (NOTIFY_SOCKET).
void tell_manager(const realm::Environment& env, std::string_view state);

}  // namespace lockkeeper::app
