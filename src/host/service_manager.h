// What a service manager (systemd) hands to a server, and is told by it. No library of theirs is
// needed: two variables and a datagram.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace lockkeeper::host {

using Environment = std::function<std::optional<std::string>(const char* name)>;

// The socket that it has opened for this process (LISTEN_FDS, LISTEN_PID); -1: none. invalid_input:
// more than one.
Result<int> inherited_socket(const Environment& env);

// "READY=1", "STOPPING=1"; nothing where nobody listens (NOTIFY_SOCKET).
void tell_manager(const Environment& env, std::string_view state);

}  // namespace lockkeeper::host
