// JSON Schema by somebody else's validator: the protocol's published schemas where this machine has
// them, and the schemas that tools declare for their results.
//
// No third-party text is committed: the folder that LOCKKEEPER_MCP_SCHEMAS names holds
// `<revision>.json`, as npm/schemas.mjs writes them. Without it only our own shapes are checked.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <string>

#include "mcp/shapes.h"

namespace lockkeeper::proof {

// Is there a published schema of this revision here?
bool has_published(const std::string& revision);

// `method`: of the request that a response answers; empty if it is none. Nothing is wrong where
// there is no schema.
Wrongs wrong_by_published(const std::string& revision, const Json& message,
                          const std::string& method);

Wrongs wrong_by_schema(const Json& schema, const Json& value);

}  // namespace lockkeeper::proof
