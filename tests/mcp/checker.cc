#include "mcp/checker.h"

#include <algorithm>
#include <atomic>

#include "base/text.h"
#include "mcp/published.h"

namespace lockkeeper::proof {
namespace {

constexpr const char* kRevisionKey = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kLevelKey = "io.modelcontextprotocol/logLevel";

std::atomic<std::size_t>& total() {
  static std::atomic<std::size_t> count = 0;
  return count;
}

Json member(const Json& json, const char* name) {
  return json.is_object() ? json.value(name, Json()) : Json();
}

Json meta(const Json& params, const char* key) {
  return member(member(params, "_meta"), key);
}

void add(Wrongs& wrong, Wrongs more) {
  for (std::string& each : more) wrong.push_back(std::move(each));
}

// Of the filter of a subscription: which of its switches lets the notification through.
const char* switch_of(const std::string& method) {
  if (method == "notifications/tools/list_changed") return "toolsListChanged";
  if (method == "notifications/prompts/list_changed") return "promptsListChanged";
  if (method == "notifications/resources/list_changed") return "resourcesListChanged";
  return "";
}

// A subscription to a URI also tells of what lies below it.
bool covers(const std::string& uri, const std::string& changed) {
  return changed == uri || changed.starts_with(uri + "/");
}

// A text, read: what is in it, and what only its characters tell.
struct Reading {
  Json json;
  bool valid = false;  // JSON in UTF-8
  bool twice = false;  // an object has two members of one name
  int deepest = 0;
};

Reading read(std::string_view text) {
  Reading reading;
  // The parser takes a NUL for the end of the text.
  if (!is_valid_utf8(text) || text.find('\0') != std::string_view::npos) return reading;
  std::vector<std::set<std::string>> open;
  reading.json = Json::parse(
      text,
      [&](int depth, Json::parse_event_t event, Json& value) {
        reading.deepest = std::max(reading.deepest, depth);
        if (event == Json::parse_event_t::object_start) open.emplace_back();
        if (event == Json::parse_event_t::object_end) open.pop_back();
        if (event == Json::parse_event_t::key) {
          const bool first = open.back().insert(value.get<std::string>()).second;
          reading.twice = reading.twice || !first;
        }
        return true;
      },
      false);
  reading.valid = !reading.json.is_discarded();
  return reading;
}

// What a server may refuse unread: then it knows no id.
bool is_too_much(std::string_view text, const Reading& reading) {
  constexpr std::size_t kBytesMax = 4U << 20;
  constexpr int kNestingMax = 64;
  return text.size() > kBytesMax || reading.deepest > kNestingMax;
}

}  // namespace

std::size_t Checker::messages_of_all() {
  return total();
}

// --- what the client says ----------------------------------------------------------------------

void Checker::sent(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) return;
  const Reading reading = read(text);
  if (!reading.valid || reading.twice || is_too_much(text, reading)) {
    ++nameless_;
    return;
  }
  const Json& json = reading.json;
  if (json.is_array() && !json.empty() && revision_ == "2025-03-26") {
    batch_ = true;
    for (const Json& each : json) sent_one(each);
    return;
  }
  sent_one(json);
}

void Checker::sent_one(const Json& message) {
  const Json id = member(message, "id");
  const Json method = member(message, "method");
  const bool has_id = message.is_object() && message.contains("id");
  // A response, to whatever, is not answered.
  const bool answers = member(message, "jsonrpc") == "2.0" && !message.contains("method") &&
                       (message.contains("result") || message.contains("error"));
  if (answers) return;
  if (!has_id || !is_id(id)) {
    const bool notifies =
        message.is_object() && !has_id && method.is_string() && member(message, "jsonrpc") == "2.0";
    if (!notifies) {
      ++nameless_;
    } else if (method == "notifications/cancelled") {
      cancel(member(message, "params"));
    }
    return;
  }
  Request request;
  if (method.is_string()) request.method = method.get<std::string>();
  request.params = member(message, "params");
  request.modern = !meta(request.params, kRevisionKey).is_null();
  if (request.method == "resources/subscribe" && member(request.params, "uri").is_string()) {
    subscribed_.insert(request.params["uri"].get<std::string>());
  }
  levels_ =
      levels_ || request.method == "logging/setLevel" || !meta(request.params, kLevelKey).is_null();
  if (request.method == "initialize") can_ = member(request.params, "capabilities");
  open_.emplace(id.dump(), std::move(request));
}

