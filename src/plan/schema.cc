#include "plan/schema.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "base/text.h"

namespace lockkeeper::plan {
namespace {

using nlohmann::json;

constexpr std::size_t kFindingsMax = 1'000;

json number_of(const std::string& text) {
  std::int64_t whole = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, whole);
  if (error == std::errc() && rest == end) return whole;
  double real = 0;
  std::from_chars(text.data(), end, real);
  return real;
}

json json_of(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return nullptr;
    case Node::Kind::kText:
      return node.text;
    case Node::Kind::kNumber:
      return number_of(node.text);
    case Node::Kind::kTruth:
      return node.text == "true";
    case Node::Kind::kList: {
      json list = json::array();
      for (const Node& each : node.list) list.push_back(json_of(each));
      return list;
    }
    case Node::Kind::kMap: {
      json map = json::object();
      for (const Node::Entry& entry : node.entries) map[entry.key] = json_of(entry.value);
      return map;
    }
  }
  return nullptr;
}

const valijson::Schema& parsed_schema() {
  static const valijson::Schema* const kSchema = [] {
    auto* schema = new valijson::Schema;  // kept for the life of the process
    const json text = json::parse(work_packages_schema());
    valijson::SchemaParser parser;
    parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(text), *schema);
    return schema;
  }();
  return *kSchema;
}

struct Target {
  const Node* node;
  std::string path;  // "packages[3].locks"
  std::string package;
};

// The validator names a value by steps such as "[packages]" and "[3]".
Target find_target(const Node& root, const std::vector<std::string>& steps) {
  Target target{&root, "", ""};
  for (const std::string& step : steps) {
    if (step.size() < 2 || step.front() != '[') continue;
    const std::string name = step.substr(1, step.size() - 2);
    const Node* next = nullptr;
    if (target.node->is_list()) {
      std::size_t index = 0;
      std::from_chars(name.data(), name.data() + name.size(), index);
      if (index < target.node->list.size()) next = &target.node->list[index];
      target.path += "[" + name + "]";
    } else {
      next = target.node->find(name);
      target.path += (target.path.empty() ? "" : ".") + name;
    }
    if (next == nullptr) break;
    target.node = next;
    for (const char* const key : {"package_id", "id"}) {
      const Node* const id = next->find(key);
      if (id != nullptr && id->is_text() && target.package.empty() &&
          target.path.starts_with("packages[")) {
        target.package = id->text;
      }
    }
  }
  return target;
}

// Its messages on the way up only say that something below was wrong.
bool says_something(const std::string& description) {
  return !description.starts_with("Failed to validate") &&
         description.find("Failed to validate against any") == std::string::npos;
}

std::string plain_message(const Target& target, std::string text) {
  const std::string where = target.path.empty() ? "the file" : target.path;
  const auto quoted_name = [&]() -> std::string {
    const std::size_t last = text.rfind('\'');
    const std::size_t first = last == std::string::npos ? last : text.rfind('\'', last - 1);
    return first == std::string::npos ? "" : text.substr(first + 1, last - first - 1);
  };
  if (text.find("additionalProperties") != std::string::npos) {
    return where + " has the unknown key " + quote(quoted_name(), 60);
  }
  if (text.starts_with("Value type not permitted")) return where + " is of the wrong type";
  if (text.starts_with("Missing required property")) {
    return where + " has no " + quoted_name();
  }
  while (!text.empty() && text.back() == '.') text.pop_back();
  if (target.node->is_text() || target.node->kind == Node::Kind::kNumber) {
    return where + " is " + quote(target.node->text, 60) + ": " + text;
  }
  return where + ": " + text;
}

}  // namespace

std::vector<Finding> check_structure(const Node& root) {
  const json document = json_of(root);
  valijson::Validator validator;
  valijson::ValidationResults results;
  const valijson::adapters::NlohmannJsonAdapter adapter(document);
  std::vector<Finding> findings;
  if (validator.validate(parsed_schema(), adapter, &results)) return findings;
  valijson::ValidationResults::Error error;
  while (results.popError(error) && findings.size() < kFindingsMax) {
    if (!says_something(error.description)) continue;
    const Target target = find_target(root, error.context);
    Finding finding;
    finding.rule = "schema";
    finding.place = target.node->place;
    finding.package = target.package;
    finding.message = plain_message(target, error.description);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace lockkeeper::plan
