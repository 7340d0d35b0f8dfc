#include "mcp/session.h"

#include <algorithm>
#include <exception>

#include "base/text.h"
#include "mcp/batch.h"
#include "mcp/lists.h"
#include "mcp/result.h"
#include "mcp/work.h"

namespace lockkeeper::mcp {
namespace {

constexpr auto kAskLook = std::chrono::milliseconds(100);
constexpr auto kAskMost = std::chrono::minutes(10);  // a person may have to think

std::string key_of(const Json& id) {
  return id.dump();
}

// Methods that the modern era removed.
bool is_removed(const std::string& method) {
  return method == "initialize" || method == "ping" || method == "logging/setLevel" ||
         method == "resources/subscribe" || method == "resources/unsubscribe";
}

// Does it look modern except for the revision?
bool is_half_modern(const Incoming& request) {
  const Json& meta = meta_of(request.params);
  return meta.contains(kMetaCapabilities) || meta.contains(kMetaClient) ||
         request.method == "server/discover" || request.method == "subscriptions/listen";
}

RpcError inside(const std::exception& failure) {
  return RpcError{code::kInternalError, "the server failed: " + std::string(failure.what())};
}

void refuse(const Json& id, const RpcError& error, Outlet& outlet) {
  outlet.send(error_response(id, error));
  outlet.end();
}

void say(const Json& id, Json result, Outlet& outlet) {
  outlet.send(response(id, std::move(result)));
  outlet.end();
}

}  // namespace

void Session::take_text(std::string_view text, const std::shared_ptr<Outlet>& outlet) {
  const Parsed parsed = parse(text);
  if (parsed.batch) return take_batch(parsed, outlet);
  take(parsed.messages.front(), outlet);
}

void Session::take_batch(const Parsed& parsed, const std::shared_ptr<Outlet>& outlet) {
  bool allowed = false;
  {
    const std::lock_guard lock(mutex_);
    allowed = legacy_ && legacy_->revision == "2025-03-26";
  }
  if (!allowed) {
    return refuse(nullptr, {code::kInvalidRequest, "this revision has no batches"}, *outlet);
  }
  const auto is_answered = [](const Incoming& each) {
    return each.kind == Incoming::Kind::kRequest || each.kind == Incoming::Kind::kBroken;
  };
  const auto answers = std::ranges::count_if(parsed.messages, is_answered);
  if (answers == 0) outlet->end();
  const auto gathered = std::make_shared<BatchOutlet>(outlet, static_cast<std::size_t>(answers));
  for (const Incoming& each : parsed.messages) {
    const bool alone = is_modern(each.params) || each.method == "initialize";
    if (each.kind == Incoming::Kind::kRequest && alone) {
      refuse(each.id, {code::kInvalidRequest, "this must not be part of a batch"}, *gathered);
    } else {
      take(each, gathered);
    }
  }
}

void Session::take(const Incoming& message, const std::shared_ptr<Outlet>& outlet) {
  switch (message.kind) {
    case Incoming::Kind::kRequest:
      try {
        return request(message, outlet);
      } catch (const std::exception& failure) {
        return refuse(message.id, inside(failure), *outlet);
      }
    case Incoming::Kind::kNotification:
      return notified(message);
    case Incoming::Kind::kResponse:
      return responded(message);
    case Incoming::Kind::kBroken:
      return refuse(message.id, message.error, *outlet);
  }
}

// The client of the request, or why it is refused.
std::optional<RpcError> Session::client_of(const Incoming& request, Client& client) const {
  if (!is_modern(request.params)) {
    const std::lock_guard lock(mutex_);
    if (legacy_) {
      client = *legacy_;
      return std::nullopt;
    }
    if (!is_half_modern(request)) return RpcError{code::kInvalidRequest, "send initialize first"};
    return RpcError{code::kInvalidParams, std::string(kMetaRevision) + " is missing in _meta"};
  }
  const Json& meta = meta_of(request.params);
  const Json& revision = meta[kMetaRevision];
  if (!revision.is_string()) {
    return RpcError{code::kInvalidParams, std::string(kMetaRevision) + " must be a string"};
  }
  if (revision != kModernRevision) {
    return RpcError{code::kUnsupportedVersion,
                    "the revision " + line_of(revision) + " is not supported",
                    {{"supported", Json::array({kModernRevision})}, {"requested", revision}}};
  }
  const auto capabilities = meta.find(kMetaCapabilities);
  if (capabilities == meta.end() || !capabilities->is_object()) {
    return RpcError{code::kInvalidParams,
                    std::string(kMetaCapabilities) + " is missing or not an object"};
  }
  const auto level = meta.find(kMetaLogLevel);
  if (level != meta.end() && (!level->is_string() || log_severity(level->get<std::string>()) < 0)) {
    return RpcError{code::kInvalidParams, std::string(kMetaLogLevel) + " is not a log level"};
  }
  client = modern_client();
  client.capabilities = *capabilities;
  if (meta.contains(kMetaClient)) client.info = meta[kMetaClient];
  client.visitor = visitor_;
  return std::nullopt;
}

void Session::request(const Incoming& message, const std::shared_ptr<Outlet>& outlet) {
  const bool modern = is_modern(message.params);
  if (!modern && message.method == "initialize") return initialize(message, outlet);
  if (!modern && message.method == "ping") return say(message.id, Json::object(), *outlet);
  Client client;
  if (const auto error = client_of(message, client)) return refuse(message.id, *error, *outlet);
  if (modern && message.method == "subscriptions/listen") return listen(message, outlet);
  const auto call = call_of(message, client, outlet);
  if (is_work(catalogue_, message.method)) return later(message.id, call);
  done(message.id, *call, at_once(message, client));
}

std::shared_ptr<Call> Session::call_of(const Incoming& message, const Client& client,
                                       const std::shared_ptr<Outlet>& outlet) {
  const bool modern = client.era == Era::kModern;
  const std::weak_ptr<Session> weak = weak_from_this();
  const Call::Ask asks = [weak, outlet](const std::string& method, Json params, const Call& by) {
    const auto session = weak.lock();
    return session ? session->ask(outlet, method, std::move(params), by) : std::nullopt;
  };
  auto call = std::make_shared<Call>(client, message.method, message.params, outlet,
                                     modern ? Call::Ask{} : asks, &pool_);
  if (modern) {
    const auto level = call->meta().find(kMetaLogLevel);
    if (level != call->meta().end()) call->set_log_level(level->get<std::string>());
  } else {
    const std::lock_guard lock(mutex_);
    call->set_log_level(log_level_);
  }
  return call;
}

// Requests that are answered at once.
Answer Session::at_once(const Incoming& message, const Client& client) {
  const std::string& method = message.method;
  const Json& params = message.params;
  const bool modern = client.era == Era::kModern;
  if (method == "server/discover" && modern) {
    Answer answer;
    answer.result["supportedVersions"] = Json::array({kModernRevision});
    answer.result["capabilities"] = capabilities_of(catalogue_, client);
    if (!catalogue_.instructions.empty()) answer.result["instructions"] = catalogue_.instructions;
    return answer;
  }
  if (method == "tools/list" && !catalogue_.tools.empty()) {
    return list_tools(catalogue_, client, params);
  }
  if (method == "prompts/list" && !catalogue_.prompts.empty()) {
    return list_prompts(catalogue_, client, params);
  }
  if (catalogue_.has_resources()) {
    if (method == "resources/list") return list_resources(catalogue_, client, params);
    if (method == "resources/templates/list") return list_templates(catalogue_, client, params);
    if (method == "resources/subscribe" && !modern) return subscribe(params, true);
    if (method == "resources/unsubscribe" && !modern) return subscribe(params, false);
  }
  if (method == "logging/setLevel" && !modern && catalogue_.logs) return set_level(params);
  if (modern && is_removed(method)) {
    return Answer::failed(code::kMethodNotFound, method + " is not part of this revision");
  }
  return Answer::failed(code::kMethodNotFound, "there is no method " + quote(method));
}

void Session::done(const Json& id, Call& call, const Answer& answer) {
  if (answer.error) return refuse(id, *answer.error, *call.outlet());
  Json result;
  try {
    result = result_for(call, catalogue_, answer);
  } catch (const std::exception& failure) {  // a malformed result
    return refuse(id, inside(failure), *call.outlet());
  }
  say(id, std::move(result), *call.outlet());
}

// REQUIRES: the lock is held.
bool Session::is_taken(const Json& id) const {
  return calls_.contains(key_of(id)) ||
         std::ranges::find(subscriptions_, id, &Subscription::id) != subscriptions_.end();
}

// Requests that may take time, on a thread of the pool.
void Session::later(const Json& id, const std::shared_ptr<Call>& call) {
  bool busy = false;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return call->outlet()->end();
    busy = is_taken(id);
    if (!busy) {
      calls_.emplace(key_of(id), call);
      ++at_work_;
    }
  }
  if (busy) {
    return refuse(id, {code::kInvalidRequest, "a request with this id is already running"},
                  *call->outlet());
  }
  const auto finish = [self = shared_from_this(), id, call](const Answer& answer) {
    bool gone = false;
    {
      const std::lock_guard lock(self->mutex_);
      self->calls_.erase(key_of(id));  // before the answer, after which the client may reuse the id
      gone = self->closed_;
    }
    if (gone || call->cancelled()) {  // a cancelled call is not answered
      call->outlet()->end();
    } else {
      self->done(id, *call, answer);
    }
    const std::lock_guard lock(self->mutex_);
    --self->at_work_;
    self->idle_.notify_all();
  };
  const bool begun = pool_.run([self = shared_from_this(), call, finish] {
    finish(call->cancelled() ? Answer{} : work(self->catalogue_, *call));
  });
  if (!begun) finish(Answer::failed(code::kInternalError, "too many calls at once; try again"));
}

