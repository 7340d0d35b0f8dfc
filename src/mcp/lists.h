// What a server offers, listed as the client's revision of the protocol has it.
//
// Thread safety: free functions; call from any thread.
#pragma once

#include "mcp/catalogue.h"
#include "mcp/revision.h"

namespace lockkeeper::mcp {

// {"tools":{},…}, in the form of the client's revision.
Json capabilities_of(const Catalogue& catalogue, const Client& client);

// The lists in the form of the client's revision. A bad cursor is an error.
Answer list_tools(const Catalogue& catalogue, const Client& client, const Json& params);
Answer list_resources(const Catalogue& catalogue, const Client& client, const Json& params);
Answer list_templates(const Catalogue& catalogue, const Client& client, const Json& params);
Answer list_prompts(const Catalogue& catalogue, const Client& client, const Json& params);

}  // namespace lockkeeper::mcp
