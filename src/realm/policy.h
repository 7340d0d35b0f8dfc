// Who may lock what: the realm's [[policy]] rules. Asked before every grant, whatever the door and
// the mode; looking (`check`, `gate`, `list`) is free for all.
//
// A rule is for the agents that it names, or for everybody. For one agent and one resource, after
// the [[protect]] rules:
//   1. `deny`: if a pattern of any rule for that agent overlaps the resource, it is refused.
//   2. `allow` and `prefixes` together are a list. Of each settings file that has lists for that
//      agent, one pattern must cover the whole resource, or one prefix be that of the key; else it
//      is refused.
// The order of rules and files does not matter, and no file lifts what another refuses.
//
// Like the agent's name itself, this is between well-meaning agents: no access control.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "realm/config.h"
#include "realm/config_schema.h"
#include "realm/resolve.h"

namespace lockkeeper::realm {

// `*` stands for any characters, `?` for one; everything else for itself. Takes time linear in both
// lengths, times the number of `*`.
bool matches_text(std::string_view pattern, std::string_view text);

// invalid_config names the place of a pattern or prefix that is none.
Result<PolicyRule> parse_policy(const RawPolicy& raw, const key::Rules& rules, Resolver& resolver);

// operation_not_permitted names the resource, the agent, the rule's pattern, file, line, reason,
// and what the agent may lock instead.
Result<void> check_policy(const std::vector<PolicyRule>& rules, std::string_view agent,
                          const key::Resource& resource);

// One row of `config show`.
std::string policy_text(const PolicyRule& rule);

}  // namespace lockkeeper::realm
