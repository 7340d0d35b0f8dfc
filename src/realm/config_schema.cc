#include "realm/config_schema.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/text.h"
#include "base/toml.h"
#include "realm/config_reader.h"
#include "realm/hook_schema.h"
#include "realm/identity.h"

namespace lockkeeper::realm {
namespace {

class Schema : private ConfigReader {
 public:
  Schema(const std::string& file, Settings& settings, RawRules& rules)
      : ConfigReader(file), settings_(settings), rules_(rules) {}

  Result<void> apply(const toml::table& root);

 private:
  Result<void> apply_section(std::string_view section, const toml::table& table);

  Result<void> read(const toml::node& node, std::string_view key, const DurationField& field);
  Result<void> read(const toml::node& node, std::string_view key, const NumberField& field);
  Result<void> read(const toml::node& node, std::string_view key, const BytesField& field);
  Result<void> read(const toml::node& node, std::string_view key, const FlagField& field);
  Result<void> read(const toml::node& node, std::string_view key, const WordsField& field);
  Result<void> read(const toml::node& node, std::string_view key, const PatternsField& field);
  Result<void> read(const toml::node& node, std::string_view key, const NameField& field);
  template <class T>
  Result<void> read(const toml::node& node, std::string_view key, const ChoiceField<T>& field);
  Result<void> rules_of(const toml::node& node, const std::string& section, std::size_t most,
                        Result<void> (Schema::*one)(const toml::table&));
  Result<void> reason_of(const toml::node& node, std::string_view key, std::string& into) const;
  Result<void> agents_of(const toml::node& node, const std::string& key, std::size_t most,
                         std::vector<std::string>& into) const;
  Result<void> layout_entry(const toml::table& table);
  Result<void> protect_rule(const toml::table& table);
  Result<void> policy_rule(const toml::table& table);
  Result<void> policy_key(const toml::key& key, const toml::node& node, RawPolicy& rule);
  Result<void> hook_path(const toml::table& table);
  Result<void> hook_tools(const toml::node& node);

  Settings& settings_;
  RawRules& rules_;
  std::size_t protect_paths_ = 0;
  std::size_t policy_patterns_ = 0;
  std::size_t hook_rules_ = 0;
  std::size_t hook_paths_ = 0;
};

constexpr std::array<std::string_view, 15> kSections = {
    "lease",   "limits", "keys",   "store",     "events",    "ports", "hook",  "git",
    "protect", "policy", "layout", "snapshots", "worktrees", "realm", "server"};
constexpr std::array<std::string_view, 3> kLayoutModes = {"off", "read", "both"};
constexpr std::size_t kLayoutsMax = 64;
constexpr std::size_t kLayoutTextMax = 4096;
constexpr std::array<std::string_view, 3> kProtectKeys = {"paths", "agents", "reason"};
constexpr std::array<std::string_view, 5> kPolicyKeys = {"agents", "allow", "prefixes", "deny",
                                                         "reason"};

bool is_word(std::string_view text) {
  if (text.empty() || text.size() > kWordBytesMax || text[0] < 'a' || text[0] > 'z') return false;
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || is_ascii_digit(c) || c == '_' || c == '-';
  });
}

bool contains(const std::vector<std::string>& list, std::string_view value) {
  return std::ranges::find(list, value) != list.end();
}

std::vector<std::string_view> keys_of(std::string_view section) {
  std::vector<std::string_view> keys;
  for (const Field& field : kFields) {
    if (field.name.starts_with(std::string(section) + ".")) {
      keys.push_back(field.name.substr(section.size() + 1));
    }
  }
  if (section == "hook") keys.insert(keys.end(), {"path", "tools"});
  return keys;
}

Result<void> Schema::apply(const toml::table& root) {
  for (const auto& [key, node] : root) {
    const std::string_view name = key.str();
    if (std::ranges::find(kSections, name) == kSections.end()) return unknown(key, "", kSections);
    if (name == "protect") {
      LK_CHECK(rules_of(node, "protect", kProtectRulesMax, &Schema::protect_rule));
    } else if (name == "layout") {
      LK_CHECK(rules_of(node, "layout", kLayoutsMax, &Schema::layout_entry));
    } else if (name == "policy") {
      LK_CHECK(rules_of(node, "policy", kPolicyRulesMax, &Schema::policy_rule));
    } else {
      const auto* table = node.as_table();
      if (table == nullptr) return bad(node, name, "a section: [" + std::string(name) + "]");
      LK_CHECK(apply_section(name, *table));
    }
  }
  return {};
}

