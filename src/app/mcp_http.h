// `mcp --http`: the same tools over Streamable HTTP.
#pragma once

#include "cli/context.h"
#include "mcp/audience.h"

namespace lockkeeper::app {

// usage if the flags contradict each other.
Result<void> check_http(const cli::McpOptions& options);

// Serves until `ended` is readable. Prints the URL and the token's file, never the token, on
// stderr. REQUIRES: options.http, and check_http() passed.
Result<void> serve_mcp_http(const cli::McpOptions& options, const realm::Realm& realm,
                            const mcp::Catalogue& catalogue, mcp::Pool& pool,
                            mcp::Audience& audience, int ended, cli::Output& out);

}  // namespace lockkeeper::app
