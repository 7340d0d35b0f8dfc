// MCP over a pair of descriptors: one message per line in, one per line out, nothing else.
//
// EOF and termination signals stop it at once, without waiting for waiting calls. A client that
// does not read is given up; until then its input is still read.
#pragma once

#include <memory>

#include "mcp/catalogue.h"
#include "mcp/line_outlet.h"
#include "mcp/session.h"

namespace lockkeeper::mcp {

struct StdioOptions {
  int in = 0;
  int out = 1;
  int ended = -1;  // readable after a signal; -1: none
  LineLimits limits = {};
};

// Serves until the client is gone or a signal came. A line beyond the limit is answered and
// skipped; a last line without its end counts. `session` is for notifying it of changes.
void serve_stdio(const std::shared_ptr<Session>& session, const StdioOptions& options);

}  // namespace lockkeeper::mcp
