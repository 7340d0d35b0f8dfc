// A plan named on the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/context.h"
#include "key/resource.h"
#include "plan/finding.h"
#include "plan/resolutions.h"

namespace lockkeeper::cli {

// The realm's prefixes and purposes, if there is a realm: a plan can be checked anywhere. Never
// strict.
struct PlanRules {
  key::Rules keys;
  std::string root;  // empty if there is no realm
};
Result<PlanRules> plan_rules(const VerbContext& context);
// What is below the realm's root, even in large folders; empty if there is no realm.
plan::Children names_on_disk(const PlanRules& rules);

// What the table says about the name of an owner.
Result<void> check_planned_name(std::string_view name);

// Warns of each unknown key in work packages, which nobody reads, and of each unknown placeholder.
// `findings`: of load_plan().
void tell_unknown_words(Output& out, const std::string& file,
                        const std::vector<plan::Finding>& findings);

// Warns if `validate` would refuse what is planned or run all the same. How many errors it finds.
std::size_t tell_refusals(Output& out, const std::string& file, const std::string& text,
                          const key::Rules& keys);

// The whole text. not_found if there is no such file, limit_exceeded if it is longer than a plan
// may be, invalid_input if it is a folder, a pipe or cannot be read; each with a hint.
Result<std::string> read_plan_text(const std::string& file);

}  // namespace lockkeeper::cli
