// `mcp --http`: the same tools over Streamable HTTP.
#pragma once

#include "cli/context.h"
#include "mcp/audience.h"

namespace lockkeeper::app {

// Does what was asked for make sense? usage else.
Result<void> check_http(const cli::McpOptions& options);

// Serves until `ended` is readable. One line on stderr says where, and names the token's file.
// REQUIRES: options.http, and check_http() liked it.
Result<void> serve_mcp_http(const cli::McpOptions& options, const realm::Realm& realm,
                            const mcp::Catalogue& catalogue, mcp::Pool& pool,
                            mcp::Audience& audience, int ended, cli::Output& out);

}  // namespace lockkeeper::app
