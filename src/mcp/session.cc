#include "mcp/session.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"

namespace lockkeeper::mcp {
namespace {

constexpr auto kAskLook = std::chrono::milliseconds(100);
constexpr std::size_t kSubscriptionsMax = 1'000;

std::string key_of(const Json& id) {
  return id.dump();
}

Json server_info(const Catalogue& catalogue, const Client& client) {
  Json json{{"name", catalogue.name}};
  if (client.at_least("2025-06-18")) json["title"] = catalogue.title;
  json["version"] = catalogue.version;
  return json;
}

// Methods that the modern era has done away with.
bool is_removed(const std::string& method) {
  return method == "initialize" || method == "ping" || method == "logging/setLevel" ||
         method == "resources/subscribe" || method == "resources/unsubscribe";
}

// What a client may keep for a while, and says nothing of anybody: how long, and whose it is.
void add_caching(Json& result, const std::string& method) {
  static constexpr std::int64_t kListMs = 3'600'000;
  const bool lives = method == "resources/read";  // the lock table, as it is now
  result["ttlMs"] = lives ? 0 : kListMs;
  result["cacheScope"] = lives ? "private" : "public";
}

bool is_cacheable(const std::string& method) {
  return method == "server/discover" || method == "tools/list" || method == "prompts/list" ||
         method == "resources/list" || method == "resources/templates/list" ||
         method == "resources/read";
}

bool is_text(const Json& params, const char* name) {
  return params.contains(name) && params[name].is_string();
}

Json with_subscription(const Json& id, Json params) {
  params["_meta"] = {{kMetaSubscription, id}};
  return params;
}

}  // namespace

void Session::take_text(std::string_view text, const std::shared_ptr<Outlet>& outlet) {
  const Parsed parsed = parse(text);
  if (parsed.batch) {
    bool allowed = false;
    {
      const std::lock_guard lock(mutex_);
      allowed = legacy_ && legacy_->revision == "2025-03-26";
    }
    if (!allowed) {
      refuse(nullptr, {code::kInvalidRequest, "this revision has no batches", nullptr}, outlet);
      return;
    }
  }
  for (const Incoming& each : parsed.messages) take(each, outlet);
}

void Session::take(const Incoming& message, const std::shared_ptr<Outlet>& outlet) {
  switch (message.kind) {
    case Incoming::Kind::kRequest:
      return request(message, outlet);
    case Incoming::Kind::kNotification:
      return notified(message);
    case Incoming::Kind::kResponse:
      return responded(message);
    case Incoming::Kind::kBroken:
      return refuse(message.id, message.error, outlet);
  }
}

void Session::refuse(const Json& id, const RpcError& error, const std::shared_ptr<Outlet>& outlet) {
  outlet->send(error_response(id, error));
  outlet->end();
}

std::optional<RpcError> Session::client_of(const Incoming& request, Client& client) const {
  if (!is_modern(request.params)) {
    const std::lock_guard lock(mutex_);
    if (!legacy_) {
      return RpcError{code::kInvalidRequest, "initialize comes first", nullptr};
    }
    client = *legacy_;
    return std::nullopt;
  }
  const Json& meta = meta_of(request.params);
  const Json& revision = meta[kMetaRevision];
  if (!revision.is_string()) {
    return RpcError{code::kInvalidParams, std::string(kMetaRevision) + " must be a string",
                    nullptr};
  }
  if (revision != kModernRevision) {
    return RpcError{code::kUnsupportedVersion,
                    "the revision " + revision.dump() + " is not spoken",
                    {{"supported", Json::array({kModernRevision})}, {"requested", revision}}};
  }
  if (!meta.contains(kMetaCapabilities) || !meta[kMetaCapabilities].is_object()) {
    return RpcError{code::kInvalidParams,
                    std::string(kMetaCapabilities) + " is missing or no object", nullptr};
  }
  client.era = Era::kModern;
  client.revision = kModernRevision;
  client.capabilities = meta[kMetaCapabilities];
  if (meta.contains(kMetaClient)) client.info = meta[kMetaClient];
  return std::nullopt;
}

void Session::request(const Incoming& message, const std::shared_ptr<Outlet>& outlet) {
  const bool modern = is_modern(message.params);
  if (!modern && message.method == "initialize") return initialize(message, outlet);
  if (!modern && message.method == "ping") {
    outlet->send(response(message.id, Json::object()));
    return outlet->end();
  }
  Client client;
  if (const auto error = client_of(message, client)) return refuse(message.id, *error, outlet);
  if (modern && is_removed(message.method)) {
    return refuse(
        message.id,
        {code::kMethodNotFound, message.method + " is not part of this revision", nullptr}, outlet);
  }
  if (modern && message.method == "subscriptions/listen") return listen(message, outlet);
  const std::weak_ptr<Session> weak = weak_from_this();
  const Call::Ask asks = [weak, outlet](const std::string& method, Json params, const Call& by) {
    const auto session = weak.lock();
    return session ? session->ask(outlet, method, std::move(params), by) : std::nullopt;
  };
  auto call = std::make_shared<Call>(client, message.method, message.params, outlet,
                                     modern ? Call::Ask{} : asks);
  {
    const std::lock_guard lock(mutex_);
    if (modern) {
      const Json& level = meta_of(message.params).value(kMetaLogLevel, Json());
      if (level.is_string()) call->set_log_level(level.get<std::string>());
    } else {
      call->set_log_level(log_level_);
    }
  }
  if (const auto quick = at_once(message, client)) {
    return answer(message.id, call, *quick, is_cacheable(message.method));
  }
  later(message, call);
}

// What takes no time.
std::optional<Answer> Session::at_once(const Incoming& message, const Client& client) {
  const std::string& method = message.method;
  const Json& params = message.params;
  if (method == "server/discover" && client.era == Era::kModern) {
    Answer answer;
    answer.result["supportedVersions"] = Json::array({kModernRevision});
    answer.result["capabilities"] = capabilities_of(catalogue_, Era::kModern);
    if (!catalogue_.instructions.empty()) answer.result["instructions"] = catalogue_.instructions;
    return answer;
  }
  if (method == "tools/list") return list_tools(catalogue_, client, params);
  if (method == "resources/list") return list_resources(catalogue_, client, params);
  if (method == "resources/templates/list") return list_templates(catalogue_, client, params);
  if (method == "prompts/list") return list_prompts(catalogue_, client, params);
  if (method == "resources/subscribe") return subscribe(params, true);
  if (method == "resources/unsubscribe") return subscribe(params, false);
  if (method == "logging/setLevel" && catalogue_.logs) return set_level(params);
  const bool takes_time = method == "tools/call" || method == "resources/read" ||
                          method == "prompts/get" ||
                          (method == "completion/complete" && catalogue_.complete);
  if (takes_time) return std::nullopt;
  return Answer::failed(code::kMethodNotFound, "there is no method " + quote(method));
}

void Session::answer(const Json& id, const std::shared_ptr<Call>& call, const Answer& answer,
                     bool cacheable) {
  if (answer.error) return refuse(id, *answer.error, call->outlet());
  Json result = Json::object();
  const bool modern = call->client().era == Era::kModern;
  if (modern) result["resultType"] = answer.input_required ? "input_required" : "complete";
  for (const auto& [name, value] : answer.result.items()) result[name] = value;
  if (!call->client().at_least("2025-06-18")) result.erase("structuredContent");
  if (modern && cacheable && !answer.input_required) {
    add_caching(result, call->method());
    if (call->method() == "server/discover") {
      result["_meta"] = {{kMetaServer, server_info(catalogue_, call->client())}};
    }
  }
  call->outlet()->send(response(id, std::move(result)));
  call->outlet()->end();
}

// What may take time, on a thread of the pool.
void Session::later(const Incoming& message, const std::shared_ptr<Call>& call) {
  const Json id = message.id;
  bool busy = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    busy = !calls_.emplace(key_of(id), call).second;
  }
  if (busy) {
    return refuse(id, {code::kInvalidRequest, "a request with this id is at work already", nullptr},
                  call->outlet());
  }
  const bool begun = pool_.run([self = shared_from_this(), id, call] {
    const Answer done = call->cancelled() ? Answer{} : self->work(*call);
    // Who was cancelled is not answered.
    if (self->forget(id) && !call->cancelled()) {
      self->answer(id, call, done, is_cacheable(call->method()));
    } else {
      call->outlet()->end();
    }
  });
  if (!begun && forget(id)) {
    refuse(id, {code::kInternalError, "too many calls at once; try again", nullptr},
           call->outlet());
  }
}

