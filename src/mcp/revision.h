// The protocol revisions that we support, and how their two eras differ.
//
//   legacy  `initialize` opens a session; both sides send requests; resources are subscribed to
//   modern  stateless: every request names its revision and its client's capabilities in `_meta`;
//           results say that they are complete; long-lived requests carry notifications
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mcp/json_rpc.h"

namespace lockkeeper::mcp {

enum class Era { kLegacy, kModern };

inline constexpr std::string_view kModernRevision = "2026-07-28";
inline constexpr std::string_view kLegacyRevisions[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                                        "2024-11-05"};  // newest first

bool is_legacy_revision(std::string_view revision);

// Keys of `_meta`.
inline constexpr const char* kMetaRevision = "io.modelcontextprotocol/protocolVersion";
inline constexpr const char* kMetaCapabilities = "io.modelcontextprotocol/clientCapabilities";
inline constexpr const char* kMetaClient = "io.modelcontextprotocol/clientInfo";
inline constexpr const char* kMetaLogLevel = "io.modelcontextprotocol/logLevel";
inline constexpr const char* kMetaServer = "io.modelcontextprotocol/serverInfo";
inline constexpr const char* kMetaSubscription = "io.modelcontextprotocol/subscriptionId";

// Which of an HTTP server's clients it is.
struct Visitor {
  std::string name;         // the same in all its requests; empty: a connection of its own (stdio)
  bool told_apart = false;  // no two clients have the same name
};

// The client of one request (modern) or of a session (legacy).
struct Client {
  Era era = Era::kLegacy;
  std::string revision{kLegacyRevisions[0]};
  Json capabilities = Json::object();
  Json info = Json::object();
  Visitor visitor;

  bool at_least(std::string_view since) const { return revision >= since; }
  bool can(const std::string& capability) const { return capabilities.contains(capability); }
  // Has it declared the capability for this request? `params` may narrow it down.
  bool can_be_asked(const std::string& method, const Json& params) const;
};

// A modern client without capabilities.
Client modern_client();

// The capability that this request to a client needs, as -32021 names it: {"sampling":{}}. null: no
// client can be asked that.
Json capabilities_for(const std::string& method, const Json& params);

// The `_meta` of a request's parameters; an empty object if there is none.
const Json& meta_of(const Json& params);

// Does the request declare itself modern?
bool is_modern(const Json& params);

}  // namespace lockkeeper::mcp
