// A scopes file: several agents with what each is going to change.
//
//   {"agents": [
//     {"agent": "frontend-developer",
//      "files": ["src/shared/Button.tsx"], "directories": ["src/components/"],
//      "task_description": "asset table", "ttl": "2h"},
//     {"agent": "backend-developer", "directories": ["server/"], "after": ["frontend-developer"]}]}
//
// The list may stand alone, or be called "scopes"; or the agents may be an object by name. Besides,
// an agent may have `globs`, `keys`, `task`, `after` and `command`, for those who can use them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lockkeeper::dialect::workflow {

inline constexpr std::size_t kScopesBytesMax = 16 << 20;
inline constexpr std::size_t kScopesAgentsMax = 1'000;

struct ScopeEntry {
  std::string agent;
  std::vector<std::string> files;
  std::vector<std::string> directories;
  std::vector<std::string> globs;
  std::vector<std::string> keys;
  std::string task_description;
  std::string task;                    // an id
  std::vector<std::string> after;      // agents that must have completed
  std::vector<std::string> command;    // one word alone: a line for the shell
  std::optional<std::int64_t> ttl_ms;  // kNoEnd for "none"
};

// invalid_input names the agent, the field and what is wrong with it: no JSON, a field of the wrong
// type, one that is not known (with the nearest that is), an agent twice, none at all.
Result<std::vector<ScopeEntry>> parse_scopes(std::string_view json);
// Of a file; `-` is not special. invalid_input begins with its name.
Result<std::vector<ScopeEntry>> read_scopes(const std::string& path);

}  // namespace lockkeeper::dialect::workflow
