#include "hub/visit.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/parse.h"
#include "base/strict_json.h"
#include "service/report.h"

namespace lockkeeper::hub {
namespace {

constexpr const char* kDefaultAgent = "http";
constexpr std::size_t kNestingMax = 16;

std::string header_of(const http::Request& request, const char* name) {
  const std::string* const value = request.header(name);
  return value == nullptr ? std::string() : *value;
}

Result<service::ParentLease> parent_of(const http::Request& request) {
  const std::string lease = header_of(request, "Lockkeeper-Lease");
  const std::string fence = header_of(request, "Lockkeeper-Fence");
  if (lease.empty() && fence.empty()) return service::ParentLease{};
  const auto id = core::LeaseId::from_text(lease);
  const auto number = number_in<std::uint64_t>(fence);
  if (id && number) return service::ParentLease{*id, *number};
  return fail(Code::kInvalidInput, "Lockkeeper-Lease and Lockkeeper-Fence are not a lease's",
              "send both, as the answer of the acquire has them, or neither");
}

}  // namespace

bool Visit::is(const char* method, std::initializer_list<const char*> names) const {
  return request.method == method && std::ranges::equal(target.names, names);
}

int http_status(Code code) {
  switch (code) {
    case Code::kUsage:
    case Code::kInvalidResource:
    case Code::kInvalidInput:
      return 400;
    case Code::kOperationNotPermitted:
    case Code::kNotOwner:
      return 403;
    case Code::kNotFound:
      return 404;
    case Code::kHeld:
    case Code::kDeadlock:
    case Code::kTimeout:
      return 409;
    case Code::kLost:
      return 410;
    case Code::kLimitExceeded:
      return 429;
    case Code::kStoreBusy:
    case Code::kStoreUnavailable:
    case Code::kStoreCorrupt:
    case Code::kNoSpace:
      return 503;
    default:
      return 500;
  }
}

void answer(http::Reply& reply, const Answer& answer) {
  reply.whole(answer.status, {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
              service::dump(answer.json) + "\n");
}

Answer refused(const Error& error, Json json) {
  json["error"] = service::error_json(error);
  return {http_status(error.code), std::move(json)};
}

void answer(http::Reply& reply, const Error& error) {
  answer(reply, refused(error));
}

// --- body ----------------------------------------------------------------------------------------

Result<Body> Body::parse(const std::string& text) {
  auto json = parse_strictly<Json>(text.empty() ? "{}" : text, {.nesting = kNestingMax});
  if (!json || !json->is_object()) {
    return fail(Code::kInvalidInput,
                "the body is not a JSON object" + (json ? std::string() : ": " + json.error().why),
                "send an object, for example {\"resources\":[\"src/a.py\"]}");
  }
  Body body;
  body.json_ = std::make_shared<const Json>(std::move(*json));
  return body;
}

const Json* Body::find(const char* name) {
  asked_.insert(name);
  const auto found = json_->find(name);
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

void Body::wrong(const char* name, const char* what) {
  if (fault_.empty()) fault_ = "the field " + quote(name) + " is not " + what;
}

std::optional<std::string> Body::text(const char* name) {
  const Json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  wrong(name, "a string");
  return std::nullopt;
}

std::vector<std::string> Body::texts(const char* name) {
  const Json* const value = find(name);
  std::vector<std::string> all;
  if (value == nullptr) return all;
  const bool good = value->is_array() && std::ranges::all_of(*value, &Json::is_string);
  if (!good) {
    wrong(name, "a list of strings");
    return all;
  }
  for (const Json& each : *value) all.push_back(each.get<std::string>());
  return all;
}

bool Body::flag(const char* name) {
  const Json* const value = find(name);
  if (value == nullptr) return false;
  if (!value->is_boolean()) wrong(name, "true or false");
  return value->is_boolean() && value->get<bool>();
}

std::optional<std::uint64_t> Body::number(const char* name) {
  const Json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number_unsigned()) return value->get<std::uint64_t>();
  wrong(name, "a whole number");
  return std::nullopt;
}

Result<void> Body::done_with_known() const {
  if (fault_.empty()) return {};
  const std::vector<std::string> known(asked_.begin(), asked_.end());
  return fail(Code::kInvalidInput, fault_, "the fields are " + join(known, ", "));
}

Result<void> Body::done() const {
  Body strict = *this;
  for (const auto& [name, value] : json_->items()) {
    if (strict.fault_.empty() && !asked_.contains(name)) {
      strict.fault_ = "there is no field " + quote(name);
    }
  }
  return strict.done_with_known();
}

// --- seat ----------------------------------------------------------------------------------------

Seat::Seat(Desk& desk, HubRealm& at, const Person& person, const core::Owner& owner,
           service::ParentLease parent, const std::string& relay)
    : realm(at),
      door(desk, realm, person, Door::From::kNetwork, relay),
      site(realm.site, door),
      locks(site, owner, std::move(parent)) {}

Result<std::unique_ptr<Seat>> Seat::take(Desk& desk, HubRealm& realm, const Person& person,
                                         const core::Owner& owner,
                                         const service::ParentLease& parent,
                                         const std::string& relay) {
  LK_ASSIGN(core::Owner known, person.signed_owner(owner));
  return std::unique_ptr<Seat>(new Seat(desk, realm, person, std::move(known), parent, relay));
}

Result<std::unique_ptr<Seat>> Seat::take(Desk& desk, HubRealm& realm, const Visit& visit) {
  core::Owner owner{header_of(visit.request, "Lockkeeper-Agent"),
                    header_of(visit.request, "Lockkeeper-Session")};
  if (owner.agent.empty()) owner.agent = kDefaultAgent;
  LK_ASSIGN(const service::ParentLease parent, parent_of(visit.request));
  return take(desk, realm, visit.person, owner, parent,
              header_of(visit.request, "Lockkeeper-Relay"));
}

service::Wanted Seat::wanted(std::vector<std::string> texts) {
  service::Wanted wanted;
  wanted.texts = std::move(texts);
  return wanted;
}

}  // namespace lockkeeper::hub
