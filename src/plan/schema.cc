#include "plan/schema.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <unordered_set>

#include "base/text.h"
#include "plan/model.h"

namespace lockkeeper::plan {
namespace {

using nlohmann::json;
using NodeKind = yaml::Node::Kind;

const char* kind_name(NodeKind kind) {
  constexpr const char* kNames[] = {"empty",         "a string", "a number",
                                    "true or false", "a list",   "a map"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string type_name(const std::string& type) {
  static const std::map<std::string, std::string> kNames = {
      {"object", "a map"},    {"array", "a list"},           {"string", "a string"},
      {"number", "a number"}, {"integer", "a whole number"}, {"boolean", "true or false"},
      {"null", "empty"}};
  const auto name = kNames.find(type);
  return name == kNames.end() ? type : name->second;
}

bool has_type(const yaml::Node& node, const std::string& type) {
  if (type == "object") return node.is_map();
  if (type == "array") return node.is_list();
  if (type == "string") return node.is_text();
  if (type == "integer") return node.whole().has_value();
  if (type == "number") return node.kind == NodeKind::kNumber;
  if (type == "boolean") return node.kind == NodeKind::kTruth;
  return type == "null" && node.kind == NodeKind::kNull;
}

bool equals(const yaml::Node& node, const json& value) {
  if (value.is_string()) return node.is_text() && node.text == value.get<std::string>();
  if (value.is_number_integer()) return node.whole() == value.get<std::int64_t>();
  if (value.is_boolean()) {
    return node.kind == NodeKind::kTruth && (node.text == "true") == value.get<bool>();
  }
  return value.is_null() && node.kind == NodeKind::kNull;
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, std::not_fn(is_utf8_continuation)));
}

// The node for a message: its text, or its kind.
std::string shown(const yaml::Node& node) {
  if (node.is_text()) return quote(node.text, 60);
  if (node.kind == NodeKind::kNumber || node.kind == NodeKind::kTruth) return node.text;
  return kind_name(node.kind);
}

// The schema's name for what older files and other tools call `key`; empty: unknown.
std::string other_name(const std::string& key) {
  static const std::map<std::string, std::string> kNames = {
      {"id", "package_id"},           {"name", "title"},
      {"dependencies", "depends_on"}, {"after", "depends_on"},
      {"version", "schema_version"},  {"commands", "steps"},
      {"tier", "tier_required"},      {"ttl", "ttl_minutes"}};
  const auto name = kNames.find(key);
  return name == kNames.end() ? "" : name->second;
}

class StructureCheck {
 public:
  explicit StructureCheck(const json& schema, bool keys_only = false)
      : root_(schema), keys_only_(keys_only) {}

  std::vector<Finding> run(const yaml::Node& node) {
    check(root_, node);
    return std::move(findings_);
  }

 private:
  struct Step {
    const std::string* key;  // null: an element of a list
    std::size_t index;
  };

  // "packages[3].locks", or "wp-api.locks" if the package has a name.
  std::string where() const {
    const bool named = !package_.empty() && path_.size() > 1;
    std::string text = named ? shown_name(package_) : "";
    for (std::size_t i = named ? 2 : 0; i < path_.size(); ++i) {
      if (path_[i].key == nullptr) {
        text += "[" + std::to_string(path_[i].index) + "]";
      } else {
        text += (text.empty() ? "" : ".") + *path_[i].key;
      }
    }
    return text.empty() ? "the file" : text;
  }

  void add(yaml::Place place, const std::string& what, std::string hint = {}) {
    ++broken_;
    if (!keys_only_) report(place, what, std::move(hint));
  }

  void report(yaml::Place place, const std::string& what, std::string hint) {
    if (quiet_ > 0 || findings_.size() >= kStructureFindingsMax) return;
    Finding& finding = findings_.emplace_back();
    finding.rule = "schema";
    finding.place = place;
    finding.package = path_.size() > 1 ? package_ : "";
    finding.message = where() + " " + what;
    finding.hint = std::move(hint);
  }

  const json& resolved(const json& schema) const {
    const json* at = &schema;
    while (at->contains("$ref")) {
      const std::string name = at->at("$ref").get<std::string>();
      at = &root_.at(json::json_pointer(name.substr(1)));
    }
    return *at;
  }

  void check(const json& given, const yaml::Node& node) {
    const json& schema = resolved(given);
    if (const auto all = schema.find("allOf"); all != schema.end()) {
      for (const json& each : *all) check(each, node);
    }
    if (const auto any = schema.find("anyOf"); any != schema.end()) check_any(*any, node);
    if (const auto type = schema.find("type"); type != schema.end()) {
      const std::string name = type->get<std::string>();
      if (!has_type(node, name)) {
        return add(node.place, "is " + shown(node) + "; it must be " + type_name(name));
      }
    }
    if (const auto values = schema.find("enum"); values != schema.end()) check_enum(*values, node);
    if (node.is_map()) check_map(schema, node);
    if (node.is_list()) check_list(schema, node);
    if (node.is_text() && !keys_only_) check_text(schema, node);
    if (node.kind == NodeKind::kNumber) check_number(schema, node);
  }

  void check_any(const json& schemas, const yaml::Node& node) {
    const std::size_t before = broken_;
    std::vector<std::string> types;
    for (const json& each : schemas) {
      ++quiet_;
      check(each, node);
      --quiet_;
      if (broken_ == before) return;
      broken_ = before;
      types.push_back(type_name(resolved(each).value("type", "something else")));
    }
    add(node.place, "is " + shown(node) + "; it must be " + join(types, " or "));
  }

