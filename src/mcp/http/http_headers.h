// The headers of an MCP request must agree with its body, so that proxies can read the headers
// instead (2026-07-28).
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

// A header's value, with `=?base64?…?=` decoded. nullopt: invalid base64.
std::optional<std::string> decode_header(std::string_view value);

// Does the Accept header, if there is one, allow that type? `type` is "application/json".
bool accepts(const http::Request& request, std::string_view type);

// Compares Mcp-Method, Mcp-Name, and the Mcp-Param-… headers that a tool's schema demands with the
// body. An error if one differs or is missing.
std::optional<RpcError> header_mismatch(const http::Request& request, const Incoming& message,
                                        const Catalogue& catalogue);

}  // namespace lockkeeper::mcp
