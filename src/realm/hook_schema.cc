#include "realm/hook_schema.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "base/text.h"
#include "realm/config_schema.h"

namespace lockkeeper::realm {
namespace {

constexpr std::array<std::string_view, 2> kHookPathKeys = {"paths", "policy"};
constexpr std::array<std::string_view, 2> kHookToolKeys = {"does", "paths"};

Result<void> does_of(const ConfigReader& file, const toml::node& node, const std::string& key,
                     std::string& into) {
  const auto* text = node.as_string();
  if (text == nullptr || std::ranges::find(kHookDoes, text->get()) == std::end(kHookDoes)) {
    return file.bad(node, key, either(kHookDoes));
  }
  into = text->get();
  return {};
}

Result<void> arguments_of(const ConfigReader& file, const toml::node& node, const std::string& key,
                          std::vector<std::string>& into) {
  std::vector<RawText> given;
  LK_CHECK(file.texts(node, key, kHookArgumentsMax, given));
  for (const RawText& one : given) {
    const bool fits = !one.value.empty() && one.value.size() <= kHookArgumentBytesMax;
    if (!fits || hidden_in(one.value)) {
      return fail(config_error(one.origin, key, quote(one.value, 60),
                               "names of arguments, such as \"path\" or \"target.file\", of 1 to " +
                                   std::to_string(kHookArgumentBytesMax) +
                                   " bytes without hidden characters"));
    }
    into.push_back(one.value);
  }
  return {};
}

Result<void> read_tool_table(const ConfigReader& file, const toml::table& table,
                             const std::string& name, HookToolRule& rule) {
  for (const auto& [key, node] : table) {
    if (key.str() == "does") {
      LK_CHECK(does_of(file, node, name + ".does", rule.does));
    } else if (key.str() == "paths") {
      LK_CHECK(arguments_of(file, node, name + ".paths", rule.paths));
    } else {
      return file.unknown(key, name, kHookToolKeys);
    }
  }
  return {};
}

// "name" = { does = "edit", paths = ["path"] }, or "name" = "nothing".
Result<void> read_hook_tool(const ConfigReader& file, const toml::key& key, const toml::node& node,
                            HookToolRule& rule) {
  rule.tool = key.str();
  rule.origin = file.origin(key.source());
  const bool fits = !rule.tool.empty() && rule.tool.size() <= kHookToolBytesMax;
  if (!fits || hidden_in(rule.tool)) {
    return fail(config_error(rule.origin, "a tool of hook.tools", quote(rule.tool, 60),
                             "a name of 1 to " + std::to_string(kHookToolBytesMax) +
                                 " bytes without hidden characters"));
  }
  const std::string name = "hook.tools." + quote(rule.tool, 60);
  if (const auto* table = node.as_table()) {
    LK_CHECK(read_tool_table(file, *table, name, rule));
  } else {
    LK_CHECK(does_of(file, node, name, rule.does));
  }
  if (rule.does.empty()) {
    return fail(config_error(rule.origin, name + ".does", "missing", either(kHookDoes)));
  }
  if (rule.paths.empty() && (rule.does == "edit" || rule.does == "replace")) {
    return fail(config_error(rule.origin, name + ".paths", "missing or empty",
                             "the arguments that name its files: { does = " + quote(rule.does) +
                                 ", paths = [\"path\"] }"));
  }
  return {};
}

}  // namespace

Result<RawHookPath> read_hook_path(const ConfigReader& file, const toml::table& table) {
  RawHookPath rule;
  rule.origin = file.origin(table);
  for (const auto& [key, node] : table) {
    if (key.str() == "paths") {
      LK_CHECK(file.texts(node, "hook.path.paths", kHookPathsMax, rule.paths));
    } else if (key.str() == "policy") {
      LK_ASSIGN(rule.policy, file.choice<HookPolicy>(node, "hook.path.policy", kHookPolicies));
    } else {
      return file.unknown(key, "hook.path", kHookPathKeys);
    }
  }
  if (rule.paths.empty()) {
    return fail(config_error(rule.origin, "hook.path.paths", "missing or empty",
                             "at least one path or pattern, such as [\"docs/**\"]"));
  }
  if (!table.contains("policy")) {
    return fail(config_error(rule.origin, "hook.path.policy", "missing",
                             either<HookPolicy>(kHookPolicies)));
  }
  return rule;
}

Result<std::vector<HookToolRule>> read_hook_tools(const ConfigReader& file,
                                                  const toml::node& node) {
  const auto* table = node.as_table();
  if (table == nullptr) return file.bad(node, "hook.tools", "a section: [hook.tools]");
  LK_CHECK(check_total(file.origin(node), "hook.tools", table->size(), " tools", kHookToolsMax));
  std::vector<std::pair<toml::source_position, HookToolRule>> found;
  for (const auto& [key, tool] : *table) {
    found.emplace_back(key.source().begin, HookToolRule{});
    LK_CHECK(read_hook_tool(file, key, tool, found.back().second));
  }
  // The table has them by name, but the first that matches decides.
  std::ranges::sort(found, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<HookToolRule> rules;
  for (auto& [at, rule] : found) rules.push_back(std::move(rule));
  return rules;
}

}  // namespace lockkeeper::realm
