// A scopes file: several agents with what each is going to change. YAML or JSON.
//
//   {"agents": [
//     {"agent": "frontend-developer",
//      "files": ["src/shared/Button.tsx"], "directories": ["src/components/"],
//      "task_description": "asset table", "ttl": "2h"},
//     {"agent": "backend-developer", "directories": ["server/"], "after": ["frontend-developer"]}]}
//
// The list may stand alone, or be called "scopes"; or the agents may be an object by name. Besides,
// an agent may have `globs`, `keys`, `task`, `after`, `command`, `minutes` (the estimate),
// `timeout` (a duration), `retries` and `priority`, for those who can use them.
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
  std::string task;                        // an id
  std::vector<Name> after;                 // agents that must have completed
  std::vector<std::string> command;        // one word alone: a line for the shell
  std::optional<std::int64_t> ttl_ms;      // kNoEnd for "none"
  std::optional<std::int64_t> minutes;     // how long it is going to take, at least 1
  std::optional<std::int64_t> timeout_ms;  // when it is stopped
  std::optional<std::int64_t> retries;
  std::optional<std::int64_t> priority;
};

// Which list of an agent it stands in: "files", "directories", "globs" or "keys".
const char* scope_list(const key::Resource& resource);

// The texts alone.
std::vector<std::string> texts_of(const std::vector<Name>& names);

// The list of agents in a document, or the object of agents by name. Null: it is no scopes file,
// and `why` says what is missing.
const yaml::Node* scope_agents(const yaml::Node& root, std::string& why);

// Everything that can be read, and a finding for everything that cannot: a field of the wrong type,
// one that is not known (with the nearest that is), an agent twice, none at all.
std::vector<ScopeEntry> read_scopes(const yaml::Node& root, std::vector<Finding>& findings);

// invalid_input with the first finding: it names the agent, the field and what is wrong with it.
Result<std::vector<ScopeEntry>> parse_scopes(std::string_view text);
// Of a file; `-` is not special. invalid_input begins with its name.
Result<std::vector<ScopeEntry>> read_scopes_file(const std::string& path);

}  // namespace lockkeeper::plan
