// The rows of `config show`.
#include <array>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "realm/config.h"
#include "realm/config_schema.h"
#include "realm/policy.h"

namespace lockkeeper::realm {
namespace {

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A value as one would write it.
std::string toml_text(std::int64_t ms) {
  if (ms == kNoEnd) return "\"none\"";
  if (ms == 0) return "\"0\"";
  struct Unit {
    std::int64_t ms;
    const char* name;
  };
  static constexpr std::array<Unit, 5> kUnits = {
      {{86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1'000, "s"}, {1, "ms"}}};
  std::string text;
  for (const Unit& unit : kUnits) {
    if (ms >= unit.ms) text += std::to_string(ms / unit.ms) + unit.name;
    ms %= unit.ms;
  }
  return "\"" + text + "\"";
}

std::string toml_text(std::uint64_t number) {
  return std::to_string(number);
}
std::string toml_text(const std::string& text) {
  return quote(text);
}
std::string toml_text(bool value) {
  return value ? "true" : "false";
}
std::string toml_text(const std::vector<std::string>& words) {
  return toml_list(words);
}

// A field's value. What is not a list is written alike in TOML and JSON.
template <class Kind, class Value>
std::string field_text(const Kind&, const Value& value) {
  return toml_text(value);
}
std::string field_text(const BytesField&, std::uint64_t bytes) {
  return quote(format_bytes(bytes));
}
template <class Value>
std::string field_text(const ChoiceField<Value>& field, const Value& value) {
  return quote(word_of(field.words, value));
}
template <class Kind, class Value>
std::string field_json(const Kind& field, const Value& value) {
  if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
    return dumped(Json(value));
  } else {
    return field_text(field, value);
  }
}

std::vector<std::string> texts_of(const std::vector<key::Resource>& paths) {
  std::vector<std::string> texts;
  for (const key::Resource& path : paths) texts.push_back(path.text());
  return texts;
}

Json policy_json(const PolicyRule& rule) {
  Json json = Json::object();
  const auto texts = [](const std::vector<PolicyPattern>& patterns) {
    Json list = Json::array();
    for (const PolicyPattern& pattern : patterns) list.push_back(pattern.text);
    return list;
  };
  if (!rule.agents.empty()) json["agents"] = rule.agents;
  if (!rule.allow.empty() || (rule.lists && rule.prefixes.empty())) {
    json["allow"] = texts(rule.allow);
  }
  if (!rule.prefixes.empty()) json["prefixes"] = rule.prefixes;
  if (!rule.deny.empty()) json["deny"] = texts(rule.deny);
  if (!rule.reason.empty()) json["reason"] = rule.reason;
  return json;
}

Json layout_json(const LayoutSetting& layout) {
  Json json = {{"kind", layout.kind}, {"root", layout.root}};
  if (!layout.mode.empty()) json["mode"] = layout.mode;
  for (const auto& [name, value] : layout.options) json[name] = value;
  return json;
}

std::string rule_text(const ProtectRule& rule) {
  std::string text =
      "paths = " + toml_list(texts_of(rule.paths)) + ", agents = " + toml_list(rule.agents);
  if (!rule.reason.empty()) text += ", reason = " + quote(rule.reason, kReasonBytesMax);
  return text;
}

void add_hook_rows(const Settings& s, std::vector<SettingRow>& rows) {
  for (const HookPathRule& rule : s.hook_paths) {
    const std::vector<std::string> paths = texts_of(rule.paths);
    const std::string_view policy = word_of<HookPolicy>(kHookPolicies, rule.policy);
    rows.push_back({"hook.path", "paths = " + toml_list(paths) + ", policy = " + quote(policy),
                    dumped({{"paths", paths}, {"policy", policy}}), rule.origin.text()});
  }
  for (const HookToolRule& rule : s.hook_tools) {
    std::string text = quote(rule.tool, kHookToolBytesMax) + " = { does = " + quote(rule.does);
    Json json = {{"tool", rule.tool}, {"does", rule.does}};
    if (!rule.paths.empty()) {
      text += ", paths = " + toml_list(rule.paths);
      json["paths"] = rule.paths;
    }
    rows.push_back({"hook.tools", text + " }", dumped(json), rule.origin.text()});
  }
}

}  // namespace

std::vector<SettingRow> settings_rows(const Settings& s) {
  std::vector<SettingRow> rows;
  for (const Field& field : kFields) {
    std::visit(
        [&](const auto& kind) {
          const auto& [value, origin] = s.*kind.setting;
          if constexpr (std::is_same_v<std::decay_t<decltype(kind)>, NameField>) {
            if (value.empty()) return;  // it has none
          }
          rows.push_back({std::string(field.name), field_text(kind, value), field_json(kind, value),
                          origin.text()});
        },
        field.kind);
  }
  add_hook_rows(s, rows);
  for (const ProtectRule& rule : s.protect) {
    Json json = {{"paths", texts_of(rule.paths)}, {"agents", rule.agents}};
    if (!rule.reason.empty()) json["reason"] = rule.reason;
    rows.push_back({"protect", rule_text(rule), dumped(json), rule.origin.text()});
  }
  for (const PolicyRule& rule : s.policy) {
    rows.push_back({"policy", policy_text(rule), dumped(policy_json(rule)), rule.origin.text()});
  }
  for (const LayoutSetting& layout : s.layouts) {
    std::string text = "kind = " + quote(layout.kind) + ", root = " + quote(layout.root);
    if (!layout.mode.empty()) text += ", mode = " + quote(layout.mode);
    for (const auto& [name, value] : layout.options) text += ", " + name + " = " + quote(value);
    rows.push_back({"layout", text, dumped(layout_json(layout)), layout.origin.text()});
  }
  return rows;
}

}  // namespace lockkeeper::realm
