#include "realm/hook_settings.h"

#include <algorithm>
#include <span>

#include "base/parse.h"
#include "base/text.h"
#include "realm/config.h"
#include "realm/config_schema.h"
#include "realm/policy.h"
#include "realm/resolve.h"

namespace lockkeeper::realm {
namespace {

bool is_dots(std::string_view name) {
  return name == "." || name == "..";
}

// `folder`: the last of the names is one.
bool ignored_by(std::string_view pattern, std::span<const std::string> names, bool folder) {
  const std::vector<std::string> parts = words_in(pattern, "/");
  const bool from_root = pattern.find('/') < pattern.size() - 1;
  // What is below an ignored folder is ignored too, so a match may end at any name that can be one.
  const std::size_t end = names.size() - (pattern.ends_with('/') && !folder ? 1 : 0);
  for (std::size_t at = 0; at + parts.size() <= end; ++at) {
    if (std::ranges::equal(parts, names.subspan(at, parts.size()), matches_text)) return true;
    if (from_root) return false;
  }
  return false;
}

}  // namespace

Result<HookPathRule> parse_hook_path(const RawHookPath& raw, const key::Rules& rules,
                                     Resolver& resolver) {
  HookPathRule rule{{}, raw.policy, raw.origin};
  for (const RawText& path : raw.paths) {
    LK_ASSIGN(const auto all, parse_configured(path, "hook.path.paths", rules, resolver));
    if (!std::ranges::all_of(all, &key::Resource::is_path)) {
      return fail(config_error(path.origin, "hook.path.paths", quote(path.value, 60),
                               "paths or patterns, such as \"docs/**\": a hook sees no keys"));
    }
    rule.paths.insert(rule.paths.end(), all.begin(), all.end());
  }
  return rule;
}

bool is_ignore_pattern(std::string_view pattern) {
  if (pattern.empty() || pattern.size() > kHookIgnoreBytesMax || hidden_in(pattern)) return false;
  // gitignore gives these a meaning that they would not have here.
  if (pattern.starts_with('!') || pattern.find('\\') != std::string_view::npos) return false;
  if (pattern.find("**") != std::string_view::npos) return false;
  const std::vector<std::string> parts = words_in(pattern, "/");
  return !parts.empty() && pattern.find("//") == std::string_view::npos &&
         std::ranges::none_of(parts, is_dots);
}

HookPolicy hook_policy_for(const Settings& settings, const key::Resource& resource) {
  const auto applies = [&](const HookPathRule& rule) {
    return std::ranges::any_of(
        rule.paths, [&](const key::Resource& path) { return key::may_overlap(path, resource); });
  };
  const auto rule = std::ranges::find_if(settings.hook_paths, applies);
  return rule == settings.hook_paths.end() ? settings.hook_policy.value : rule->policy;
}

bool matches_ignore_patterns(const std::vector<std::string>& patterns, std::string_view path) {
  const std::vector<std::string> names = words_in(path, "/");
  const bool clean =
      !names.empty() && !path.starts_with('/') && std::ranges::none_of(names, is_dots);
  if (!clean) return false;
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return ignored_by(pattern, names, path.ends_with('/'));
  });
}

bool hook_ignores(const Settings& settings, std::string_view path) {
  return matches_ignore_patterns(settings.hook_ignore.value, path);
}

}  // namespace lockkeeper::realm
