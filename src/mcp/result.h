// An answer in the form that the client's revision of the protocol demands.
//
// Thread safety: free functions; call from any thread.
#pragma once

#include "mcp/call.h"
#include "mcp/catalogue.h"

namespace lockkeeper::mcp {

// The result with the fields that the client's revision demands, without those that it lacks.
Json result_for(const Call& call, const Catalogue& catalogue, const Answer& answer);

// {"name":…,"version":…}, with a title if the revision has titles.
Json server_info(const Catalogue& catalogue, const Client& client);

}  // namespace lockkeeper::mcp