void Checker::cancel(const Json& params) {
  const Json id = member(params, "requestId");
  const auto [first, last] = open_.equal_range(id.dump());
  for (auto each = first; each != last; ++each) each->second.cancelled = true;
}

void Checker::expect_no_answer(const Json& id) {
  const auto [first, last] = open_.equal_range(id.dump());
  for (auto each = first; each != last; ++each) each->second.forbidden = true;
}

std::size_t Checker::open_requests() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      open_, [](const auto& each) { return !each.second.cancelled && !each.second.honoured; }));
}

Checker::Request* Checker::open(const Json& id) {
  const auto found = open_.find(id.dump());
  return found == open_.end() ? nullptr : &found->second;
}

// --- what the server says ----------------------------------------------------------------------

Wrongs Checker::received(std::string_view text) {
  ++messages_;
  ++total();
  Wrongs wrong;
  const Reading reading = read(text);
  const Json& json = reading.json;
  if (!reading.valid) {
    wrong.emplace_back("it is not JSON in UTF-8");
  } else if (text.find('\n') != std::string_view::npos) {
    wrong.emplace_back("it has a line break in it");
  } else if (reading.twice) {
    wrong.emplace_back("it has a member twice");
  } else if (json.is_array()) {
    if (!batch_ || json.empty()) wrong.emplace_back("nobody has sent a batch");
    for (const Json& each : json) add(wrong, received_one(each));
  } else {
    wrong = received_one(json);
  }
  for (std::string& each : wrong) each += "\n  in " + std::string(text.substr(0, 2'000));
  return wrong;
}

Wrongs Checker::received_one(const Json& message) {
  if (!message.is_object() || member(message, "jsonrpc") != "2.0") {
    return {"it is no message of JSON-RPC 2.0"};
  }
  static const std::set<std::string> kMembers = {"jsonrpc", "id",     "method",
                                                 "params",  "result", "error"};
  for (const auto& [name, value] : message.items()) {
    if (!kMembers.contains(name)) return {"it has the member " + name};
  }
  if (!message.contains("method")) {
    if (message.contains("params") || message.contains("result") == message.contains("error")) {
      return {"a response has either a result or an error, and no params"};
    }
    return response(message);
  }
  if (!message["method"].is_string() || message.contains("result") || message.contains("error")) {
    return {"a request has the name of a method, and no result"};
  }
  return message.contains("id") ? asked(message) : notification(message);
}

// An error that belongs to no request that can be named.
Wrongs Checker::nameless(const Json& message) {
  Wrongs wrong;
  if (!message.contains("error")) return {"it answers nothing"};
  if (nameless_ == 0) wrong.emplace_back("an error for a message that had an id, or for none");
  nameless_ -= nameless_ > 0 ? 1 : 0;
  add(wrong, wrong_error(revision_, message["error"]));
  // JSON-RPC wants a null, which no published schema allows; since 2025-11-25 it may be left out.
  const bool older = !revision_.empty() && revision_ < "2025-11-25";
  if (message.contains("id") && !older) wrong.emplace_back("an id that cannot be told is left out");
  if (!older) add(wrong, wrong_by_published(kModern, message, ""));
  return wrong;
}

Wrongs Checker::response(const Json& message) {
  const Json id = member(message, "id");
  if (id.is_null()) return nameless(message);
  if (!is_id(id)) return {"its id is neither a string nor a whole number"};
  const auto [first, last] = open_.equal_range(id.dump());
  if (first == last) {
    return {answered_.contains(id.dump()) ? "it answers what was answered before"
                                          : "it answers what nobody asked"};
  }
  // Of several with one id, the later ones are refused.
  const auto which = message.contains("error") ? std::prev(last) : first;
  const Request request = which->second;
  open_.erase(which);
  answered_.insert(id.dump());
  Wrongs wrong;
  if (request.forbidden) wrong.emplace_back("it answers what was cancelled");
  const std::string revision = request.revision(revision_);
  if (message.contains("error")) {
    add(wrong, wrong_error(revision, message["error"]));
    add(wrong, wrong_by_published(revision, message, ""));
    return wrong;
  }
  add(wrong, result(request, message));
  learn(request, message["result"]);
  return wrong;
}

Wrongs Checker::result(const Request& request, const Json& message) {
  const Json& result = message["result"];
  std::string revision = request.revision(revision_);
  if (!request.modern && request.method == "initialize") {
    const Json agreed = member(result, "protocolVersion");
    if (!agreed.is_string() || agreed == kModern ||
        std::ranges::find(kRevisions, agreed.get<std::string>()) == std::end(kRevisions)) {
      return {"initialize agrees on " + agreed.dump()};
    }
    revision = agreed.get<std::string>();
    const Json asked = member(request.params, "protocolVersion");
    const bool known = std::ranges::find(kRevisions, asked) != std::end(kRevisions);
    if (known && asked != kModern && asked != agreed) return {"it speaks the revision asked for"};
  } else if (!request.modern && request.method != "ping" && revision_.empty()) {
    return {"it answers before initialize"};
  }
  if (revision.empty()) revision = kRevisions[0];  // a ping before anything else
  Wrongs wrong = wrong_result(revision, request.method, result);
  add(wrong, wrong_by_published(revision, message, request.method));
  if (request.method == "tools/call" && wrong.empty()) add(wrong, tool_result(request, result));
  const Json subscription = meta(result, kSubscriptionKey);
  if (request.method == "subscriptions/listen" && subscription != message["id"]) {
    wrong.emplace_back("it ends another subscription than its own");
  }
  return wrong;
}

Wrongs Checker::tool_result(const Request& request, const Json& result) const {
  if (result.value("resultType", Json()) == "input_required") return {};
  const auto& schemas = output_schemas_[request.modern ? 1 : 0];
  const Json name = member(request.params, "name");
  if (!name.is_string()) return {"a tool without a name was called"};
  const auto schema = schemas.find(name.get<std::string>());
  if (schema == schemas.end()) return {};
  const bool failed = result.value("isError", false);
  if (!result.contains("structuredContent")) {
    return failed ? Wrongs{} : Wrongs{"the structure is missing that the tool declares"};
  }
  return wrong_by_schema(schema->second, result["structuredContent"]);
}

// What the server has said about itself.
void Checker::learn(const Request& request, const Json& result) {
  if (!request.modern && request.method == "initialize") {
    const Json agreed = member(result, "protocolVersion");
    if (agreed.is_string()) revision_ = agreed.get<std::string>();
    offered_ = member(result, "capabilities");
    output_schemas_[0].clear();
  }
  if (request.method != "tools/list") return;
  const Json tools = member(result, "tools");
  if (!tools.is_array()) return;
  for (const Json& each : tools) {
    const Json schema = member(each, "outputSchema");
    if (!schema.is_object() || !member(each, "name").is_string()) continue;
    output_schemas_[request.modern ? 1 : 0][each["name"].get<std::string>()] = schema;
  }
}

// --- what it was not asked for, or not in so many words ----------------------------------------

Wrongs Checker::notification(const Json& message) {
  const std::string method = message["method"].get<std::string>();
  const Json params = member(message, "params");
  const Json token = member(params, "progressToken");
  bool modern = !meta(params, kSubscriptionKey).is_null() ||
                method == "notifications/subscriptions/acknowledged" || revision_.empty();
  if (method == "notifications/progress") {
    for (const auto& [id, request] : open_) {
      if (meta(request.params, "progressToken") == token) modern = request.modern;
    }
  }
  if (method == "notifications/cancelled") {
    const Request* const listen = open(member(params, "requestId"));
    modern = listen != nullptr && listen->modern;
  }
  const std::string revision = modern ? kModern : revision_;
  Wrongs wrong = wrong_notification(revision, method, params);
  add(wrong, wrong_by_published(revision, message, ""));
  if (method == "notifications/progress") {
    add(wrong, progress(params));
  } else if (method == "notifications/cancelled") {
    const Json id = member(params, "requestId");
    const Request* const listen = open(id);
    const bool ours = listen != nullptr && listen->method == "subscriptions/listen";
    if (!ours && !asked_.contains(id.dump())) {
      wrong.emplace_back("it cancels what is not the server's");
    }
  } else if (method == "notifications/message") {
    const bool may = levels_ || (!revision_.empty() && offered_.contains("logging"));
    if (!may) wrong.emplace_back("nobody wants its log");
  } else {
    add(wrong, modern ? subscription(method, params) : unasked(method, params));
  }
  return wrong;
}

Wrongs Checker::progress(const Json& params) {
  const Json token = member(params, "progressToken");
  const Json done = member(params, "progress");
  std::vector<Request*> named;
  for (auto& [id, request] : open_) {
    const bool this_one = !token.is_null() && meta(request.params, "progressToken") == token;
    if (this_one) named.push_back(&request);
  }
  if (named.empty()) return {"progress of nothing that is at work"};
  if (named.size() > 1 || !done.is_number()) return {};  // a client that gives one token twice
  const bool more = !named[0]->progress || done.get<double>() > *named[0]->progress;
  named[0]->progress = done.get<double>();
  return more ? Wrongs{} : Wrongs{"progress must be more each time"};
}

Wrongs Checker::subscription(const std::string& method, const Json& params) {
  const Json id = meta(params, kSubscriptionKey);
  if (id.is_null()) return {"nobody has subscribed to it"};
  Request* const listen = open(id);
  if (listen == nullptr || listen->method != "subscriptions/listen") {
    return {"it names a subscription that there is not"};
  }
  if (method == "notifications/subscriptions/acknowledged") {
    if (listen->honoured) return {"a subscription is acknowledged once"};
    listen->honoured = member(params, "notifications");
    const Json wanted = member(listen->params, "notifications");
    for (const auto& [name, value] : listen->honoured->items()) {
      const Json asked = member(wanted, name.c_str());
      const bool granted =
          value.is_array() && asked.is_array()
              ? std::ranges::all_of(
                    value,
                    [&](const Json& uri) { return std::ranges::find(asked, uri) != asked.end(); })
              : value == asked || value == false;
      if (!granted) return {"it honours what was not asked for: " + name};
    }
    return {};
  }
  if (!listen->honoured) return {"a subscription is acknowledged before anything else"};
  if (method == "notifications/resources/updated") {
    const Json uris = member(*listen->honoured, "resourceSubscriptions");
    const Json changed = member(params, "uri");
    const bool wanted =
        uris.is_array() && changed.is_string() && std::ranges::any_of(uris, [&](const Json& uri) {
          return covers(uri.get<std::string>(), changed.get<std::string>());
        });
    return wanted ? Wrongs{} : Wrongs{"the subscription does not want this resource"};
  }
  const bool wanted = member(*listen->honoured, switch_of(method)) == true;
  return wanted ? Wrongs{} : Wrongs{"the subscription does not want " + method};
}

// Legacy: on the connection, because of what was offered or subscribed to.
Wrongs Checker::unasked(const std::string& method, const Json& params) const {
  if (method == "notifications/resources/updated") {
    const Json changed = member(params, "uri");
    const bool wanted =
        changed.is_string() && std::ranges::any_of(subscribed_, [&](const std::string& uri) {
          return covers(uri, changed.get<std::string>());
        });
    return wanted ? Wrongs{} : Wrongs{"nobody has subscribed to this resource"};
  }
  for (const char* const list : {"tools", "prompts", "resources"}) {
    if (method != "notifications/" + std::string(list) + "/list_changed") continue;
    const bool may = member(member(offered_, list), "listChanged") == true;
    return may ? Wrongs{} : Wrongs{"it did not say that its list may change"};
  }
  return {};
}

// A request of the server.
Wrongs Checker::asked(const Json& message) {
  const std::string method = message["method"].get<std::string>();
  if (revision_.empty()) return {"a server asks nothing in the modern era"};
  Wrongs wrong = wrong_request(revision_, method, member(message, "params"));
  add(wrong, wrong_by_published(revision_, message, ""));
  if (!is_id(message["id"]) || !asked_.insert(message["id"].dump()).second) {
    wrong.emplace_back("the id of a request is new, and a string or a whole number");
  }
  const std::string needs = method == "sampling/createMessage" ? "sampling"
                            : method == "elicitation/create"   ? "elicitation"
                            : method == "roots/list"           ? "roots"
                                                               : "";
  if (!needs.empty() && !(can_.is_object() && can_.contains(needs))) {
    wrong.push_back("the client did not say that it can do " + needs);
  }
  return wrong;
}

}  // namespace lockkeeper::proof