void Session::initialize(const Incoming& message, const std::shared_ptr<Outlet>& outlet) {
  if (!is_text(message.params, "protocolVersion")) {
    return refuse(message.id,
                  {code::kInvalidParams, "\"protocolVersion\" is missing or not a string"},
                  *outlet);
  }
  Client client;
  client.visitor = visitor_;
  const std::string asked = message.params["protocolVersion"].get<std::string>();
  if (is_legacy_revision(asked)) client.revision = asked;
  // Both may be missing, but must be valid if present.
  for (const auto& [name, place] :
       {std::pair("capabilities", &client.capabilities), std::pair("clientInfo", &client.info)}) {
    const auto found = message.params.find(name);
    if (found == message.params.end()) continue;
    if (!found->is_object()) {
      return refuse(message.id, {code::kInvalidParams, quote(name) + " must be an object"},
                    *outlet);
    }
    *place = *found;
  }
  bool again = false;
  {
    const std::lock_guard lock(mutex_);
    again = legacy_.has_value();
    if (!again) legacy_ = client;
  }
  if (again) {
    return refuse(message.id, {code::kInvalidRequest, "this conversation is already initialized"},
                  *outlet);
  }
  Json result{{"protocolVersion", client.revision}};
  result["capabilities"] = capabilities_of(catalogue_, client);
  result["serverInfo"] = server_info(catalogue_, client);
  if (!catalogue_.instructions.empty()) result["instructions"] = catalogue_.instructions;
  say(message.id, std::move(result), *outlet);
}

