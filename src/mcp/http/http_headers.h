// What the headers of an MCP request must say, so that whoever stands between client and server can
// read them instead of the body: the same as the body (2026-07-28).
//
// Thread safety: free functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"
#include "mcp/catalogue.h"
#include "mcp/json_rpc.h"

namespace lockkeeper::mcp {

// A header's value as text: `=?base64?…?=` is decoded, all else is itself. nullopt: it says that it
// is base64 and is not.
std::optional<std::string> decode_header(std::string_view value);

// Does the Accept header, if there is one, allow that type? `type` is "application/json".
bool accepts(const http::Request& request, std::string_view type);
// Is the body said to be JSON?
bool is_json(const http::Request& request);

// Mcp-Method, Mcp-Name and the Mcp-Param-… of a tool whose schema asks for them, held against the
// body; the error if they differ, or one is missing.
std::optional<RpcError> header_mismatch(const http::Request& request, const Incoming& message,
                                        const Catalogue& catalogue);

}  // namespace lockkeeper::mcp
