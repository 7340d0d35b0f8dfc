#include "mcp/http/http_headers.h"

#include "base/bytes.h"
#include "base/parse.h"
#include "base/text.h"

namespace lockkeeper::mcp {
namespace {

constexpr std::string_view kBegin = "=?base64?";
constexpr std::string_view kEnd = "?=";

std::optional<RpcError> mismatch(std::string message) {
  return RpcError{code::kHeaderMismatch, std::move(message)};
}

// The header must be there once, with exactly this value.
std::optional<RpcError> must_say(const http::Request& request, const std::string& name,
                                 const std::string& wanted) {
  const std::string* const header = request.header(name);
  if (header == nullptr) return mismatch("the header " + name + " is missing");
  if (request.count(name) != 1) return mismatch("the header " + name + " is given twice");
  const auto said = decode_header(*header);
  if (!said) return mismatch("the header " + name + " is not valid base64");
  if (*said == wanted) return std::nullopt;
  return mismatch("the header " + name + " says " + quote(*said) + ", the body " + quote(wanted));
}

std::optional<RpcError> parameter_mismatch(const http::Request& request, const std::string& suffix,
                                           const Json* value) {
  const std::string name = "Mcp-Param-" + suffix;
  const std::string* const header = request.header(name);
  if (value == nullptr || value->is_null()) {
    if (header == nullptr) return std::nullopt;
    return mismatch("the header " + name + " is given, but its argument is not");
  }
  if (value->is_string()) return must_say(request, name, value->get<std::string>());
  if (value->is_number() && header != nullptr && request.count(name) == 1) {
    const auto number = number_in<double>(*header);
    if (number && Json(*number) == *value) return std::nullopt;
  }
  return must_say(request, name, value->dump());
}

std::optional<RpcError> parameters_mismatch(const http::Request& request, const Json& params,
                                            const Tool& tool) {
  static const Json kNone = Json::object();
  const auto properties = tool.input_schema.find("properties");
  if (properties == tool.input_schema.end() || !properties->is_object()) return std::nullopt;
  const auto found = params.find("arguments");
  const Json& arguments = found != params.end() && found->is_object() ? *found : kNone;
  for (const auto& [key, schema] : properties->items()) {
    if (!schema.is_object() || !schema.contains("x-mcp-header")) continue;
    const Json& suffix = schema["x-mcp-header"];
    if (!suffix.is_string()) continue;
    const auto value = arguments.find(key);
    const Json* const given = value == arguments.end() ? nullptr : &*value;
    if (auto error = parameter_mismatch(request, suffix.get<std::string>(), given)) return error;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> decode_header(std::string_view value) {
  const bool wrapped = value.size() >= kBegin.size() + kEnd.size() && value.starts_with(kBegin) &&
                       value.ends_with(kEnd);
  if (!wrapped) return std::string(value);
  value.remove_prefix(kBegin.size());
  value.remove_suffix(kEnd.size());
  return from_base64(value);
}

bool accepts(const http::Request& request, std::string_view type) {
  const std::string_view family = type.substr(0, type.find('/'));
  bool asked = false;
  for (const auto& [name, value] : request.headers) {
    if (!http::same_ignoring_case(name, "Accept")) continue;
    asked = true;
    for (const std::string& word : words_in(value, ",")) {
      const std::string_view part = http::media_type(word);
      if (part == "*/*" || http::same_ignoring_case(part, type) ||
          http::same_ignoring_case(part, std::string(family) + "/*")) {
        return true;
      }
    }
  }
  return !asked;
}

std::optional<RpcError> header_mismatch(const http::Request& request, const Incoming& message,
                                        const Catalogue& catalogue) {
  if (auto error = must_say(request, "Mcp-Method", message.method)) return error;
  const bool named = message.method == "tools/call" || message.method == "prompts/get";
  const char* const key = named ? "name" : "uri";
  if (!named && message.method != "resources/read") return std::nullopt;
  const auto value = message.params.find(key);
  // The session reports what is wrong with it.
  if (value == message.params.end() || !value->is_string()) return std::nullopt;
  const std::string name = value->get<std::string>();
  if (auto error = must_say(request, "Mcp-Name", name)) return error;
  if (message.method != "tools/call") return std::nullopt;
  const Tool* const tool = catalogue.tool(name);
  return tool == nullptr ? std::nullopt : parameters_mismatch(request, message.params, *tool);
}

}  // namespace lockkeeper::mcp
