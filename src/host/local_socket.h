// Sockets between the processes of one user on this machine.
//
// Thread safety: plain functions without state.
#pragma once

#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace lockkeeper::host {

// For this user alone (0600), from its beginning; replaces what is there. failed: it cannot be
// made, for example because the path is too long for a socket.
Result<Fd> listen_local(const std::string& path);
// The next one that connects; none: nobody, or another user (root may).
Fd accept_local(int listening);
// not_found: nobody listens there. failed: it cannot be used, or another user listens.
Result<Fd> connect_local(const std::string& path);

}  // namespace lockkeeper::host