bool Session::forget(const Json& id) {
  const std::lock_guard lock(mutex_);
  return calls_.erase(key_of(id)) > 0;
}

Answer Session::work(Call& call) const {
  const Json& params = call.params();
  static const Json kNone = Json::object();
  const auto arguments = params.find("arguments");
  const Json& given = arguments == params.end() ? kNone : *arguments;
  if (!given.is_object()) {
    return Answer::failed(code::kInvalidParams, "\"arguments\" must be an object");
  }
  if (call.method() == "resources/read") {
    if (!is_text(params, "uri")) {
      return Answer::failed(code::kInvalidParams, "\"uri\" is missing or no string");
    }
    const std::string uri = params["uri"].get<std::string>();
    if (catalogue_.read) {
      if (auto found = catalogue_.read(call, uri)) return std::move(*found);
    }
    const bool modern = call.client().era == Era::kModern;
    return Answer::failed(modern ? code::kInvalidParams : code::kResourceNotFound,
                          "there is no resource " + quote(uri), {{"uri", uri}});
  }
  if (call.method() == "completion/complete") return complete(params);
  if (!is_text(params, "name")) {
    return Answer::failed(code::kInvalidParams, "\"name\" is missing or no string");
  }
  const std::string name = params["name"].get<std::string>();
  if (call.method() == "prompts/get") {
    const Prompt* const prompt = catalogue_.prompt(name);
    if (prompt == nullptr) {
      return Answer::failed(code::kInvalidParams, "there is no prompt " + quote(name));
    }
    return prompt->get(call, given);
  }
  const Tool* const tool = catalogue_.tool(name);
  if (tool == nullptr) {
    return Answer::failed(code::kInvalidParams, "there is no tool " + quote(name));
  }
  // A model can mend its arguments, so it is told in a result (2025-11-25).
  const std::string wrong = wrong_arguments(tool->input_schema, given);
  if (!wrong.empty()) return tool_answer(wrong, nullptr, true);
  return tool->call(call, given);
}

