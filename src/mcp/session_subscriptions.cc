// Session: subscriptions to changes of resources and lists.
#include <algorithm>

#include "mcp/lists.h"
#include "mcp/session.h"

namespace lockkeeper::mcp {
namespace {

constexpr std::size_t kStreamsMax = 100;  // of one conversation
constexpr std::size_t kUrisMax = 1'000;   // of one conversation
constexpr std::size_t kUriBytesMax = 4096;

Json with_subscription(const Json& id, Json params) {
  params["_meta"] = {{kMetaSubscription, id}};
  return params;
}

bool is_uri(const Json& uri) {
  return uri.is_string() && uri.get_ref<const std::string&>().size() <= kUriBytesMax;
}

// An empty array if there are none.
const Json& uris_of(const Json& filter) {
  static const Json kNone = Json::array();
  const auto uris = filter.find("resourceSubscriptions");
  return uris == filter.end() ? kNone : *uris;
}

}  // namespace

// REQUIRES: the lock is held.
std::size_t Session::uris_known() const {
  std::size_t count = subscribed_.size();
  for (const Subscription& each : subscriptions_) count += uris_of(each.filter).size();
  return count;
}

// The part of the filter that we support; the client sees what is left out.
Json Session::honoured(const Json& wanted) const {
  Json honoured = Json::object();
  const Json offered = capabilities_of(catalogue_, modern_client());
  for (const std::string of : {"tools", "prompts", "resources"}) {
    const bool changes = offered.contains(of) && offered[of].contains("listChanged");
    const auto asked = wanted.find(of + "ListChanged");
    if (changes && asked != wanted.end() && *asked == true) honoured[of + "ListChanged"] = true;
  }
  const auto uris = wanted.find("resourceSubscriptions");
  if (uris == wanted.end() || !uris->is_array() || !offered.contains("resources")) return honoured;
  std::size_t left = kUrisMax;
  Json& known = honoured["resourceSubscriptions"] = Json::array();
  for (const Json& uri : *uris) {
    if (left == 0 || !is_uri(uri)) continue;
    known.push_back(uri);
    --left;
  }
  return honoured;
}

// The catalogue is told before the client, and without our lock.
void Session::watch(const Json& filter) const {
  if (!catalogue_.watch) return;
  for (const Json& uri : uris_of(filter)) catalogue_.watch(uri.get<std::string>());
}

void Session::listen(const Incoming& message, const std::shared_ptr<Outlet>& outlet) {
  const auto wanted = message.params.find("notifications");
  RpcError error{code::kInvalidParams, "\"notifications\" is missing or not an object"};
  if (wanted != message.params.end() && wanted->is_object()) {
    const Json filter = honoured(*wanted);
    watch(filter);
    const std::lock_guard lock(mutex_);
    if (closed_) return outlet->end();
    if (is_taken(message.id)) {
      error = {code::kInvalidRequest, "a request with this id is already running"};
    } else if (subscriptions_.size() >= kStreamsMax || uris_known() >= kUrisMax) {
      error = {code::kInternalError, "too many subscriptions; cancel one first"};
    } else {
      // Under the lock, so that no notification precedes it.
      outlet->send(notification("notifications/subscriptions/acknowledged",
                                with_subscription(message.id, {{"notifications", filter}})));
      subscriptions_.push_back({message.id, outlet, filter});
      return;
    }
  }
  outlet->send(error_response(message.id, error));
  outlet->end();
}

Answer Session::subscribe(const Json& params, bool wanted) {
  const auto uri = params.find("uri");
  if (uri == params.end() || !is_uri(*uri)) {
    return Answer::failed(code::kInvalidParams, "\"uri\" is missing, not a string, or too long");
  }
  const std::string name = uri->get<std::string>();
  if (wanted) watch({{"resourceSubscriptions", Json::array({name})}});
  const std::lock_guard lock(mutex_);
  if (!wanted) {
    subscribed_.erase(name);
  } else if (!subscribed_.contains(name) && uris_known() >= kUrisMax) {
    return Answer::failed(code::kInternalError, "too many subscriptions; cancel one first");
  } else {
    subscribed_.insert(name);
  }
  return Answer{};
}

void Session::set_listener(std::shared_ptr<Outlet> outlet) {
  const std::lock_guard lock(mutex_);
  listener_ = std::move(outlet);
}

std::set<std::string> Session::watched() const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> all = subscribed_;
  for (const Subscription& each : subscriptions_) {
    for (const Json& uri : uris_of(each.filter)) all.insert(uri.get<std::string>());
  }
  return all;
}

void Session::resource_changed(const std::string& uri) {
  const std::string method = "notifications/resources/updated";
  const std::lock_guard lock(mutex_);
  if (listener_ && subscribed_.contains(uri)) {
    listener_->send(notification(method, {{"uri", uri}}));
  }
  for (const Subscription& each : subscriptions_) {
    const Json& uris = uris_of(each.filter);
    if (std::ranges::find(uris, Json(uri)) == uris.end()) continue;
    each.outlet->send(notification(method, with_subscription(each.id, {{"uri", uri}})));
  }
}

void Session::list_changed(const std::string& what) {
  const std::string method = "notifications/" + what + "/list_changed";
  const std::lock_guard lock(mutex_);
  if (listener_ && initialized_) listener_->send(notification(method, nullptr));
  for (const Subscription& each : subscriptions_) {
    if (!each.filter.contains(what + "ListChanged")) continue;
    each.outlet->send(notification(method, with_subscription(each.id, Json::object())));
  }
}

}  // namespace lockkeeper::mcp
