// Requests that may take time: tool calls, resource reads, prompts, completions. Checks the request
// before the catalogue's function sees it, and the answer before the client does.
//
// Thread safety: free functions of values; call from any thread.
#pragma once

#include "mcp/call.h"
#include "mcp/catalogue.h"

namespace lockkeeper::mcp {

// Does work() know this method, and does the catalogue have something for it?
bool is_work(const Catalogue& catalogue, const std::string& method);

// Never throws: an exception of a function becomes an internal error.
Answer work(const Catalogue& catalogue, Call& call) noexcept;

}  // namespace lockkeeper::mcp