Result<void> Schema::apply_section(std::string_view section, const toml::table& table) {
  for (const auto& [key, node] : table) {
    const std::string name = std::string(section) + "." + std::string(key.str());
    if (name == "hook.path") {
      LK_CHECK(rules_of(node, name, kHookPathRulesMax, &Schema::hook_path));
      continue;
    }
    if (name == "hook.tools") {
      LK_CHECK(hook_tools(node));
      continue;
    }
    const auto* field = std::ranges::find(kFields, name, &Field::name);
    if (field == std::end(kFields)) return unknown(key, section, keys_of(section));
    LK_CHECK(std::visit([&](const auto& kind) { return read(node, name, kind); }, field->kind));
  }
  return {};
}

Result<void> Schema::read(const toml::node& node, std::string_view key,
                          const DurationField& field) {
  constexpr std::int64_t kHourMs = 3'600'000;
  const char* const examples =
      field.high < kHourMs ? "\"500ms\" or \"5s\"" : "\"90s\" or \"1h30m\"";
  const std::string expected = "a duration from " + format_duration(field.low) + " to " +
                               format_duration(field.high) + ", such as " + examples +
                               (field.may_be_none ? ", or \"none\"" : "");
  const auto* text = node.as_string();
  if (text == nullptr) return bad(node, key, expected);
  const auto ms = parse_duration_ms(text->get(), {.allow_none = field.may_be_none});
  if (!ms) return bad(node, key, expected);
  if (*ms != kNoEnd && (*ms < field.low || *ms > field.high)) return bad(node, key, expected);
  settings_.*field.setting = {*ms, origin(node)};
  return {};
}

Result<void> Schema::read(const toml::node& node, std::string_view key, const NumberField& field) {
  const auto* whole = node.as_integer();
  const bool fits = whole != nullptr && std::cmp_greater_equal(whole->get(), field.low) &&
                    std::cmp_less_equal(whole->get(), field.high);
  if (!fits) {
    return bad(
        node, key,
        "a whole number from " + std::to_string(field.low) + " to " + std::to_string(field.high));
  }
  settings_.*field.setting = {static_cast<std::uint64_t>(whole->get()), origin(node)};
  return {};
}

Result<void> Schema::read(const toml::node& node, std::string_view key, const BytesField& field) {
  const std::string expected = "a size from " + format_bytes(field.low) + " to " +
                               format_bytes(field.high) + ", such as \"256MiB\"";
  const auto* text = node.as_string();
  const Result<std::uint64_t> bytes = parse_bytes(text == nullptr ? "" : text->get());
  if (!bytes || *bytes < field.low || *bytes > field.high) return bad(node, key, expected);
  settings_.*field.setting = {*bytes, origin(node)};
  return {};
}

Result<void> Schema::read(const toml::node& node, std::string_view key, const FlagField& field) {
  const auto* truth = node.as_boolean();
  if (truth == nullptr) return bad(node, key, "true or false");
  settings_.*field.setting = {truth->get(), origin(node)};
  return {};
}

Result<void> Schema::read(const toml::node& node, std::string_view key, const WordsField& field) {
  std::vector<RawText> given;
  LK_CHECK(texts(node, key, field.most, given));
  std::vector<std::string> names = (Settings{}.*field.setting).value;  // "pause" is always known
  for (const RawText& text : given) {
    if (!is_word(text.value)) {
      return fail(
          config_error(text.origin, key, quote(text.value, 60),
                       "lower-case letters, digits, '-' and '_', such as " + quote(field.example)));
    }
    if (!contains(names, text.value)) names.push_back(text.value);
  }
  settings_.*field.setting = {std::move(names), origin(node)};
  return {};
}

