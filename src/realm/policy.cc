#include "realm/policy.h"

#include <algorithm>

#include "base/text.h"

namespace lockkeeper::realm {
namespace {

constexpr std::size_t kToldMax = 12;  // patterns in a hint

std::unexpected<Error> bad_pattern(const RawText& raw, std::string_view key, const Error& error) {
  return fail(Code::kInvalidConfig,
              raw.origin.text() + ": " + std::string(key) + ": " + error.message, error.hint);
}

Result<std::vector<PolicyPattern>> parse_pattern(const RawText& raw, std::string_view key,
                                                 const key::Rules& rules, Resolver& resolver) {
  const bool wild = raw.value.find_first_of("*?") != std::string::npos;
  if (wild && key::looks_logical(raw.value)) {
    auto as_written = key::parse(raw.value, rules);
    if (!as_written && as_written.error().code == Code::kOperationNotPermitted) {
      return bad_pattern(raw, key, as_written.error());
    }
    const auto whole = key::parse(raw.value.substr(0, raw.value.find(':')) + ":**", rules);
    const bool has_globs = whole && whole->resource.is_glob();
    if (!has_globs) return std::vector{PolicyPattern{raw.value, std::nullopt}};
  }
  LK_ASSIGN(const std::vector<key::Resource> all, parse_configured(raw, key, rules, resolver));
  std::vector<PolicyPattern> patterns;
  for (const key::Resource& one : all) patterns.push_back({one.text(), one});
  return patterns;
}

Result<std::vector<PolicyPattern>> parse_patterns(const std::vector<RawText>& raw,
                                                  std::string_view key, const key::Rules& rules,
                                                  Resolver& resolver) {
  std::vector<PolicyPattern> patterns;
  for (const RawText& one : raw) {
    LK_ASSIGN(const std::vector<PolicyPattern> all, parse_pattern(one, key, rules, resolver));
    patterns.insert(patterns.end(), all.begin(), all.end());
  }
  return patterns;
}

bool is_for(const PolicyRule& rule, std::string_view agent) {
  return rule.agents.empty() || std::ranges::any_of(rule.agents, [&](const std::string& name) {
           return matches_text(name, agent);
         });
}

// A pattern without a resource is about keys that are never globs themselves.
bool matches_key(const PolicyPattern& pattern, const key::Resource& resource) {
  return !resource.is_path() && matches_text(pattern.text, resource.text());
}

Result<bool> overlaps(const PolicyPattern& pattern, const key::Resource& resource) {
  if (!pattern.resource) return matches_key(pattern, resource);
  LK_ASSIGN(const std::optional<std::string> common, key::overlap(*pattern.resource, resource));
  return common.has_value();
}

bool is_listed(const PolicyRule& rule, const key::Resource& resource) {
  const auto covers = [&](const PolicyPattern& pattern) {
    return pattern.resource ? key::covers(*pattern.resource, resource)
                            : matches_key(pattern, resource);
  };
  if (std::ranges::any_of(rule.allow, covers)) return true;
  return !resource.is_path() &&
         std::ranges::find(rule.prefixes, resource.space()) != rule.prefixes.end();
}

std::string with_reason(std::string text, const std::string& reason) {
  if (!reason.empty()) text += ": " + quote(reason, kReasonBytesMax);
  return text;
}

std::vector<std::string> listed_texts(const PolicyRule& rule) {
  std::vector<std::string> texts;
  for (const PolicyPattern& pattern : rule.allow) texts.push_back(pattern.text);
  for (const std::string& prefix : rule.prefixes) texts.push_back(prefix + ":…");
  return texts;
}

Error not_listed(const std::vector<const PolicyRule*>& lists, std::string_view agent,
                 const key::Resource& resource) {
  std::vector<std::string> places, texts;
  std::string reason;
  for (const PolicyRule* rule : lists) {
    places.push_back(rule->origin.text());
    std::ranges::move(listed_texts(*rule), std::back_inserter(texts));
    if (reason.empty()) reason = rule->reason;
  }
  std::string message = quote(resource.text()) + " is not something that " + quote(agent) +
                        " may lock (policy, " + shown_list(places, kToldMax) + ")";
  return {Code::kOperationNotPermitted, with_reason(std::move(message), reason),
          texts.empty() ? "it may lock nothing; ask the owner of that rule"
                        : "it may lock: " + shown_list(texts, kToldMax)};
}

std::string toml_patterns(const std::vector<PolicyPattern>& patterns) {
  std::vector<std::string> texts;
  for (const PolicyPattern& pattern : patterns) texts.push_back(pattern.text);
  return toml_list(texts);
}

}  // namespace

Result<std::vector<key::Resource>> parse_configured(const RawText& raw, std::string_view key,
                                                    const key::Rules& rules, Resolver& resolver) {
  const auto parsed = key::parse(raw.value, rules);
  if (!parsed) return bad_pattern(raw, key, parsed.error());
  std::vector<key::Resource> resources;
  const auto on_disk = resolver.resolve_all(raw.value);
  if (!on_disk) return std::vector{parsed->resource};
  for (const key::Parsed& one : *on_disk) resources.push_back(one.resource);
  return resources;
}

Result<PolicyRule> parse_policy(const RawPolicy& raw, const key::Rules& rules, Resolver& resolver) {
  PolicyRule rule;
  rule.agents = raw.agents;
  rule.lists = raw.lists;
  rule.reason = raw.reason;
  rule.origin = raw.origin;
  LK_ASSIGN(rule.allow, parse_patterns(raw.allow, "policy.allow", rules, resolver));
  LK_ASSIGN(rule.deny, parse_patterns(raw.deny, "policy.deny", rules, resolver));
  for (const RawText& prefix : raw.prefixes) {
    const std::string key = prefix.value + ":**";
    const auto known = key::parse(key, rules);
    const bool named = key::looks_logical(key) && key.find(':') == prefix.value.size();
    if (!named || (!known && known.error().code == Code::kOperationNotPermitted)) {
      return fail(config_error(prefix.origin, "policy.prefixes", quote(prefix.value, 60),
                               "known prefixes without ':', such as \"db\"; keys.prefixes adds to "
                               "them"));
    }
    rule.prefixes.push_back(prefix.value);
  }
  return rule;
}

Result<void> check_policy(const std::vector<PolicyRule>& rules, std::string_view agent,
                          const key::Resource& resource) {
  std::vector<const PolicyRule*> with_lists;
  for (const PolicyRule& rule : rules) {
    if (!is_for(rule, agent)) continue;
    if (rule.lists) with_lists.push_back(&rule);
    for (const PolicyPattern& pattern : rule.deny) {
      LK_ASSIGN(const bool denied, overlaps(pattern, resource));
      if (!denied) continue;
      std::string message = quote(resource.text()) + " may not be locked by " + quote(agent) +
                            ": denied by " + quote(pattern.text) + " (policy, " +
                            rule.origin.text() + ")";
      return fail(Code::kOperationNotPermitted, with_reason(std::move(message), rule.reason),
                  "work on something else, or ask the owner of that rule");
    }
  }
  while (!with_lists.empty()) {
    const std::string file = with_lists.front()->origin.file;
    std::vector<const PolicyRule*> here;
    std::ranges::copy_if(with_lists, std::back_inserter(here),
                         [&](const PolicyRule* rule) { return rule->origin.file == file; });
    std::erase_if(with_lists, [&](const PolicyRule* rule) { return rule->origin.file == file; });
    const bool listed = std::ranges::any_of(
        here, [&](const PolicyRule* rule) { return is_listed(*rule, resource); });
    if (!listed) return fail(not_listed(here, agent, resource));
  }
  return {};
}

std::string policy_text(const PolicyRule& rule) {
  std::string text;
  const auto add = [&](std::string_view key, const std::string& value) {
    text += (text.empty() ? "" : ", ") + std::string(key) + " = " + value;
  };
  if (!rule.agents.empty()) add("agents", toml_list(rule.agents));
  if (!rule.allow.empty() || (rule.lists && rule.prefixes.empty())) {
    add("allow", toml_patterns(rule.allow));
  }
  if (!rule.prefixes.empty()) add("prefixes", toml_list(rule.prefixes));
  if (!rule.deny.empty()) add("deny", toml_patterns(rule.deny));
  if (!rule.reason.empty()) add("reason", quote(rule.reason, kReasonBytesMax));
  return text;
}

}  // namespace lockkeeper::realm
