// An answer in the form that the client's revision of the protocol demands.
//
// Thread safety: free functions; call from any thread.
#pragma once

#include "mcp/call.h"
#include "mcp/catalogue.h"

namespace lockkeeper::mcp {

// An answer's result as the client's revision has it: with the fields that it demands, without
// those that it lacks.
Json result_for(const Call& call, const Catalogue& catalogue, const Answer& answer);

// {"name":…,"version":…}, with a title where there are titles.
Json server_info(const Catalogue& catalogue, const Client& client);

}  // namespace lockkeeper::mcp