Answer Session::complete(const Json& params) const {
  const bool shaped = params.contains("ref") && params["ref"].is_object() &&
                      params.contains("argument") && params["argument"].is_object() &&
                      is_text(params["argument"], "name") && is_text(params["argument"], "value");
  if (!shaped) {
    return Answer::failed(code::kInvalidParams, "\"ref\" or \"argument\" is not as it must be");
  }
  constexpr std::size_t kValuesMax = 100;
  std::vector<std::string> values =
      catalogue_.complete(params["ref"], params["argument"]["name"].get<std::string>(),
                          params["argument"]["value"].get<std::string>());
  Answer answer;
  const std::size_t total = values.size();
  if (total > kValuesMax) values.resize(kValuesMax);
  answer.result["completion"] = {
      {"values", values}, {"total", total}, {"hasMore", total > kValuesMax}};
  return answer;
}

void Session::initialize(const Incoming& message, const std::shared_ptr<Outlet>& outlet) {
  if (!is_text(message.params, "protocolVersion")) {
    return refuse(message.id,
                  {code::kInvalidParams, "\"protocolVersion\" is missing or no string", nullptr},
                  outlet);
  }
  Client client;
  const std::string asked = message.params["protocolVersion"].get<std::string>();
  if (is_legacy_revision(asked)) client.revision = asked;
  const auto object = [&](const char* name) {
    const auto found = message.params.find(name);
    return found != message.params.end() && found->is_object() ? *found : Json::object();
  };
  client.capabilities = object("capabilities");
  client.info = object("clientInfo");
  {
    const std::lock_guard lock(mutex_);
    legacy_ = client;
  }
  Json result{{"protocolVersion", client.revision}};
  result["capabilities"] = capabilities_of(catalogue_, Era::kLegacy);
  result["serverInfo"] = server_info(catalogue_, client);
  if (!catalogue_.instructions.empty()) result["instructions"] = catalogue_.instructions;
  outlet->send(response(message.id, std::move(result)));
  outlet->end();
}

void Session::notified(const Incoming& message) {
  if (message.method != "notifications/cancelled") return;
  const auto id = message.params.find("requestId");
  if (id == message.params.end()) return;
  std::shared_ptr<Call> call;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(subscriptions_, [&](const Subscription& each) { return each.id == *id; });
    const auto found = calls_.find(key_of(*id));
    if (found == calls_.end()) return;  // it is over, or never was
    call = found->second;
  }
  call->cancel();
}

// --- what the client is told unasked -----------------------------------------------------------

void Session::listen(const Incoming& message, const std::shared_ptr<Outlet>& outlet) {
  Client client;
  const auto wanted = message.params.find("notifications");
  if (wanted == message.params.end() || !wanted->is_object()) {
    return refuse(message.id,
                  {code::kInvalidParams, "\"notifications\" is missing or no object", nullptr},
                  outlet);
  }
  Json honoured = Json::object();
  const Json offered = capabilities_of(catalogue_, Era::kModern);
  for (const char* const list : {"toolsListChanged", "promptsListChanged"}) {
    const char* const of = list[0] == 't' ? "tools" : "prompts";
    const bool changes = offered.contains(of) && offered[of].contains("listChanged");
    if (wanted->value(list, Json()) == true && changes) honoured[list] = true;
  }
  const Json uris = wanted->value("resourceSubscriptions", Json());
  if (uris.is_array() && offered.contains("resources")) {
    honoured["resourceSubscriptions"] = uris;
    watch(uris);
  }
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    if (subscriptions_.size() < kSubscriptionsMax) {
      // Under the lock, so that nothing comes before it.
      outlet->send(notification("notifications/subscriptions/acknowledged",
                                with_subscription(message.id, {{"notifications", honoured}})));
      subscriptions_.push_back({message.id, outlet, honoured});
      return;
    }
  }
  refuse(message.id, {code::kInternalError, "too many subscriptions", nullptr}, outlet);
}

