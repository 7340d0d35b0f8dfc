#include "mcp/work.h"

#include <algorithm>
#include <exception>

#include "base/text.h"

namespace lockkeeper::mcp {
namespace {

Answer invalid(const std::string& message) {
  return Answer::failed(code::kInvalidParams, message);
}

Answer not_a_string(const std::string& name) {
  return invalid("\"" + name + "\" is missing or not a string");
}

Answer read(const Catalogue& catalogue, Call& call) {
  if (!is_text(call.params(), "uri")) return not_a_string("uri");
  const std::string uri = call.params()["uri"].get<std::string>();
  if (catalogue.read) {
    if (auto found = catalogue.read(call, uri)) return std::move(*found);
  }
  const bool modern = call.client().era == Era::kModern;
  return Answer::failed(modern ? code::kInvalidParams : code::kResourceNotFound,
                        "there is no resource " + quote(uri), {{"uri", uri}});
}

Answer get(const Catalogue& catalogue, Call& call, const Json& arguments) {
  if (!is_text(call.params(), "name")) return not_a_string("name");
  const std::string name = call.params()["name"].get<std::string>();
  const Prompt* const prompt = catalogue.prompt(name);
  if (prompt == nullptr) return invalid("there is no prompt " + quote(name));
  for (const PromptArgument& each : prompt->arguments) {
    if (each.required && !arguments.contains(each.name)) {
      return invalid("the argument " + quote(each.name) + " is missing");
    }
  }
  for (const auto& [given, value] : arguments.items()) {
    if (!value.is_string()) return invalid("the argument " + quote(given) + " must be a string");
  }
  return prompt->get(call, arguments);
}

Answer use(const Catalogue& catalogue, Call& call, const Json& arguments) {
  if (!is_text(call.params(), "name")) return not_a_string("name");
  const std::string name = call.params()["name"].get<std::string>();
  const Tool* const tool = catalogue.tool(name);
  if (tool == nullptr) return invalid("there is no tool " + quote(name));
  // A model can correct its arguments, so the error is a result (2025-11-25), in both halves,
  // because clients show one or the other.
  std::string wrong = wrong_arguments(tool->input_schema, arguments);
  if (wrong.empty()) return tool->call(call, arguments);
  wrong += ". Next: correct the arguments and call " + tool->name + " again";
  // Clients check even an error's structure against the tool's schema, which it may not match.
  Json structured{{"message", wrong}};
  const Json& schema = tool->output_schema;
  const bool fits = !schema.is_null() && wrong_arguments(schema, structured).empty();
  return tool_answer(wrong, fits ? std::move(structured) : Json(), true);
}

Answer complete(const Catalogue& catalogue, const Json& params) {
  const bool shaped = params.contains("ref") && params["ref"].is_object() &&
                      params.contains("argument") && params["argument"].is_object() &&
                      is_text(params["argument"], "name") && is_text(params["argument"], "value");
  if (!shaped) return invalid("\"ref\" or \"argument\" is missing or malformed");
  constexpr std::size_t kValuesMax = 100;
  std::vector<std::string> values =
      catalogue.complete(params["ref"], params["argument"]["name"].get<std::string>(),
                         params["argument"]["value"].get<std::string>());
  Answer answer;
  const std::size_t total = values.size();
  if (total > kValuesMax) values.resize(kValuesMax);
  answer.result["completion"] = {
      {"values", values}, {"total", total}, {"hasMore", total > kValuesMax}};
  return answer;
}

bool may_need_input(const std::string& method) {
  return method == "tools/call" || method == "prompts/get" || method == "resources/read";
}

// What a client sends after it was asked for input.
std::optional<Answer> wrong_input(const Call& call) {
  if (call.client().era != Era::kModern || !may_need_input(call.method())) return std::nullopt;
  const Json& params = call.params();
  if (const auto given = params.find("inputResponses"); given != params.end()) {
    const bool objects = given->is_object() && std::ranges::all_of(*given, [](const Json& each) {
                           return each.is_object();
                         });
    if (!objects) return invalid("\"inputResponses\" must hold objects");
  }
  const auto state = params.find("requestState");
  if (state == params.end() || state->is_string()) return std::nullopt;
  return invalid("\"requestState\" must be a string");
}

// Only modern clients, in three methods, for capabilities that they declared.
Answer checked(const Call& call, Answer answer) {
  if (answer.error || !answer.input_required) return answer;
  if (call.client().era != Era::kModern || !may_need_input(call.method())) {
    return Answer::failed(code::kInternalError, "this needs input that cannot be asked for here");
  }
  Json missing = Json::object();
  const Json none = Json::object();
  const auto requests = answer.result.find("inputRequests");
  for (const auto& [key, request] : (requests == answer.result.end() ? none : *requests).items()) {
    const std::string method = request.at("method").get<std::string>();
    const Json& params = request.contains("params") ? request["params"] : none;
    if (!call.client().can_be_asked(method, params))
      missing.update(capabilities_for(method, params));
  }
  return missing.empty() ? answer : Answer::missing_capability(std::move(missing));
}

Answer work_or_throw(const Catalogue& catalogue, Call& call) {
  static const Json kNone = Json::object();
  const Json& params = call.params();
  const auto arguments = params.find("arguments");
  const Json& given = arguments == params.end() ? kNone : *arguments;
  if (!given.is_object()) return invalid("\"arguments\" must be an object");
  if (auto wrong = wrong_input(call)) return std::move(*wrong);
  if (call.method() == "resources/read") return checked(call, read(catalogue, call));
  if (call.method() == "prompts/get") return checked(call, get(catalogue, call, given));
  if (call.method() == "tools/call") return checked(call, use(catalogue, call, given));
  return complete(catalogue, params);
}

}  // namespace

bool is_work(const Catalogue& catalogue, const std::string& method) {
  if (method == "tools/call") return !catalogue.tools.empty();
  if (method == "prompts/get") return !catalogue.prompts.empty();
  if (method == "resources/read") return catalogue.has_resources();
  return method == "completion/complete" && catalogue.complete;
}

Answer work(const Catalogue& catalogue, Call& call) noexcept {
  try {
    return work_or_throw(catalogue, call);
  } catch (const std::exception& failure) {
    return Answer::failed(code::kInternalError,
                          "the server failed: " + std::string(failure.what()));
  } catch (...) {
    return Answer::failed(code::kInternalError, "the server failed");
  }
}

}  // namespace lockkeeper::mcp