Result<void> Schema::read(const toml::node& node, std::string_view key,
                          const PatternsField& field) {
  std::vector<RawText> given;
  LK_CHECK(texts(node, key, kHookIgnoreMax, given));
  std::vector<std::string> patterns;
  for (const RawText& text : given) {
    if (!is_ignore_pattern(text.value)) {
      return fail(config_error(text.origin, key, quote(text.value, 60),
                               "names such as \"dist/\" or \"/docs/*.md\" of at most " +
                                   std::to_string(kHookIgnoreBytesMax) +
                                   " bytes, without \"**\", \"..\", '\\' and a leading '!'"));
    }
    patterns.push_back(text.value);
  }
  settings_.*field.setting = {std::move(patterns), origin(node)};
  return {};
}

Result<void> Schema::read(const toml::node& node, std::string_view key, const NameField& field) {
  const auto* text = node.as_string();
  if (text == nullptr || !field.fits(text->get())) return bad(node, key, field.expected);
  settings_.*field.setting = {text->get(), origin(node)};
  return {};
}

template <class T>
Result<void> Schema::read(const toml::node& node, std::string_view key,
                          const ChoiceField<T>& field) {
  LK_ASSIGN(const T value, choice(node, key, field.words));
  settings_.*field.setting = {value, origin(node)};
  return {};
}

Result<void> Schema::rules_of(const toml::node& node, const std::string& section, std::size_t most,
                              Result<void> (Schema::*one)(const toml::table&)) {
  const auto* rules = node.as_array();
  const std::string expected =
      "at most " + std::to_string(most) + " rules, each begun by [[" + section + "]]";
  if (rules == nullptr || rules->size() > most) return bad(node, section, expected);
  for (const toml::node& rule : *rules) {
    const auto* table = rule.as_table();
    if (table == nullptr) return bad(rule, section, expected);
    LK_CHECK((this->*one)(*table));
  }
  return {};
}

Result<void> Schema::reason_of(const toml::node& node, std::string_view key,
                               std::string& into) const {
  const auto* text = node.as_string();
  if (text == nullptr || text->get().size() > kReasonBytesMax) {
    return bad(node, key, "a string of at most " + std::to_string(kReasonBytesMax) + " bytes");
  }
  into = text->get();
  return {};
}

Result<void> Schema::agents_of(const toml::node& node, const std::string& key, std::size_t most,
                               std::vector<std::string>& into) const {
  std::vector<RawText> agents;
  LK_CHECK(texts(node, key, most, agents));
  for (const RawText& agent : agents) {
    if (auto checked = check_agent_name(agent.value, key); !checked) {
      return fail(Code::kInvalidConfig, agent.origin.text() + ": " + checked.error().message,
                  checked.error().hint);
    }
    into.push_back(agent.value);
  }
  return {};
}

// kind, root and mode. Every other key is an option of the kind, which checks it itself.
Result<void> Schema::layout_entry(const toml::table& table) {
  LayoutSetting entry;
  entry.origin = origin(table);
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    const auto* text = node.as_string();
    if (text == nullptr || text->get().empty() || text->get().size() > kLayoutTextMax) {
      return bad(node, "layout." + name, "a string of 1 to 4096 bytes");
    }
    if (name == "kind") {
      entry.kind = text->get();
    } else if (name == "root") {
      entry.root = text->get();
    } else if (name == "mode") {
      entry.mode = text->get();
      if (std::ranges::find(kLayoutModes, entry.mode) == kLayoutModes.end()) {
        return bad(node, "layout.mode", either(kLayoutModes));
      }
    } else {
      entry.options[name] = text->get();
    }
  }
  if (entry.kind.empty() || entry.root.empty()) {
    return fail(config_error(entry.origin, entry.kind.empty() ? "layout.kind" : "layout.root",
                             "missing", "kind = \"mkdir\" and root = \"spec\", for example"));
  }
  settings_.layouts.push_back(std::move(entry));
  return {};
}