  void check_enum(const json& values, const yaml::Node& node) {
    for (const json& value : values) {
      if (equals(node, value)) return;
    }
    std::vector<std::string> texts;
    for (const json& value : values) {
      texts.push_back(value.is_string() ? quote(value.get<std::string>()) : value.dump());
    }
    add(node.place, "is " + shown(node) + "; it must be " + (texts.size() > 1 ? "one of " : "") +
                        join(texts, ", "));
  }

  void check_map(const json& schema, const yaml::Node& node) {
    std::vector<std::string> missing;
    if (const auto required = schema.find("required"); required != schema.end()) {
      for (const json& each : *required) {
        const std::string name = each.get<std::string>();
        if (node.find(name) == nullptr) missing.push_back(name);
      }
    }
    if (!missing.empty()) add(node.place, "has no " + join(missing, ", "));
    static const json kNone = json::object();
    const auto found = schema.find("properties");
    const json& properties = found == schema.end() ? kNone : *found;
    const auto others = schema.find("additionalProperties");
    for (const yaml::Node::Entry& entry : node.entries) {
      const auto known = properties.find(entry.key);
      if (known == properties.end() && others == schema.end()) continue;
      if (known == properties.end() && others->is_boolean()) {
        if (!others->get<bool>()) unknown_key(entry, properties);
        continue;
      }
      path_.push_back({&entry.key, 0});
      check(known == properties.end() ? *others : *known, entry.value);
      path_.pop_back();
    }
  }

  void unknown_key(const yaml::Node::Entry& entry, const json& properties) {
    std::vector<std::string_view> names;
    for (const auto& [name, property] : properties.get_ref<const json::object_t&>()) {
      names.push_back(name);
    }
    std::string meant = other_name(entry.key);
    if (!properties.contains(meant)) meant = nearest(entry.key, names).value_or("");
    std::string hint = meant.empty() ? "" : "did you mean " + meant + "?";
    if (entry.key == "<<") hint = "merge keys are not supported: write out the values";
    ++broken_;
    report(entry.place, "has the unknown key " + quote(entry.key, 60), hint);
  }

  void check_list(const json& schema, const yaml::Node& node) {
    const std::size_t count = node.list.size();
    if (count < schema.value("minItems", std::size_t{0})) {
      add(node.place, count == 0
                          ? "is an empty list; it needs at least " + schema["minItems"].dump()
                          : "has " + std::to_string(count) + " elements; at least " +
                                schema["minItems"].dump() + " are needed");
    }
    if (count > schema.value("maxItems", SIZE_MAX)) {
      add(node.place, "has " + std::to_string(count) + " elements; at most " +
                          schema["maxItems"].dump() + " are allowed");
    }
    const bool unique = schema.value("uniqueItems", false);
    const auto items = schema.find("items");
    std::unordered_set<std::string> seen;
    for (std::size_t i = 0; i < count; ++i) {
      const yaml::Node& each = node.list[i];
      const bool outermost = path_.size() == 1 && *path_.front().key == "packages";
      const yaml::Node* const id = outermost ? package_id(each) : nullptr;
      if (id != nullptr) package_ = id->text;
      path_.push_back({nullptr, i});
      if (unique && !each.is_list() && !each.is_map() &&
          !seen.insert(std::string(kind_name(each.kind)) + each.text).second) {
        add(each.place, "repeats " + shown(each));
      }
      if (items != schema.end()) check(*items, each);
      path_.pop_back();
      if (outermost) package_.clear();
    }
  }

  void check_text(const json& schema, const yaml::Node& node) {
    if (!schema.contains("minLength") && !schema.contains("maxLength") &&
        !schema.contains("pattern")) {
      return;
    }
    const std::size_t length = code_points(node.text);
    if (length < schema.value("minLength", std::size_t{0})) {
      return add(node.place, "is an empty string");
    }
    if (length > schema.value("maxLength", SIZE_MAX)) {
      return add(node.place, "is " + shown(node) + ", " + std::to_string(length) +
                                 " characters long; at most " + schema["maxLength"].dump() +
                                 " are allowed");
    }
    const auto pattern = schema.find("pattern");
    if (pattern == schema.end()) return;
    const std::string text = pattern->get<std::string>();
    const auto [at, fresh] = patterns_.try_emplace(text);
    if (fresh) at->second = std::regex(text, std::regex::ECMAScript);
    if (std::regex_search(node.text, at->second)) return;
    add(node.place, "is " + shown(node) + "; it must match " + text);
  }

  void check_number(const json& schema, const yaml::Node& node) {
    const auto whole = node.whole();
    if (!whole) return;  // our schemas bound only whole numbers
    const auto least = schema.find("minimum");
    const auto most = schema.find("maximum");
    if (least != schema.end() && *whole < least->get<std::int64_t>()) {
      add(node.place, "is " + node.text + "; the minimum is " + least->dump());
    }
    if (most != schema.end() && *whole > most->get<std::int64_t>()) {
      add(node.place, "is " + node.text + "; the maximum is " + most->dump());
    }
  }

  const json& root_;
  const bool keys_only_;
  std::vector<Step> path_;
  std::string package_;  // of the path
  std::vector<Finding> findings_;
  std::map<std::string, std::regex> patterns_;
  std::size_t broken_ = 0;
  std::size_t quiet_ = 0;
};

const json& schema_json() {
  static const json* const kSchema = new json(json::parse(work_packages_schema()));
  return *kSchema;
}

}  // namespace

std::vector<Finding> check_structure(const yaml::Node& root, const json& schema) {
  return StructureCheck(schema).run(root);
}

std::vector<Finding> check_structure(const yaml::Node& root) {
  return check_structure(root, schema_json());
}

std::vector<Finding> unknown_keys(const yaml::Node& root) {
  return StructureCheck(schema_json(), true).run(root);
}

}  // namespace lockkeeper::plan
