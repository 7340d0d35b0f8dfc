// JSON-RPC 2.0 as MCP uses it: classifies and checks incoming messages, builds outgoing ones.
//
// Reading is strict: text that is not UTF-8, nesting or objects beyond a limit, a duplicate key and
// an id that is neither a string nor a whole number are refused with the error that JSON-RPC
// demands, and with the id if it is known. Broken notifications and responses get no answer.
//
// Thread safety: plain values and free functions.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace lockkeeper::mcp {

using lockkeeper::Json;

inline constexpr std::size_t kMessageBytesMax = 4U << 20;
inline constexpr std::size_t kNestingMax = 64;
inline constexpr std::size_t kKeysMax = 256;  // of one object: finding a key is linear
inline constexpr std::size_t kBatchMax = 100;

namespace code {
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kResourceNotFound = -32002;    // until 2025-11-25
inline constexpr int kHeaderMismatch = -32020;      // from 2026-07-28 on
inline constexpr int kMissingCapability = -32021;   // from 2026-07-28 on
inline constexpr int kUnsupportedVersion = -32022;  // from 2026-07-28 on
}  // namespace code

// A string or a whole number, as ids and progress tokens are.
bool is_id(const Json& id);
// Does `params` have a string of that name?
bool is_text(const Json& params, const char* name);

struct RpcError {
  int code = code::kInternalError;
  std::string message;
  Json data{};  // null: none
};

struct Incoming {
  enum class Kind {
    kRequest,
    kNotification,
    kResponse,  // to a request of ours; without an id, to none
    kBroken,    // answer with `error`, under `id`
  };
  Kind kind = Kind::kBroken;
  Json id;  // a string or a whole number; null: none, or unknown
  std::string method;
  Json params = Json::object();
  Json result;  // of a response; null if it failed
  RpcError error;
};

struct Parsed {
  std::vector<Incoming> messages;  // at least one
  bool batch = false;
};
Parsed parse(std::string_view text);

Json response(const Json& id, Json result);
// Omits a null id: the schemas do not allow null.
Json error_response(const Json& id, const RpcError& error);
Json notification(const std::string& method, Json params);
Json request(const Json& id, const std::string& method, Json params);

// One line, without line breaks; invalid UTF-8 becomes U+FFFD.
std::string line_of(const Json& message);

}  // namespace lockkeeper::mcp
