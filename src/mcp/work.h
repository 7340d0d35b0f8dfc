// What may take time: a tool's call, a resource's reading, a prompt, a completion. Held against the
// protocol before the catalogue's functions see it, and their answers before a client sees them.
//
// Thread safety: free functions of values; call from any thread.
#pragma once

#include "mcp/call.h"
#include "mcp/catalogue.h"

namespace lockkeeper::mcp {

// Does work() know this method, and does the catalogue have something for it?
bool is_work(const Catalogue& catalogue, const std::string& method);

// Never throws: a function that does has failed inside the server.
Answer work(const Catalogue& catalogue, Call& call) noexcept;

}  // namespace lockkeeper::mcp
