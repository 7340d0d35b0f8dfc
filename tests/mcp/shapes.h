// The shapes of what a server sends, by method and revision, written from the specification: which
// members there must and may be, of what type, since and until which revision. Nothing else may be
// there, apart from `_meta` and what a structure leaves open.
//
// Thread safety: free functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lockkeeper::proof {

using Json = nlohmann::json;
using Wrongs = std::vector<std::string>;  // one sentence each; empty: nothing is wrong

inline constexpr const char* kModern = "2026-07-28";
inline constexpr const char* kRevisions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25",
                                             kModern};  // oldest first

inline constexpr const char* kServerInfoKey = "io.modelcontextprotocol/serverInfo";
inline constexpr const char* kSubscriptionKey = "io.modelcontextprotocol/subscriptionId";

// A string or a whole number.
bool is_id(const Json& id);

// The `result` of a request of this method.
Wrongs wrong_result(const std::string& revision, const std::string& method, const Json& result);
// The `error` of any request. An empty revision: before any was agreed on.
Wrongs wrong_error(const std::string& revision, const Json& error);
// The `params` of a notification, null if it has none.
Wrongs wrong_notification(const std::string& revision, const std::string& method,
                          const Json& params);
// The `params` of a request that a server makes (legacy).
Wrongs wrong_request(const std::string& revision, const std::string& method, const Json& params);

}  // namespace lockkeeper::proof
