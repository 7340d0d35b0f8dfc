// The placeholders of an agent's command line, such as {scope}.
#pragma once

#include <string>
#include <vector>

#include "plan/model.h"

namespace lockkeeper::plan {

// Each is also an environment variable.
struct Placeholder {
  const char* name;
  const char* variable;
};
const std::vector<Placeholder>& placeholders();

// Words in braces that look like placeholders and are none, each once: "{scopes}". They reach the
// command as they are. What has a meaning elsewhere is none: `${x}`, `%{x}`, `@{x}`, `{{x}}`.
std::vector<std::string> unknown_placeholders(const Command& command);
// "{scop} is no placeholder …", and what the placeholders are.
std::string unknown_placeholder_text(const std::string& unknown);
std::string known_placeholders_text();

}  // namespace lockkeeper::plan
