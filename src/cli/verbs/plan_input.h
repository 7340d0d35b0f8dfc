// A plan named on the command line.
#pragma once

#include <string>

#include "cli/context.h"
#include "key/resource.h"

namespace lockkeeper::cli {

// The realm's prefixes and purposes, if there is a realm: a plan can be checked anywhere. Never
// strict.
struct PlanRules {
  key::Rules keys;
  std::string root;  // empty if there is no realm
};
Result<PlanRules> plan_rules(const VerbContext& context);

// The whole text. not_found if there is no such file, limit_exceeded if it is longer than a plan
// may be, invalid_input if it is a folder, a pipe or cannot be read; each with a hint.
Result<std::string> read_plan_text(const std::string& file);

}  // namespace lockkeeper::cli
