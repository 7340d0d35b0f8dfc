// The namespaces without globs: the canonical text after `prefix:`, or the rule that it breaks.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "key/resource.h"

namespace lockkeeper::key {

template <class List>
bool is_one_of(const List& list, std::string_view text) {
  return std::ranges::find(list, text) != std::ranges::end(list);
}

// "get  /v1//users/" → "GET /v1/users". An unusual method is a warning.
Result<std::string> canonical_api(std::string_view rest, std::vector<std::string>& warnings);
// "migration-slot", or "schema:Users" → "schema:users".
Result<std::string> canonical_db(std::string_view rest);
// Anything shared that is not a port; ports have a verb of their own.
Result<std::string> canonical_env(std::string_view rest);
// "<id>:<purpose>"; an unknown purpose is a warning.
Result<std::string> canonical_feature(std::string_view rest, const Rules& rules,
                                      std::vector<std::string>& warnings);
// One folder name of the mkdir lock files.
Result<std::string> canonical_task(std::string_view rest);

}  // namespace lockkeeper::key
