#include "plan/model.h"

#include <optional>

#include "base/text.h"
#include "key/resource.h"
#include "plan/placeholders.h"

namespace lockkeeper::plan {
namespace {

std::string text_at(const yaml::Node& map, std::string_view key) {
  const yaml::Node* const node = map.find(key);
  return node != nullptr && node->is_text() ? node->text : std::string();
}

std::optional<std::int64_t> number_at(const yaml::Node* map, std::string_view key) {
  const yaml::Node* const node = map == nullptr ? nullptr : map->find(key);
  return node == nullptr ? std::nullopt : node->whole();
}

std::vector<Name> names_at(const yaml::Node* map, std::string_view key) {
  std::vector<Name> names;
  const yaml::Node* const list = map == nullptr ? nullptr : map->find(key);
  if (list == nullptr) return names;
  for (const yaml::Node& each : list->list) {
    if (each.is_text()) names.push_back({each.text, each.place});
  }
  return names;
}

const yaml::Node* map_at(const yaml::Node& map, std::string_view key) {
  const yaml::Node* const node = map.find(key);
  return node != nullptr && node->is_map() ? node : nullptr;
}

Package read_package(const yaml::Node& node, const yaml::Node* defaults) {
  Package package;
  package.place = node.place;
  if (const yaml::Node* const id = package_id(node)) package.id = {id->text, id->place};
  package.title = text_at(node, "title");
  package.description = text_at(node, "description");
  package.depends_on = names_at(&node, "depends_on");
  // Older files have `dependencies`.
  if (package.depends_on.empty()) package.depends_on = names_at(&node, "dependencies");
  const yaml::Node* const locks = map_at(node, "locks");
  package.files = names_at(locks, "files");
  package.keys = names_at(locks, "keys");
  if (locks != nullptr) package.reason = text_at(*locks, "reason");
  const yaml::Node* const scope = map_at(node, "scope");
  package.scoped = scope != nullptr && scope->find("write_allow") != nullptr;
  package.write_allow = names_at(scope, "write_allow");
  package.read_allow = names_at(scope, "read_allow");
  package.deny = names_at(scope, "deny");
  const auto number = [&](const yaml::Node* map, const char* key, const char* by_default,
                          std::int64_t& into) {
    into = number_at(map, key).value_or(number_at(defaults, by_default).value_or(into));
  };
  number(&node, "priority", "priority", package.priority);
  number(locks, "ttl_minutes", "lock_ttl_minutes", package.ttl_minutes);
  number(&node, "timeout_minutes", "timeout_minutes", package.timeout_minutes);
  number(&node, "retry_budget", "retry_budget", package.retry_budget);
  if (const yaml::Node* const command = node.find("command")) {
    package.command = read_command(*command);
  }
  return package;
}

}  // namespace

Command read_command(const yaml::Node& node) {
  if (node.is_text()) return {{node.text}, true};
  Command command;
  for (const yaml::Node& word : node.list) command.words.push_back(word.text);
  return command;
}

std::vector<Finding> check_agent(const Name& id, const Command& command, const NameRule& rule) {
  std::vector<Finding> findings;
  const auto add = [&](std::string message, std::string hint,
                       Severity severity = Severity::kError) {
    findings.push_back(
        {"schema", severity, id.place, id.text, std::move(message), std::move(hint), {}});
  };
  if (rule && !id.text.empty()) {
    if (auto fine = rule(id.text); !fine) add(fine.error().message, fine.error().hint);
  }
  const bool blank =
      !command.empty() && command.words.front().find_first_not_of(" \t\n") == std::string::npos;
  if (blank) {
    add("the command of " + shown_name(id.text) + " is empty: it would do nothing and succeed",
        "write another command, or remove the field");
  }
  for (const std::string& unknown : unknown_placeholders(command)) {
    add("in the command of " + shown_name(id.text) + ", " + unknown_placeholder_text(unknown),
        known_placeholders_text(), Severity::kWarning);
  }
  return findings;
}

const yaml::Node* package_id(const yaml::Node& package) {
  const yaml::Node* found = nullptr;
  for (const char* const key : {"package_id", "id", "name"}) {
    const yaml::Node* const id = package.find(key);
    const bool missing = found == nullptr || found->text.empty();
    if (missing && id != nullptr && id->is_text()) found = id;
  }
  return found;
}

const yaml::Node* feature_id(const yaml::Node& root) {
  const yaml::Node* const feature = root.find("feature");
  if (feature == nullptr || feature->kind == yaml::Node::Kind::kNull) return nullptr;
  const yaml::Node* const id = feature->is_map() ? feature->find("id") : nullptr;
  return id == nullptr ? feature : id;
}

std::optional<Finding> check_feature(const yaml::Node& root) {
  const yaml::Node* const id = feature_id(root);
  if (id == nullptr) return std::nullopt;
  Finding finding{"schema", Severity::kError, id->place, {}, {}, "write feature: ID", {}};
  if (!id->is_text()) {
    finding.message = "the feature's id is not a string, so the plan cannot be paused";
    return finding;
  }
  const auto parsed = key::parse("feature:" + id->text + ":pause", {});
  if (parsed) return std::nullopt;
  finding.message =
      "the feature " + quote(id->text) + " cannot be paused: " + parsed.error().message;
  finding.hint = parsed.error().hint;
  return finding;
}

WorkPackages read_work_packages(const yaml::Node& root) {
  WorkPackages plan;
  if (const yaml::Node* const id = feature_id(root)) plan.feature = id->is_text() ? id->text : "";
  if (const yaml::Node* const contracts = map_at(root, "contracts")) {
    const yaml::Node* const openapi = map_at(*contracts, "openapi");
    plan.contracts = names_at(openapi, "files");
    const yaml::Node* const primary = openapi == nullptr ? nullptr : openapi->find("primary");
    if (primary != nullptr && primary->is_text()) {
      plan.contracts.push_back({primary->text, primary->place});
    }
    for (Name& name : names_at(contracts, "schemas")) plan.contracts.push_back(std::move(name));
    if (const yaml::Node* const generated = map_at(*contracts, "generated")) {
      for (const yaml::Node::Entry& entry : generated->entries) {
        if (!entry.value.is_text() || entry.value.text.empty()) continue;
        plan.contracts.push_back({entry.value.text + "/", entry.value.place});
      }
    }
  }
  const yaml::Node* const packages = root.find("packages");
  if (packages == nullptr) return plan;
  const yaml::Node* const defaults = map_at(root, "defaults");
  for (const yaml::Node& each : packages->list) {
    if (each.is_map()) plan.packages.push_back(read_package(each, defaults));
  }
  return plan;
}

}  // namespace lockkeeper::plan
