// Who may lock what: the realm's [[policy]] rules. They are checked before every grant, for every
// interface and mode. Anybody may look (`check`, `gate`, `list`).
//
// A rule is for the agents that it names, or for everybody. For one agent and one resource, after
// the [[protect]] rules:
//   1. `deny`: if a pattern of any rule for that agent overlaps the resource, it is refused.
//   2. `allow` and `prefixes` together are a list. In each settings file that has lists for that
//      agent, one pattern must cover the whole resource, or one prefix must be the key's.
//      Otherwise it is refused.
// The order of rules and files does not matter, and no file lifts what another refuses.
//
// Names are not authenticated, so this is not access control: it serves well-meaning agents.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "realm/config.h"
#include "realm/config_schema.h"
#include "realm/resolve.h"

namespace lockkeeper::realm {

// A path or key of the rules: all that its text stands for, as in a request. What the disk does not
// know stays as written. invalid_config names the place.
Result<std::vector<key::Resource>> parse_configured(const RawText& raw, std::string_view key,
                                                    const key::Rules& rules, Resolver& resolver);

// invalid_config names the place of a bad pattern or prefix.
Result<PolicyRule> parse_policy(const RawPolicy& raw, const key::Rules& rules, Resolver& resolver);

// operation_not_permitted names the resource, the agent, the rule's pattern, file, line, reason,
// and what the agent may lock instead.
Result<void> check_policy(const std::vector<PolicyRule>& rules, std::string_view agent,
                          const key::Resource& resource);

// One row of `config show`.
std::string policy_text(const PolicyRule& rule);

}  // namespace lockkeeper::realm