Result<void> Schema::protect_rule(const toml::table& table) {
  RawProtect rule;
  rule.origin = origin(table);
  for (const auto& [key, node] : table) {
    if (key.str() == "paths") {
      LK_CHECK(texts(node, "protect.paths", kProtectPathsMax, rule.paths));
    } else if (key.str() == "agents") {
      LK_CHECK(agents_of(node, "protect.agents", kProtectAgentsMax, rule.agents));
    } else if (key.str() == "reason") {
      LK_CHECK(reason_of(node, "protect.reason", rule.reason));
    } else {
      return unknown(key, "protect", kProtectKeys);
    }
  }
  if (rule.paths.empty()) {
    return fail(config_error(rule.origin, "protect.paths", "missing or empty",
                             "at least one path, pattern or key, such as [\"migrations/\"]"));
  }
  protect_paths_ += rule.paths.size();
  LK_CHECK(check_total(rule.origin, "protect.paths", protect_paths_, "", kProtectPathsMax));
  rules_.protect.push_back(std::move(rule));
  return {};
}

Result<void> Schema::policy_key(const toml::key& key, const toml::node& node, RawPolicy& rule) {
  const std::string_view name = key.str();
  if (name == "agents") {
    LK_CHECK(agents_of(node, "policy.agents", kPolicyAgentsMax, rule.agents));
    if (!rule.agents.empty()) return {};
    return bad(node, "policy.agents", "at least one name; omit the key for everybody");
  }
  if (name == "reason") return reason_of(node, "policy.reason", rule.reason);
  if (name == "deny") return texts(node, "policy.deny", kPolicyPatternsMax, rule.deny);
  rule.lists = rule.lists || name == "allow" || name == "prefixes";
  if (name == "allow") return texts(node, "policy.allow", kPolicyPatternsMax, rule.allow);
  if (name == "prefixes") return texts(node, "policy.prefixes", kPrefixesMax, rule.prefixes);
  return unknown(key, "policy", kPolicyKeys);
}

Result<void> Schema::policy_rule(const toml::table& table) {
  RawPolicy rule;
  rule.origin = origin(table);
  for (const auto& [key, node] : table) LK_CHECK(policy_key(key, node, rule));
  if (!rule.lists && rule.deny.empty()) {
    return fail(config_error(rule.origin, "policy", "without a list",
                             "allow, prefixes or deny, such as deny = [\"migrations/\"]"));
  }
  policy_patterns_ += rule.allow.size() + rule.deny.size();
  LK_CHECK(check_total(rule.origin, "policy", policy_patterns_, " patterns", kPolicyPatternsMax));
  rules_.policy.push_back(std::move(rule));
  return {};
}

Result<void> Schema::hook_path(const toml::table& table) {
  LK_ASSIGN(RawHookPath rule, read_hook_path(*this, table));
  hook_paths_ += rule.paths.size();
  LK_CHECK(check_total(rule.origin, "hook.path.paths", hook_paths_, "", kHookPathsMax));
  // Behind those of this file, before those of files with less precedence.
  const auto place = rules_.hook_paths.begin() + static_cast<std::ptrdiff_t>(hook_rules_++);
  rules_.hook_paths.insert(place, std::move(rule));
  return {};
}

Result<void> Schema::hook_tools(const toml::node& node) {
  LK_ASSIGN(std::vector<HookToolRule> rules, read_hook_tools(*this, node));
  std::ranges::move(settings_.hook_tools, std::back_inserter(rules));
  settings_.hook_tools = std::move(rules);
  return {};
}

// The parser calls itself for each part of a dotted key, so a hostile file could use up the stack.
Result<void> check_depth(std::string_view text, const std::string& file) {
  unsigned line = 0;
  while (!text.empty()) {
    ++line;
    const std::string_view one = text.substr(0, text.find('\n'));
    if (std::ranges::count(one, '.') > kTomlDotsMax) {
      return fail(Code::kInvalidConfig,
                  Origin{file, line}.text() + ": more than " + std::to_string(kTomlDotsMax) +
                      " dots in one line: nested too deeply",
                  "correct the line");
    }
    text.remove_prefix(std::min(one.size() + 1, text.size()));
  }
  return {};
}

}  // namespace

Result<void> apply_config(std::string_view text, const std::string& file, Settings& settings,
                          RawRules& rules) {
  LK_CHECK(check_depth(text, file));
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    const Origin at{file, error.source().begin.line};
    return fail(Code::kInvalidConfig, at.text() + ": not TOML: " + quote(error.description(), 200),
                "correct the line");
  }
  return Schema(file, settings, rules).apply(parsed.table());
}

}  // namespace lockkeeper::realm
