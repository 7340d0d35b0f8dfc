#include "mcp/shapes.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <regex>
#include <set>

namespace lockkeeper::proof {
namespace {

// Where one looks, and what was seen to be wrong.
struct Look {
  std::string revision;
  std::string where;
  Wrongs& wrong;

  Look at(const std::string& part) const { return {revision, where + part, wrong}; }
  void say(const std::string& what) const { wrong.push_back(where + " " + what); }
  bool since(const std::string& first) const { return revision >= first; }
  bool modern() const { return revision == kModern; }
};

using Check = void (*)(const Look&, const Json&);

enum class Need { kMust, kMay };
constexpr Need kMust = Need::kMust;
constexpr Need kMay = Need::kMay;

struct Member {
  const char* name;
  Check check;
  Need need;
  const char* since = "";
};
using Members = std::initializer_list<Member>;

void anything(const Look& /*look*/, const Json& /*json*/) {}

void open_object(const Look& look, const Json& json) {
  if (!json.is_object()) look.say("is no object");
}

void members(const Look& look, const Json& json, Members known) {
  if (!json.is_object()) return look.say("is no object");
  for (const Member& each : known) {
    const auto found = json.find(each.name);
    if (found == json.end()) {
      if (each.need == kMust && look.since(each.since)) {
        look.say("lacks " + std::string(each.name));
      }
      continue;
    }
    if (!look.since(each.since)) {
      look.say("has " + std::string(each.name) + ", which came with " + each.since);
    }
    each.check(look.at("." + std::string(each.name)), *found);
  }
  for (const auto& [name, value] : json.items()) {
    if (name == "_meta") {
      open_object(look.at("._meta"), value);
      continue;
    }
    if (std::ranges::none_of(known, [&](const Member& each) { return name == each.name; })) {
      look.say("has " + name + ", which is not in " + look.revision);
    }
  }
}

void text(const Look& look, const Json& json) {
  if (!json.is_string()) look.say("is no string");
}

void words(const Look& look, const Json& json) {
  if (!json.is_string() || json.get_ref<const std::string&>().empty()) look.say("has no words");
}

void truth(const Look& look, const Json& json) {
  if (!json.is_boolean()) look.say("is neither true nor false");
}

void number(const Look& look, const Json& json) {
  if (!json.is_number()) look.say("is no number");
}

void count(const Look& look, const Json& json) {
  if (!json.is_number_integer() || json < 0) look.say("is no whole number from 0 on");
}

void id(const Look& look, const Json& json) {
  if (!is_id(json)) look.say("is neither a string nor a whole number");
}

template <Check kCheck>
void each(const Look& look, const Json& json) {
  if (!json.is_array()) return look.say("is no array");
  for (std::size_t i = 0; i < json.size(); ++i) {
    kCheck(look.at("[" + std::to_string(i) + "]"), json[i]);
  }
}

void one_of(const Look& look, const Json& json, std::initializer_list<const char*> known) {
  if (json.is_string() && std::ranges::find(known, json.get<std::string>()) != known.end()) return;
  look.say("is " + json.dump() + ", which is none of those allowed");
}

void matches(const Look& look, const Json& json, const std::regex& pattern) {
  if (!json.is_string() || !std::regex_match(json.get_ref<const std::string&>(), pattern)) {
    look.say("is " + json.dump() + ", which is not of the form");
  }
}

void uri(const Look& look, const Json& json) {
  static const std::regex kForm("[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]*");
  matches(look, json, kForm);
}

void uri_template(const Look& look, const Json& json) {
  static const std::regex kForm("[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"]*");
  matches(look, json, kForm);
}

void base64(const Look& look, const Json& json) {
  static const std::regex kForm("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?");
  matches(look, json, kForm);
}

void role(const Look& look, const Json& json) {
  one_of(look, json, {"user", "assistant"});
}

void level(const Look& look, const Json& json) {
  one_of(look, json,
         {"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"});
}

void priority(const Look& look, const Json& json) {
  if (!json.is_number() || json < 0 || json > 1) look.say("is not from 0 to 1");
}

void annotations(const Look& look, const Json& json) {
  members(look, json,
          {{"audience", each<role>, kMay},
           {"priority", priority, kMay},
           {"lastModified", text, kMay, "2025-06-18"}});
}

void theme(const Look& look, const Json& json) {
  one_of(look, json, {"dark", "light"});
}

void icon(const Look& look, const Json& json) {
  members(look, json,
          {{"src", uri, kMust},
           {"mimeType", text, kMay},
           {"sizes", each<text>, kMay},
           {"theme", theme, kMay}});
}

void implementation(const Look& look, const Json& json) {
  members(look, json,
          {{"name", words, kMust},
           {"version", words, kMust},
           {"title", text, kMay, "2025-06-18"},
           {"description", text, kMay, "2025-11-25"},
           {"icons", each<icon>, kMay, "2025-11-25"},
           {"websiteUrl", uri, kMay, "2025-11-25"}});
}

// --- content -----------------------------------------------------------------------------------

void contents(const Look& look, const Json& json) {
  members(look, json,
          {{"uri", uri, kMust},
           {"mimeType", text, kMay},
           {"text", text, kMay},
           {"blob", base64, kMay}});
  if (json.contains("text") == json.contains("blob")) look.say("must have a text or a blob");
}

void resource(const Look& look, const Json& json) {
  members(look, json,
          {{"uri", uri, kMust},
           {"name", words, kMust},
           {"title", text, kMay, "2025-06-18"},
           {"description", text, kMay},
           {"mimeType", text, kMay},
           {"size", count, kMay, "2025-03-26"},
           {"icons", each<icon>, kMay, "2025-11-25"},
           {"annotations", annotations, kMay}});
}

void block(const Look& look, const Json& json) {
  if (!json.is_object() || !json.contains("type") || !json["type"].is_string()) {
    return look.say("is no content block");
  }
  const std::string type = json["type"].get<std::string>();
  const Member kind{"type", anything, kMust};
  const Member notes{"annotations", annotations, kMay};
  if (type == "text") return members(look, json, {kind, notes, {"text", text, kMust}});
  if (type == "resource") return members(look, json, {kind, notes, {"resource", contents, kMust}});
  if (type == "image" || (type == "audio" && look.since("2025-03-26"))) {
    return members(look, json, {kind, notes, {"data", base64, kMust}, {"mimeType", words, kMust}});
  }
  if (type == "resource_link" && look.since("2025-06-18")) {
    Json plain = json;
    plain.erase("type");
    return resource(look, plain);
  }
  look.say("is of type " + type + ", which " + look.revision + " does not have");
}

void prompt_message(const Look& look, const Json& json) {
  members(look, json, {{"role", role, kMust}, {"content", block, kMust}});
}

// --- what is offered ---------------------------------------------------------------------------

void listing(const Look& look, const Json& json) {
  members(look, json, {{"listChanged", truth, kMay}});
}

void watching(const Look& look, const Json& json) {
  members(look, json, {{"listChanged", truth, kMay}, {"subscribe", truth, kMay}});
}

void capabilities(const Look& look, const Json& json) {
  members(look, json,
          {{"tools", listing, kMay},
           {"prompts", listing, kMay},
           {"resources", watching, kMay},
           {"logging", open_object, kMay},
           {"completions", open_object, kMay, "2025-03-26"},
           {"experimental", open_object, kMay},
           {"extensions", open_object, kMay, kModern}});
}

void hints(const Look& look, const Json& json) {
  members(look, json,
          {{"title", text, kMay},
           {"readOnlyHint", truth, kMay},
           {"destructiveHint", truth, kMay},
           {"idempotentHint", truth, kMay},
           {"openWorldHint", truth, kMay}});
}

void object_schema(const Look& look, const Json& json) {
  if (!json.is_object() || json.value("type", Json()) != "object") {
    look.say("is no schema of an object");
  }
}

void output_schema(const Look& look, const Json& json) {
  if (!look.modern()) return object_schema(look, json);
  open_object(look, json);
}

void tool_name(const Look& look, const Json& json) {
  static const std::regex kForm("[A-Za-z0-9_.-]{1,128}");
  matches(look, json, kForm);
}

void tool(const Look& look, const Json& json) {
  members(look, json,
          {{"name", tool_name, kMust},
           {"title", text, kMay, "2025-06-18"},
           {"description", text, kMay},
           {"inputSchema", object_schema, kMust},
           {"outputSchema", output_schema, kMay, "2025-06-18"},
           {"annotations", hints, kMay, "2025-03-26"},
           {"icons", each<icon>, kMay, "2025-11-25"},
           {"execution", open_object, kMay, "2025-11-25"}});
}

void resource_template(const Look& look, const Json& json) {
  members(look, json,
          {{"uriTemplate", uri_template, kMust},
           {"name", words, kMust},
           {"title", text, kMay, "2025-06-18"},
           {"description", text, kMay},
           {"mimeType", text, kMay},
           {"icons", each<icon>, kMay, "2025-11-25"},
           {"annotations", annotations, kMay}});
}

void prompt_argument(const Look& look, const Json& json) {
  members(look, json,
          {{"name", words, kMust},
           {"title", text, kMay, "2025-06-18"},
           {"description", text, kMay},
           {"required", truth, kMay}});
}

void prompt(const Look& look, const Json& json) {
  members(look, json,
          {{"name", words, kMust},
           {"title", text, kMay, "2025-06-18"},
           {"description", text, kMay},
           {"arguments", each<prompt_argument>, kMay},
           {"icons", each<icon>, kMay, "2025-11-25"}});
}

void completion(const Look& look, const Json& json) {
  members(look, json,
          {{"values", each<text>, kMust}, {"total", count, kMay}, {"hasMore", truth, kMay}});
  if (json.contains("values") && json["values"].size() > 100) look.say("has more than 100 values");
}

// --- results -----------------------------------------------------------------------------------

// What every result of the method has, without what belongs to the era.
void body(const Look& look, const std::string& method, const Json& json) {
  const Member more{"nextCursor", text, kMay};
  if (method == "initialize") {
    return members(look, json,
                   {{"protocolVersion", words, kMust},
                    {"capabilities", capabilities, kMust},
                    {"serverInfo", implementation, kMust},
                    {"instructions", text, kMay}});
  }
  if (method == "server/discover") {
    members(look, json,
            {{"supportedVersions", each<words>, kMust},
             {"capabilities", capabilities, kMust},
             {"instructions", text, kMay}});
    if (json.value("supportedVersions", Json()).empty()) look.say("supports nothing");
    return;
  }
  if (method == "tools/list") return members(look, json, {{"tools", each<tool>, kMust}, more});
  if (method == "resources/list") {
    return members(look, json, {{"resources", each<resource>, kMust}, more});
  }
  if (method == "resources/templates/list") {
    return members(look, json, {{"resourceTemplates", each<resource_template>, kMust}, more});
  }
  if (method == "prompts/list") {
    return members(look, json, {{"prompts", each<prompt>, kMust}, more});
  }
  if (method == "tools/call") {
    return members(
        look, json,
        {{"content", each<block>, kMust},
         {"isError", truth, kMay},
         {"structuredContent", look.modern() ? anything : open_object, kMay, "2025-06-18"}});
  }
  if (method == "resources/read") return members(look, json, {{"contents", each<contents>, kMust}});
  if (method == "prompts/get") {
    return members(look, json,
                   {{"description", text, kMay}, {"messages", each<prompt_message>, kMust}});
  }
  if (method == "completion/complete") {
    return members(look, json, {{"completion", completion, kMust}});
  }
  members(look, json, {});  // ping, logging/setLevel, subscriptions
}

bool is_cacheable(const std::string& method) {
  static const std::set<std::string> kMethods = {"server/discover", "tools/list",
                                                 "prompts/list",    "resources/list",
                                                 "resources/read",  "resources/templates/list"};
  return kMethods.contains(method);
}

void input_required(const Look& look, const std::string& method, const Json& result) {
  static const std::set<std::string> kMethods = {"tools/call", "prompts/get", "resources/read"};
  if (!kMethods.contains(method)) return look.say("asks for input, which it may not");
  members(look, result,
          {{"resultType", text, kMust},
           {"inputRequests", open_object, kMay},
           {"requestState", text, kMay}});
  if (!result.contains("inputRequests") && !result.contains("requestState")) {
    look.say("asks for nothing");
  }
}

void modern_result(const Look& look, const std::string& method, const Json& result) {
  const Json type = result.value("resultType", Json());
  if (type == "input_required") return input_required(look, method, result);
  if (type != "complete") look.say("has the resultType " + type.dump());
  Json rest = result;
  rest.erase("resultType");
  if (is_cacheable(method)) {
    if (!result.contains("ttlMs") || !result.contains("cacheScope")) {
      look.say("lacks ttlMs or cacheScope");
    } else {
      count(look.at(".ttlMs"), result["ttlMs"]);
      one_of(look.at(".cacheScope"), result["cacheScope"], {"public", "private"});
    }
    rest.erase("ttlMs");
    rest.erase("cacheScope");
  }
  body(look, method, rest);
  const Json meta = result.value("_meta", Json::object());
  if (meta.contains(kServerInfoKey)) implementation(look.at(".serverInfo"), meta[kServerInfoKey]);
  if (method == "subscriptions/listen" && !is_id(meta.value(kSubscriptionKey, Json()))) {
    look.say("does not name its subscription");
  }
}

// --- notifications -----------------------------------------------------------------------------

void honoured(const Look& look, const Json& json) {
  members(look, json,
          {{"toolsListChanged", truth, kMay},
           {"promptsListChanged", truth, kMay},
           {"resourcesListChanged", truth, kMay},
           {"resourceSubscriptions", each<text>, kMay}});
}

void notification_params(const Look& look, const std::string& method, const Json& params) {
  if (method == "notifications/progress") {
    return members(look, params,
                   {{"progressToken", id, kMust},
                    {"progress", number, kMust},
                    {"total", number, kMay},
                    {"message", text, kMay, "2025-03-26"}});
  }
  if (method == "notifications/message") {
    return members(look, params,
                   {{"level", level, kMust}, {"logger", text, kMay}, {"data", anything, kMust}});
  }
  if (method == "notifications/cancelled") {
    return members(look, params, {{"requestId", id, kMust}, {"reason", text, kMay}});
  }
  if (method == "notifications/resources/updated") {
    return members(look, params, {{"uri", uri, kMust}});
  }
  if (method == "notifications/subscriptions/acknowledged" && look.modern()) {
    return members(look, params, {{"notifications", honoured, kMust}});
  }
  static const std::set<std::string> kLists = {"notifications/tools/list_changed",
                                               "notifications/prompts/list_changed",
                                               "notifications/resources/list_changed"};
  if (!kLists.contains(method)) return look.say("is not a notification of a server");
  if (!params.is_null()) members(look, params, {});
}

}  // namespace

bool is_id(const Json& id) {
  return id.is_string() || id.is_number_integer();
}

Wrongs wrong_result(const std::string& revision, const std::string& method, const Json& result) {
  Wrongs wrong;
  const Look look{revision, "the result of " + method, wrong};
  if (!result.is_object()) {
    look.say("is no object");
  } else if (look.modern()) {
    modern_result(look, method, result);
  } else {
    body(look, method, result);
  }
  return wrong;
}

Wrongs wrong_error(const std::string& revision, const Json& error) {
  Wrongs wrong;
  const Look look{revision, "the error", wrong};
  members(look, error,
          {{"code", anything, kMust}, {"message", words, kMust}, {"data", anything, kMay}});
  if (!error.is_object()) return wrong;
  const Json given = error.value("code", Json());
  if (!given.is_number_integer()) {
    look.say("has no whole number for a code");
    return wrong;
  }
  const auto code = given.get<std::int64_t>();
  const Json data = error.value("data", Json::object());
  static const std::set<std::int64_t> kOfJsonRpc = {-32700, -32600, -32601, -32602, -32603};
  const bool legacy = !revision.empty() && !look.modern();
  if (code < -32768 || code > -32000 || kOfJsonRpc.contains(code)) return wrong;
  const bool known = (code == -32002 && legacy) || (code <= -32020 && code >= -32022 && !legacy);
  if (!known) look.say("has the code " + std::to_string(code) + ", which is not for us to use");
  if (code == -32022) {
    members(look.at(".data"), data,
            {{"supported", each<words>, kMust}, {"requested", anything, kMust}});
  }
  if (code == -32021)
    members(look.at(".data"), data, {{"requiredCapabilities", open_object, kMust}});
  return wrong;
}

Wrongs wrong_notification(const std::string& revision, const std::string& method,
                          const Json& params) {
  Wrongs wrong;
  notification_params({revision, method, wrong}, method, params);
  return wrong;
}

Wrongs wrong_request(const std::string& revision, const std::string& method, const Json& params) {
  Wrongs wrong;
  const Look look{revision, method, wrong};
  const bool known = method == "ping" || method == "roots/list" ||
                     method == "sampling/createMessage" ||
                     (method == "elicitation/create" && look.since("2025-06-18"));
  if (look.modern() || !known) look.say("is not a request of a server");
  const bool needs = method == "sampling/createMessage" || method == "elicitation/create";
  if (needs || !params.is_null()) open_object(look.at(".params"), params);
  return wrong;
}

}  // namespace lockkeeper::proof
