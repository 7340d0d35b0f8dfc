#include "mcp/published.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

namespace lockkeeper::proof {
namespace {

using Adapter = valijson::adapters::NlohmannJsonAdapter;

Wrongs violations(const valijson::Schema& schema, const Json& value, const std::string& name) {
  valijson::Validator validator(valijson::Validator::kStrongTypes);
  valijson::ValidationResults results;
  if (validator.validate(schema, Adapter(value), &results)) return {};
  Wrongs wrong;
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    std::string where;
    for (const std::string& part : error.context) where += part;
    wrong.push_back(name + " " + where + ": " + error.description);
  }
  return wrong;
}

// One revision's published schema.
class Published {
 public:
  explicit Published(Json document) : document_(std::move(document)) {
    key_ = document_.contains("$defs") ? "$defs" : "definitions";
    for (const auto& [name, each] : document_.at(key_).items()) {
      const Json members = each.value("properties", Json::object());
      const Json method = members.value("/method/const"_json_pointer, Json());
      if (method.is_string()) of_method_[method.get<std::string>()] = name;
      for (const Json& part : members.value("/error/allOf"_json_pointer, Json::array())) {
        const Json code = part.value("/properties/code/const"_json_pointer, Json());
        if (code.is_number()) of_error_[code.get<int>()] = name;
      }
    }
  }

  Wrongs wrong(const Json& message, const std::string& method) {
    if (message.contains("method")) {
      const auto known = of_method_.find(message["method"].get<std::string>());
      const char* const any = message.contains("id") ? "JSONRPCRequest" : "JSONRPCNotification";
      return against(known == of_method_.end() ? any : known->second, message);
    }
    if (message.contains("error")) {
      const Json code =
          message["error"].is_object() ? message["error"].value("code", Json()) : Json();
      const auto known = of_error_.find(code.is_number() ? code.get<int>() : 0);
      return against(
          known == of_error_.end() ? either("JSONRPCErrorResponse", "JSONRPCError") : known->second,
          message);
    }
    Wrongs wrong = against(either("JSONRPCResultResponse", "JSONRPCResponse"), message);
    const std::string name = result_of(message["result"], method);
    if (name.empty()) return wrong;
    for (std::string& each : against(name, message["result"])) wrong.push_back(std::move(each));
    return wrong;
  }

 private:
  std::string either(const char* first, const char* second) const {
    return document_[key_].contains(first) ? first : second;
  }

  // "CallToolRequest" is answered by "CallToolResult".
  std::string result_of(const Json& result, const std::string& method) const {
    const bool asks = result.is_object() && result.value("resultType", Json()) == "input_required";
    if (asks) return "InputRequiredResult";
    const auto request = of_method_.find(method);
    if (request == of_method_.end()) return "";
    std::string name = request->second;
    const std::size_t end = name.rfind("Request");
    if (end == std::string::npos) return "";
    name.replace(end, std::string::npos, "Result");
    return document_[key_].contains(name) ? name : "EmptyResult";
  }

  Wrongs against(const std::string& name, const Json& value) {
    auto& schema = schemas_[name];
    if (!schema) {
      schema = std::make_unique<valijson::Schema>();
      const Json whole{{key_, document_[key_]}, {"$ref", "#/" + key_ + "/" + name}};
      valijson::SchemaParser().populateSchema(Adapter(whole), *schema);
    }
    return violations(*schema, value, name);
  }

  const Json document_;
  std::string key_;
  std::map<std::string, std::string> of_method_;
  std::map<int, std::string> of_error_;
  std::map<std::string, std::unique_ptr<valijson::Schema>> schemas_;
};

// Null: there is none here.
Published* published(const std::string& revision) {
  static std::map<std::string, std::unique_ptr<Published>> all;
  const auto known = all.find(revision);
  if (known != all.end()) return known->second.get();
  std::unique_ptr<Published>& made = all[revision];
  const char* const folder = std::getenv("LOCKKEEPER_MCP_SCHEMAS");
  if (folder == nullptr) return nullptr;
  std::ifstream file(std::string(folder) + "/" + revision + ".json");
  if (file) made = std::make_unique<Published>(Json::parse(file));
  return made.get();
}

// The schemas that are parsed already are shared by all threads.
std::mutex& mutex() {
  static std::mutex one;
  return one;
}

}  // namespace

bool has_published(const std::string& revision) {
  const std::lock_guard lock(mutex());
  return published(revision) != nullptr;
}

Wrongs wrong_by_published(const std::string& revision, const Json& message,
                          const std::string& method) {
  const std::lock_guard lock(mutex());
  Published* const schema = published(revision);
  return schema == nullptr ? Wrongs{} : schema->wrong(message, method);
}

Wrongs wrong_by_schema(const Json& schema, const Json& value) {
  const std::lock_guard lock(mutex());
  static std::map<std::string, std::unique_ptr<valijson::Schema>> parsed;
  auto& known = parsed[schema.dump()];
  if (!known) {
    known = std::make_unique<valijson::Schema>();
    valijson::SchemaParser().populateSchema(Adapter(schema), *known);
  }
  return violations(*known, value, "structuredContent");
}

}  // namespace lockkeeper::proof
