#include "relay/places.h"

#include <functional>
#include <nlohmann/json.hpp>

#include "relay/hub_link.h"

namespace lockkeeper::relay {
namespace {

// Empty: the call asks for nothing, or nobody can ask for it again.
std::string request_in(const std::string& realm, const Json& call) {
  if (text_at(call, "call") != "acquire") return {};
  const Json& caller = object_at(object_at(call, "with"), "caller");
  const std::string id = text_at(caller, "request_id");
  if (id.empty()) return {};
  return Json::array({realm, text_at(caller, "agent"), text_at(caller, "session"), id}).dump();
}

}  // namespace

void Places::joined(const std::string& process) {
  const std::lock_guard hold(mutex_);
  ++processes_[process].connections;
}

std::optional<std::vector<std::string>> Places::left(const std::string& process) {
  const std::lock_guard hold(mutex_);
  const auto found = processes_.find(process);
  if (found == processes_.end() || --found->second.connections > 0) return std::nullopt;
  std::vector<std::string> ids;
  for (auto& [id, waiting] : found->second.waits) {
    leaving_[id] = std::move(waiting);
    ids.push_back(id);
  }
  processes_.erase(found);
  return ids;
}

Places::Turn Places::turn_of(const std::string& request) {
  return Turn(turns_[std::hash<std::string>()(request) % turns_.size()]);
}

Places::Turn Places::begin(const std::string& realm, const Json& call) {
  const std::string request = request_in(realm, call);
  if (request.empty()) return {};
  Turn turn = turn_of(request);
  const auto is_it = [&](const auto& each) { return each.second.request == request; };
  const std::lock_guard hold(mutex_);
  std::erase_if(leaving_, is_it);
  for (auto& [name, process] : processes_) std::erase_if(process.waits, is_it);
  return turn;
}

void Places::note(const std::string& process, const std::string& realm, const Json& call,
                  const std::string& reply) {
  const std::string name = text_at(call, "call");
  const Json& with = object_at(call, "with");
  const bool asks = name == "acquire" && with.contains("wait") && with["wait"] == true;
  if (!asks && name != "await" && name != "leave") return;
  const Json json = Json::parse(reply, nullptr, false);
  const Json& value = object_at(object_at(json, "reply"), "value");
  if (value.is_null()) return;
  const std::lock_guard hold(mutex_);
  const auto known = processes_.find(process);
  if (known == processes_.end()) return;  // it has gone meanwhile, and what it waited for is left
  Waits& waits = known->second.waits;
  std::string request = request_in(realm, call);
  if (!asks) {
    const auto before = waits.find(text_at(with, "id"));
    if (before != waits.end()) {
      request = before->second.request;
      waits.erase(before);
    }
  }
  if (text_at(value, "outcome") != "queued") return;
  Json caller = object_at(with, "caller");
  if (caller.is_object()) {
    caller.erase("request_id");
    caller.erase("tell");
  }
  waits[text_at(object_at(value, "lease"), "id")] = {realm, std::move(caller), std::move(request)};
}

std::optional<Places::Waiting> Places::leaving(const std::string& id) {
  const std::lock_guard hold(mutex_);
  const auto found = leaving_.find(id);
  return found == leaving_.end() ? std::nullopt : std::optional(found->second);
}

std::pair<Places::Turn, std::optional<Places::Waiting>> Places::begin_to_leave(
    const std::string& id) {
  const auto before = leaving(id);
  if (!before) return {};
  Turn turn = turn_of(before->request);
  return {std::move(turn), leaving(id)};
}

void Places::forget(const std::string& id) {
  const std::lock_guard hold(mutex_);
  leaving_.erase(id);
}

}  // namespace lockkeeper::relay
