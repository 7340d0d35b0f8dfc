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

// An answer's result as the client's revision has it: with the fields that it demands, without
// those that it lacks.
Json result_for(const Call& call, const Catalogue& catalogue, const Answer& answer);

// {"name":…,"version":…}, with a title where there are titles.
Json server_info(const Catalogue& catalogue, const Client& client);

}  // namespace lockkeeper::mcp
