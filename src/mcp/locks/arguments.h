// Reads arguments of a tool call that were checked against its input schema.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mcp/json_rpc.h"

namespace lockkeeper::mcp::locks {

inline constexpr std::int64_t kWaitMostMs = 45'000;  // clients give up after 60 s

// "" if it is missing.
inline std::string text_argument(const Json& arguments, const char* name) {
  const auto found = arguments.find(name);
  return found == arguments.end() || found->is_null() ? std::string() : found->get<std::string>();
}

// Empty if it is missing.
inline std::vector<std::string> text_arguments(const Json& arguments, const char* name) {
  const auto found = arguments.find(name);
  if (found == arguments.end() || found->is_null()) return {};
  return found->get<std::vector<std::string>>();
}

// A whole number, also as 5.0, which is the same in JSON.
inline std::int64_t number_argument(const Json& arguments, const char* name,
                                    std::int64_t otherwise) {
  const auto found = arguments.find(name);
  if (found == arguments.end() || found->is_null()) return otherwise;
  return found->get<std::int64_t>();
}

}  // namespace lockkeeper::mcp::locks
