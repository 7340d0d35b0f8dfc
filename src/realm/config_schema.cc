#include "realm/config_schema.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "realm/identity.h"

// toml++ 3.3 assumes things that are not true of every text: its parser asserts that a key begins
// after "[" (with NDEBUG clang may rely on it), and its search for blanks calls U+00E9 unreachable.
// Without these it reaches its own error message.
#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>(0)
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/impl/forward_declarations.h>
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE return false
#include <toml++/impl/unicode.h>
#undef TOML_UNREACHABLE
#define TOML_UNREACHABLE __builtin_unreachable()
#include <toml++/toml.h>

namespace lockkeeper::realm {
namespace {

using Texts = std::vector<RawText>;

class Schema {
 public:
  Schema(const std::string& file, Settings& settings, RawRules& rules)
      : file_(file), settings_(settings), rules_(rules) {}

  Result<void> apply(const toml::table& root);

 private:
  using Apply = Result<void> (Schema::*)(const toml::node&);
  struct Field {
    std::string_view name;  // "lease.default"
    Apply apply;
  };
  static const std::array<Field, 15> kFields;

  Origin origin(const toml::source_region& at) const { return {file_, at.begin.line}; }
  Origin origin(const toml::node& node) const { return origin(node.source()); }
  std::unexpected<Error> bad(const toml::node& node, std::string_view key,
                             std::string_view expected) const;
  Result<void> unknown(const toml::key& key, std::string_view section) const;
  Result<void> apply_section(std::string_view section, const toml::table& table);

  Result<void> duration(const toml::node& node, std::string_view key, std::int64_t low,
                        std::int64_t high, bool may_be_none, Setting<std::int64_t>& into);
  Result<void> number(const toml::node& node, std::string_view key, std::uint64_t low,
                      std::uint64_t high, Setting<std::uint64_t>& into);
  Result<void> flag(const toml::node& node, std::string_view key, Setting<bool>& into);
  Result<Texts> texts(const toml::node& node, std::string_view key, std::size_t most) const;

  Result<void> lease_default(const toml::node& node);
  Result<void> lease_longest(const toml::node& node);
  Result<void> lease_endless(const toml::node& node);
  Result<void> lease_orphan_grace(const toml::node& node);
  Result<void> per_agent(const toml::node& node);
  Result<void> per_request(const toml::node& node);
  Result<void> prefixes(const toml::node& node);
  Result<void> purposes(const toml::node& node);
  Result<void> strict(const toml::node& node);
  Result<void> durability(const toml::node& node);
  Result<void> events_kept(const toml::node& node);
  Result<void> ports_base(const toml::node& node);
  Result<void> ports_range(const toml::node& node);
  Result<void> ports_sessions(const toml::node& node);
  Result<void> ports_ttl(const toml::node& node);
  Result<void> rules_of(const toml::node& node, const std::string& section, std::size_t most,
                        Result<void> (Schema::*one)(const toml::table&));
  Result<void> reason_of(const toml::node& node, std::string_view key, std::string& into) const;
  Result<void> agents_of(const toml::node& node, const std::string& key, std::size_t most,
                         std::vector<std::string>& into) const;
  Result<void> layout_entry(const toml::table& table);
  Result<void> protect_rule(const toml::table& table);
  Result<void> policy_rule(const toml::table& table);
  Result<void> policy_key(const toml::key& key, const toml::node& node, RawPolicy& rule);

