// MCP over a pair of descriptors: one message per line in, one per line out, nothing else.
//
// EOF and the signals that ask a process to end stop it at once: nothing that waits is waited for.
// A client that does not read is given up, and does not keep us from reading it meanwhile.
#pragma once

#include <memory>

#include "mcp/catalogue.h"
#include "mcp/line_outlet.h"
#include "mcp/session.h"

namespace lockkeeper::mcp {

struct StdioOptions {
  int in = 0;
  int out = 1;
  int ended = -1;  // readable: a signal came; -1: nobody says so
  LineLimits limits = {};
};

// Serves until the client is gone or a signal came. A line beyond the limit is answered and passed
// over; a last line without its end counts. `session` is for who wants to tell it of changes.
void serve_stdio(const std::shared_ptr<Session>& session, const StdioOptions& options);

}  // namespace lockkeeper::mcp