Answer Session::subscribe(const Json& params, bool wanted) {
  if (!is_text(params, "uri")) {
    return Answer::failed(code::kInvalidParams, "\"uri\" is missing or no string");
  }
  if (wanted) watch(Json::array({params["uri"]}));
  const std::lock_guard lock(mutex_);
  const std::string uri = params["uri"].get<std::string>();
  if (!wanted) {
    subscribed_.erase(uri);
  } else if (subscribed_.size() >= kSubscriptionsMax) {
    return Answer::failed(code::kInternalError, "too many subscriptions");
  } else {
    subscribed_.insert(uri);
  }
  return Answer{};
}

Answer Session::set_level(const Json& params) {
  if (!is_text(params, "level") || log_severity(params["level"].get<std::string>()) < 0) {
    return Answer::failed(code::kInvalidParams, "\"level\" is missing or none of the eight");
  }
  const std::lock_guard lock(mutex_);
  log_level_ = params["level"].get<std::string>();
  return Answer{};
}

void Session::set_listener(std::shared_ptr<Outlet> outlet) {
  const std::lock_guard lock(mutex_);
  listener_ = std::move(outlet);
}

std::set<std::string> Session::watched() const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> uris = subscribed_;
  for (const Subscription& each : subscriptions_) {
    for (const Json& uri : each.filter.value("resourceSubscriptions", Json::array())) {
      if (uri.is_string()) uris.insert(uri.get<std::string>());
    }
  }
  return uris;
}

void Session::watch(const Json& uris) const {
  if (!catalogue_.watch) return;
  for (const Json& uri : uris) {
    if (uri.is_string()) catalogue_.watch(uri.get<std::string>());
  }
}

void Session::resource_changed(const std::string& uri) {
  const std::string method = "notifications/resources/updated";
  const std::lock_guard lock(mutex_);
  if (listener_ && subscribed_.contains(uri)) {
    listener_->send(notification(method, {{"uri", uri}}));
  }
  for (const Subscription& each : subscriptions_) {
    const Json uris = each.filter.value("resourceSubscriptions", Json::array());
    if (std::ranges::find(uris, Json(uri)) == uris.end()) continue;
    each.outlet->send(notification(method, with_subscription(each.id, {{"uri", uri}})));
  }
}

void Session::list_changed(const std::string& what) {
  const std::string method = "notifications/" + what + "/list_changed";
  const std::lock_guard lock(mutex_);
  if (listener_ && legacy_) listener_->send(notification(method, nullptr));
  for (const Subscription& each : subscriptions_) {
    if (!each.filter.value(what + "ListChanged", false)) continue;
    each.outlet->send(notification(method, with_subscription(each.id, Json::object())));
  }
}

// --- what we ask the client --------------------------------------------------------------------

std::optional<Json> Session::ask(const std::shared_ptr<Outlet>& outlet, const std::string& method,
                                 Json params, const Call& by) {
  const auto pending = std::make_shared<Pending>();
  std::int64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return std::nullopt;
    id = ++asked_;
    pending_[id] = pending;
  }
  outlet->send(mcp::request(id, method, std::move(params)));
  std::unique_lock lock(mutex_);
  while (!pending->done && !closed_ && !by.cancelled()) answered_.wait_for(lock, kAskLook);
  pending_.erase(id);
  return pending->result;
}

void Session::responded(const Incoming& message) {
  if (!message.id.is_number_integer()) return;
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(message.id.get<std::int64_t>());
  if (found == pending_.end()) return;
  if (!message.result.is_null()) found->second->result = message.result;
  found->second->done = true;
  answered_.notify_all();
}

void Session::close() {
  std::vector<Subscription> subscriptions;
  Calls calls;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
    subscriptions.swap(subscriptions_);
    calls = calls_;
    listener_.reset();
    answered_.notify_all();
  }
  // The protocol's pages disagree on how a subscription ends: both ways, then.
  for (const Subscription& each : subscriptions) {
    each.outlet->send(notification("notifications/cancelled", {{"requestId", each.id}}));
    each.outlet->send(
        response(each.id, {{"resultType", "complete"}, {"_meta", {{kMetaSubscription, each.id}}}}));
    each.outlet->end();
  }
  for (const auto& [id, call] : calls) call->cancel();
}

}  // namespace lockkeeper::mcp
