// MCP over a pair of descriptors: one message per line in, one per line out, nothing else.
//
// EOF and the signals that ask a process to end stop it at once: nothing is waited for.
#pragma once

#include <functional>

#include "mcp/catalogue.h"
#include "mcp/session.h"

namespace lockkeeper::mcp {

struct StdioOptions {
  int in = 0;
  int out = 1;
  int ended = -1;  // readable: a signal came; -1: nobody says so
};

// Serves until the client is gone or a signal came. A line beyond the limit is answered and passed
// over. `session` is for who wants to tell it of changes.
void serve_stdio(const std::shared_ptr<Session>& session, const StdioOptions& options);

}  // namespace lockkeeper::mcp