void Session::notified(const Incoming& message) {
  if (message.method == "notifications/initialized") {
    const std::lock_guard lock(mutex_);
    initialized_ = legacy_.has_value();
    return;
  }
  const auto id = message.params.find("requestId");
  if (message.method != "notifications/cancelled" || id == message.params.end()) return;
  std::shared_ptr<Call> call;
  std::shared_ptr<Outlet> stream;
  {
    const std::lock_guard lock(mutex_);
    const auto listens = std::ranges::find(subscriptions_, *id, &Subscription::id);
    if (listens != subscriptions_.end()) {
      stream = listens->outlet;
      subscriptions_.erase(listens);
    }
    const auto found = calls_.find(key_of(*id));
    if (found != calls_.end()) call = found->second;  // otherwise it is over, or never was
  }
  if (stream) stream->end();
  if (call) call->cancel();
}

Answer Session::set_level(const Json& params) {
  if (!is_text(params, "level") || log_severity(params["level"].get<std::string>()) < 0) {
    return Answer::failed(code::kInvalidParams, "\"level\" is missing or not a log level");
  }
  const std::lock_guard lock(mutex_);
  log_level_ = params["level"].get<std::string>();
  return Answer{};
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
  const auto until = std::chrono::steady_clock::now() + kAskMost;
  bool given_up = false;
  {
    std::unique_lock lock(mutex_);
    while (!pending->done && !closed_ && !by.cancelled() &&
           std::chrono::steady_clock::now() < until) {
      answered_.wait_for(lock, kAskLook);
    }
    pending_.erase(id);
    given_up = !pending->done && !closed_;
  }
  if (given_up) outlet->send(notification("notifications/cancelled", {{"requestId", id}}));
  return pending->result;
}

void Session::responded(const Incoming& message) {
  if (!message.id.is_number_integer()) return;
  const std::lock_guard lock(mutex_);
  const auto found = pending_.find(message.id.get<std::int64_t>());
  if (found == pending_.end()) return;
  if (message.result.is_object()) found->second->result = message.result;
  found->second->done = true;
  answered_.notify_all();
}

// --- the end -----------------------------------------------------------------------------------

void Session::finish(std::chrono::milliseconds patience) {
  Calls calls;
  {
    const std::lock_guard lock(mutex_);
    calls = calls_;
  }
  for (const auto& [id, call] : calls) call->hurry();
  {
    std::unique_lock lock(mutex_);
    idle_.wait_for(lock, patience, [this] { return at_work_ == 0; });
  }
  close();
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
  // The specification describes two ways to end a subscription; we use both.
  for (const Subscription& each : subscriptions) {
    Json meta{{kMetaSubscription, each.id}};
    each.outlet->send(
        notification("notifications/cancelled", {{"requestId", each.id}, {"_meta", meta}}));
    meta[kMetaServer] = server_info(catalogue_, modern_client());
    say(each.id, {{"resultType", "complete"}, {"_meta", meta}}, *each.outlet);
  }
  for (const auto& [id, call] : calls) call->cancel();
}

}  // namespace lockkeeper::mcp
