// A scopes file: several agents, each with what it will change. YAML or JSON.
//
//   {"agents": [
//     {"agent": "frontend-developer",
//      "files": ["src/shared/Button.tsx"], "directories": ["src/components/"],
//      "task_description": "asset table", "ttl": "2h"},
//     {"agent": "backend-developer", "directories": ["server/"], "after": ["frontend-developer"]}]}
//
// The list may also be the whole file, be called "scopes", or be an object of agents by name. An
// agent may also have `globs`, `keys`, `task`, `after`, `command`, `minutes` (the estimate),
// `timeout` (a duration), `retries` and `priority`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "key/resource.h"
#include "plan/finding.h"
#include "plan/model.h"
#include "yaml/document.h"

namespace lockkeeper::plan {

inline constexpr std::size_t kScopesBytesMax = 16 << 20;
inline constexpr std::size_t kScopesAgentsMax = 20'000;

struct ScopeEntry {
  Name agent;
  std::vector<Name> files;
  std::vector<Name> directories;
  std::vector<Name> globs;
  std::vector<Name> keys;
  std::string task_description;
  std::string task;         // an id
  std::vector<Name> after;  // agents that must have completed
  Command command;
  std::optional<std::int64_t> ttl_ms;      // kNoEnd for "none"
  std::optional<std::int64_t> minutes;     // the estimate, at least 1
  std::optional<std::int64_t> timeout_ms;  // when it is stopped
  std::optional<std::int64_t> retries;
  std::optional<std::int64_t> priority;
};

// The list of an agent that it belongs to: "files", "directories", "globs" or "keys".
const char* scope_list(const key::Resource& resource);

// The texts alone.
std::vector<std::string> texts_of(const std::vector<Name>& names);

// The list of agents in a document, or the object of agents by name. Null: not a scopes file, and
// `why` says what is missing.
const yaml::Node* scope_agents(const yaml::Node& root, std::string& why);

// Everything that can be read, and a finding for the rest: a field that is unknown or has the wrong
// type, an agent listed twice, no agent.
std::vector<ScopeEntry> read_scopes(const yaml::Node& root, std::vector<Finding>& findings);

// invalid_input with every finding, one to a line.
Result<std::vector<ScopeEntry>> parse_scopes(std::string_view text);
// `-` is not special. The message of invalid_input begins with the file's name.
Result<std::vector<ScopeEntry>> read_scopes_file(const std::string& path);

}  // namespace lockkeeper::plan
