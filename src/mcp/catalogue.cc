#include "mcp/catalogue.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace lockkeeper::mcp {
namespace {

constexpr double kWholeMost = 9007199254740992.0;  // above this, a double skips whole numbers

bool has_type(const Json& value, const std::string& type) {
  if (type == "string") return value.is_string();
  if (type == "integer") {
    if (!value.is_number_float()) return value.is_number_integer();
    const double number = value.get<double>();
    return std::trunc(number) == number && std::abs(number) <= kWholeMost;
  }
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  return value.is_null();
}

std::string article(const std::string& type) {
  return (type == "array" || type == "integer" || type == "object" ? "an " : "a ") + type;
}

std::string wrong_value(const std::string& what, const Json& schema, const Json& value) {
  if (const auto type = schema.find("type"); type != schema.end()) {
    const Json types = type->is_array() ? *type : Json::array({*type});  // the first one is named
    const auto fits = [&](const Json& name) { return has_type(value, name.get<std::string>()); };
    if (std::ranges::none_of(types, fits)) return what + " must be " + article(types.front());
  }
  if (const auto words = schema.find("enum"); words != schema.end()) {
    if (std::ranges::find(*words, value) == words->end()) {
      return what + " must be one of " + line_of(*words);
    }
  }
  if (value.is_number()) {
    if (schema.contains("minimum") && value < schema["minimum"]) {
      return what + " must be at least " + line_of(schema["minimum"]);
    }
    if (schema.contains("maximum") && value > schema["maximum"]) {
      return what + " must be at most " + line_of(schema["maximum"]);
    }
  }
  if (value.is_array() && schema.contains("items")) {
    const std::size_t least = schema.value("minItems", std::size_t{0});
    if (value.empty() && least > 0) return what + " must not be empty";
    if (value.size() < least) return what + " must hold at least " + std::to_string(least);
    for (const Json& each : value) {
      std::string wrong = wrong_value("each of " + what, schema["items"], each);
      if (!wrong.empty()) return wrong;
    }
  }
  return "";
}

}  // namespace

Answer Answer::failed(int code, std::string message, Json data) {
  Answer answer;
  answer.error = RpcError{code, std::move(message), std::move(data)};
  return answer;
}

Answer Answer::missing_capability(Json needed) {
  return failed(code::kMissingCapability,
                "the client has not declared a capability that this needs: " + line_of(needed),
                {{"requiredCapabilities", needed}});
}

Answer Answer::need_input(Json requests, std::string state) {
  Answer answer;
  answer.input_required = true;
  if (!requests.empty()) answer.result["inputRequests"] = std::move(requests);
  if (!state.empty()) answer.result["requestState"] = std::move(state);
  return answer;
}

Answer tool_answer(const std::string& text, Json structured, bool is_error) {
  Answer answer;
  answer.result["content"] = Json::array({{{"type", "text"}, {"text", text}}});
  if (!structured.is_null()) answer.result["structuredContent"] = std::move(structured);
  if (is_error) answer.result["isError"] = true;
  return answer;
}

const Tool* Catalogue::tool(const std::string& wanted) const {
  const auto found = std::ranges::find(tools, wanted, &Tool::name);
  return found == tools.end() ? nullptr : &*found;
}

const Prompt* Catalogue::prompt(const std::string& wanted) const {
  const auto found = std::ranges::find(prompts, wanted, &Prompt::name);
  return found == prompts.end() ? nullptr : &*found;
}

std::string wrong_arguments(const Json& schema, const Json& arguments) {
  static const Json kNone = Json::object();
  const Json& known = schema.contains("properties") ? schema["properties"] : kNone;
  if (schema.contains("required")) {
    for (const Json& name : schema["required"]) {
      if (!arguments.contains(name.get_ref<const std::string&>())) {
        return "the argument " + quote(name.get<std::string>()) + " is missing";
      }
    }
  }
  std::vector<std::string_view> names;
  for (const auto& [name, ignored] : known.items()) names.push_back(name);
  const auto others = schema.find("additionalProperties");
  const bool open = others == schema.end() || *others != false;
  for (const auto& [name, value] : arguments.items()) {
    if (!known.contains(name)) {
      if (open) continue;
      const auto meant = nearest(name, names);
      return "there is no argument " + quote(name) +
             (meant ? "; did you mean " + quote(*meant) + "?" : "");
    }
    std::string wrong = wrong_value(quote(name), known[name], value);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace lockkeeper::mcp
