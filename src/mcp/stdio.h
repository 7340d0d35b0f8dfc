// MCP over a pair of descriptors: one message per line in, one per line out, nothing else.
//
// EOF and the signals that ask a process to end stop it at once: nothing that waits is waited for.
// A client that does not read is given up, and does not keep us from reading it meanwhile.
#pragma once

#include <memory>

#include "base/fd.h"
#include "mcp/catalogue.h"
#include "mcp/line_outlet.h"
#include "mcp/session.h"

namespace lockkeeper::mcp {

// The signals that ask a process to end, from now on in a descriptor that becomes readable instead.
// Threads that come later inherit that: to be called before there are any.
Fd end_signals();

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