  const std::string& file_;
  Settings& settings_;
  RawRules& rules_;
  std::size_t protect_paths_ = 0;
  std::size_t policy_patterns_ = 0;
};

constexpr std::array<std::string_view, 9> kSections = {
    "lease", "limits", "keys", "store", "events", "ports", "protect", "policy", "layout"};
constexpr std::array<std::string_view, 3> kLayoutModes = {"off", "read", "both"};
constexpr std::size_t kLayoutsMax = 64;
constexpr std::size_t kLayoutTextMax = 4096;
constexpr std::array<std::string_view, 3> kProtectKeys = {"paths", "agents", "reason"};
constexpr std::array<std::string_view, 5> kPolicyKeys = {"agents", "allow", "prefixes", "deny",
                                                         "reason"};

std::string shown(const toml::node& node) {
  if (const auto* text = node.as_string()) return quote(text->get(), 60);
  if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
  if (const auto* real = node.as_floating_point()) return std::to_string(real->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  if (node.is_table()) return "a table";
  if (node.is_array()) return "an array";
  return "a date or time";
}

bool is_word(std::string_view text) {
  if (text.empty() || text.size() > kWordBytesMax || text[0] < 'a' || text[0] > 'z') return false;
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

bool contains(const std::vector<std::string>& list, std::string_view value) {
  return std::ranges::find(list, value) != list.end();
}

std::unexpected<Error> Schema::bad(const toml::node& node, std::string_view key,
                                   std::string_view expected) const {
  return fail(config_error(origin(node), key, shown(node), expected));
}

Result<void> Schema::unknown(const toml::key& key, std::string_view section) const {
  std::vector<std::string_view> known;
  std::string name(key.str());
  if (section.empty()) {
    known.assign(kSections.begin(), kSections.end());
  } else if (section == "protect") {
    known.assign(kProtectKeys.begin(), kProtectKeys.end());
  } else if (section == "policy") {
    known.assign(kPolicyKeys.begin(), kPolicyKeys.end());
  } else {
    for (const Field& field : kFields) {
      if (field.name.starts_with(std::string(section) + ".")) {
        known.push_back(field.name.substr(section.size() + 1));
      }
    }
  }
  const std::string prefix = section.empty() ? "" : std::string(section) + ".";
  auto guess = nearest(name, known);
  std::string hint = "known here:";
  for (const std::string_view word : known) hint += " " + prefix + std::string(word);
  // A key of another section, or written without its section ("default = …").
  for (const Field& field : kFields) {
    if (!guess && field.name.substr(field.name.find('.') + 1) == name) {
      hint = "did you mean " + std::string(field.name) + "?";
    }
  }
  if (guess) hint = "did you mean " + prefix + *guess + "?";
  return fail(Code::kInvalidConfig,
              origin(key.source()).text() + ": unknown key " + quote(prefix + name, 60), hint);
}

Result<void> Schema::apply(const toml::table& root) {
  for (const auto& [key, node] : root) {
    const std::string_view name = key.str();
    if (std::ranges::find(kSections, name) == kSections.end()) return unknown(key, "");
    if (name == "protect") {
      LK_CHECK(rules_of(node, "protect", kProtectRulesMax, &Schema::protect_rule));
      continue;
    }
    if (name == "layout") {
      LK_CHECK(rules_of(node, "layout", kLayoutsMax, &Schema::layout_entry));
      continue;
    }
    if (name == "policy") {
      LK_CHECK(rules_of(node, "policy", kPolicyRulesMax, &Schema::policy_rule));
      continue;
    }
    const auto* table = node.as_table();
    if (table == nullptr) return bad(node, name, "a section: [" + std::string(name) + "]");
    if (auto done = apply_section(name, *table); !done) return done;
  }
  return {};
}

Result<void> Schema::apply_section(std::string_view section, const toml::table& table) {
  for (const auto& [key, node] : table) {
    const std::string name = std::string(section) + "." + std::string(key.str());
    const auto field = std::ranges::find(kFields, name, &Field::name);
    if (field == kFields.end()) return unknown(key, section);
    if (auto done = (this->*field->apply)(node); !done) return done;
  }
  return {};
}

Result<void> Schema::duration(const toml::node& node, std::string_view key, std::int64_t low,
                              std::int64_t high, bool may_be_none, Setting<std::int64_t>& into) {
  const std::string expected = "a duration from " + format_duration(low) + " to " +
                               format_duration(high) + ", such as \"90s\" or \"1h30m\"" +
                               (may_be_none ? ", or \"none\"" : "");
  const auto* text = node.as_string();
  if (text == nullptr) return bad(node, key, expected);
  const auto ms = parse_duration_ms(text->get(), {.allow_none = may_be_none});
  if (!ms) return bad(node, key, expected);
  if (*ms != kNoEnd && (*ms < low || *ms > high)) return bad(node, key, expected);
  into = {*ms, origin(node)};
  return {};
}

Result<void> Schema::number(const toml::node& node, std::string_view key, std::uint64_t low,
                            std::uint64_t high, Setting<std::uint64_t>& into) {
  const auto* whole = node.as_integer();
  const bool fits = whole != nullptr && whole->get() >= 0 &&
                    static_cast<std::uint64_t>(whole->get()) >= low &&
                    static_cast<std::uint64_t>(whole->get()) <= high;
  if (!fits) {
    return bad(node, key,
               "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  }
  into = {static_cast<std::uint64_t>(whole->get()), origin(node)};
  return {};
}

Result<void> Schema::flag(const toml::node& node, std::string_view key, Setting<bool>& into) {
  const auto* truth = node.as_boolean();
  if (truth == nullptr) return bad(node, key, "true or false");
  into = {truth->get(), origin(node)};
  return {};
}

Result<Texts> Schema::texts(const toml::node& node, std::string_view key, std::size_t most) const {
  const std::string expected = "an array of at most " + std::to_string(most) + " strings";
  const auto* array = node.as_array();
  if (array == nullptr) return bad(node, key, expected);
  if (array->size() > most) {
    return fail(
        config_error(origin(node), key, std::to_string(array->size()) + " entries", expected));
  }
  Texts result;
  for (const toml::node& entry : *array) {
    const auto* text = entry.as_string();
    if (text == nullptr) return bad(entry, key, expected);
    result.push_back({text->get(), origin(entry)});
  }
  return result;
}

Result<void> Schema::lease_default(const toml::node& node) {
  return duration(node, "lease.default", kLeaseMsMin, kLongestDurationMs, true,
                  settings_.lease_default_ms);
}
Result<void> Schema::lease_longest(const toml::node& node) {
  return duration(node, "lease.longest", kLeaseMsMin, kLongestDurationMs, true,
                  settings_.lease_longest_ms);
}
Result<void> Schema::lease_endless(const toml::node& node) {
  return flag(node, "lease.endless", settings_.lease_endless);
}
Result<void> Schema::lease_orphan_grace(const toml::node& node) {
  return duration(node, "lease.orphan_grace", 0, kOrphanGraceMsMax, false,
                  settings_.orphan_grace_ms);
}
Result<void> Schema::per_agent(const toml::node& node) {
  return number(node, "limits.resources_per_agent", 1, kResourcesPerAgentMax,
                settings_.resources_per_agent);
}
Result<void> Schema::per_request(const toml::node& node) {
  return number(node, "limits.resources_per_request", 1, kResourcesPerRequestMax,
                settings_.resources_per_request);
}
Result<void> Schema::strict(const toml::node& node) {
  return flag(node, "keys.strict", settings_.keys_strict);
}
Result<void> Schema::events_kept(const toml::node& node) {
  return number(node, "events.kept", kEventsKeptMin, kEventsKeptMax, settings_.events_kept);
}

Result<void> Schema::prefixes(const toml::node& node) {
  auto given = texts(node, "keys.prefixes", kPrefixesMax);
  if (!given) return fail(std::move(given.error()));
  std::vector<std::string> names;
  for (const auto& text : *given) {
    if (!is_word(text.value)) {
      return fail(config_error(text.origin, "keys.prefixes", quote(text.value, 60),
                               "lower-case letters, digits, '-' and '_', such as \"team\""));
    }
    if (!contains(names, text.value)) names.push_back(text.value);
  }
  settings_.key_prefixes = {std::move(names), origin(node)};
  return {};
}

Result<void> Schema::purposes(const toml::node& node) {
  auto given = texts(node, "keys.feature_purposes", kPurposesMax);
  if (!given) return fail(std::move(given.error()));
  std::vector<std::string> names = {"pause"};  // reserved, so always known
  for (const auto& text : *given) {
    if (!is_word(text.value)) {
      return fail(config_error(text.origin, "keys.feature_purposes", quote(text.value, 60),
                               "lower-case letters, digits, '-' and '_', such as \"schema\""));
    }
    if (!contains(names, text.value)) names.push_back(text.value);
  }
  settings_.feature_purposes = {std::move(names), origin(node)};
  return {};
}

Result<void> Schema::durability(const toml::node& node) {
  const auto* text = node.as_string();
  const std::string value = text == nullptr ? "" : text->get();
  if (value != "full" && value != "process") {
    return bad(node, "store.durability",
               "\"full\" (survives power loss) or \"process\" (survives kill -9)");
  }
  settings_.durability = {value == "full" ? Durability::kFull : Durability::kProcess, origin(node)};
  return {};
}

Result<void> Schema::ports_base(const toml::node& node) {
  return number(node, "ports.base", kPortLowest, kPortHighest - kPortsOfSession + 1,
                settings_.ports_base);
}
Result<void> Schema::ports_range(const toml::node& node) {
  return number(node, "ports.range", kPortsOfSession, kPortHighest, settings_.ports_range);
}
Result<void> Schema::ports_sessions(const toml::node& node) {
  return number(node, "ports.sessions", 1, kPortSessionsMax, settings_.ports_sessions);
}
Result<void> Schema::ports_ttl(const toml::node& node) {
  return duration(node, "ports.ttl", kLeaseMsMin, kLongestDurationMs, false,
                  settings_.ports_ttl_ms);
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
  LK_ASSIGN(const Texts agents, texts(node, key, most));
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
        return bad(node, "layout.mode", "\"off\", \"read\" or \"both\"");
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
      LK_ASSIGN(rule.paths, texts(node, "protect.paths", kProtectPathsMax));
    } else if (key.str() == "agents") {
      LK_CHECK(agents_of(node, "protect.agents", kProtectAgentsMax, rule.agents));
    } else if (key.str() == "reason") {
      LK_CHECK(reason_of(node, "protect.reason", rule.reason));
    } else {
      return unknown(key, "protect");
    }
  }
  if (rule.paths.empty()) {
    return fail(config_error(rule.origin, "protect.paths", "missing or empty",
                             "at least one path, pattern or key, such as [\"migrations/\"]"));
  }
  protect_paths_ += rule.paths.size();
  if (protect_paths_ > kProtectPathsMax) {
    return fail(config_error(rule.origin, "protect.paths",
                             std::to_string(protect_paths_) + " in this file",
                             "at most " + std::to_string(kProtectPathsMax) + " in one file"));
  }
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
  if (name == "allow") {
    rule.lists = true;
    LK_ASSIGN(rule.allow, texts(node, "policy.allow", kPolicyPatternsMax));
    return {};
  }
  if (name == "prefixes") {
    rule.lists = true;
    LK_ASSIGN(rule.prefixes, texts(node, "policy.prefixes", kPrefixesMax));
    return {};
  }
  if (name == "deny") {
    LK_ASSIGN(rule.deny, texts(node, "policy.deny", kPolicyPatternsMax));
    return {};
  }
  return unknown(key, "policy");
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
  if (policy_patterns_ > kPolicyPatternsMax) {
    return fail(config_error(rule.origin, "policy",
                             std::to_string(policy_patterns_) + " patterns in this file",
                             "at most " + std::to_string(kPolicyPatternsMax) + " in one file"));
  }
  rules_.policy.push_back(std::move(rule));
  return {};
}

const std::array<Schema::Field, 15> Schema::kFields = {{
    {"lease.default", &Schema::lease_default},
    {"lease.longest", &Schema::lease_longest},
    {"lease.endless", &Schema::lease_endless},
    {"lease.orphan_grace", &Schema::lease_orphan_grace},
    {"limits.resources_per_agent", &Schema::per_agent},
    {"limits.resources_per_request", &Schema::per_request},
    {"keys.prefixes", &Schema::prefixes},
    {"keys.feature_purposes", &Schema::purposes},
    {"keys.strict", &Schema::strict},
    {"store.durability", &Schema::durability},
    {"events.kept", &Schema::events_kept},
    {"ports.base", &Schema::ports_base},
    {"ports.range", &Schema::ports_range},
    {"ports.sessions", &Schema::ports_sessions},
    {"ports.ttl", &Schema::ports_ttl},
}};

}  // namespace

std::string toml_list(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ", ") + quote(value);
  return "[" + text + "]";
}

Error config_error(const Origin& origin, std::string_view key, std::string_view value,
                   std::string_view expected) {
  return Error{Code::kInvalidConfig,
               origin.text() + ": " + std::string(key) + " is " + std::string(value) +
                   ", expected " + std::string(expected),
               "correct the line, or remove it to get the default"};
}

Result<void> apply_config(std::string_view text, const std::string& file, Settings& settings,
                          RawRules& rules) {
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
