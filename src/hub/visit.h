// One request to the hub, admitted, and how it is answered.
//
// Thread safety: plain values and free functions.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "http/server.h"
#include "http/target.h"
#include "hub/door.h"
#include "service/locks.h"

namespace lockkeeper::hub {

struct Visit {
  http::Request request;
  http::Target target;
  Person person;
  std::shared_ptr<http::Reply> reply;

  bool is(const char* method, std::initializer_list<const char*> names) const;
};

struct Answer {
  int status = 200;
  Json json;
};

// 400 for what the client wrote wrongly, 403, 404, 409 for a refusal, 410 for what was lost, 429,
// 503 where the table cannot be used; otherwise 500.
int http_status(Code code);
void answer(http::Reply& reply, const Answer& answer);
void answer(http::Reply& reply, const Error& error);
// {"error":{…}} with its status.
Answer refused(const Error& error, Json json = {});

// The JSON object in a request's body. Each getter notes what is wrong; done() tells the first
// fault, or names a field that nobody asked for.
class Body {
 public:
  // invalid_input: it is not a JSON object. An empty body is an empty object.
  static Result<Body> parse(const std::string& text);

  std::optional<std::string> text(const char* name);
  std::vector<std::string> texts(const char* name);
  bool flag(const char* name);
  std::optional<std::uint64_t> number(const char* name);
  Result<void> done() const;
  // As done(), for a client that may be newer: fields that nobody asked for are ignored.
  Result<void> done_with_known() const;

 private:
  const Json* find(const char* name);
  void wrong(const char* name, const char* what);

  std::shared_ptr<const Json> json_;
  std::set<std::string> asked_;
  std::string fault_;
};

// One caller at one realm: its door, and the verbs through it.
class Seat {
 public:
  // Who: the headers Lockkeeper-Agent (else "http") and Lockkeeper-Session; under which lease:
  // Lockkeeper-Lease and Lockkeeper-Fence; the session of its relay: Lockkeeper-Relay.
  static Result<std::unique_ptr<Seat>> take(Desk& desk, HubRealm& realm, const Visit& visit);
  // In this owner's name.
  static Result<std::unique_ptr<Seat>> take(Desk& desk, HubRealm& realm, const Person& person,
                                            const core::Owner& owner,
                                            const service::ParentLease& parent = {},
                                            const std::string& relay = {});

  HubRealm& realm;
  Door door;
  service::Site site;
  service::Locks locks;

  // Words of a client: from the realm's root.
  static service::Wanted wanted(std::vector<std::string> texts);

 private:
  Seat(Desk& desk, HubRealm& realm, const Person& person, const core::Owner& owner,
       service::ParentLease parent, const std::string& relay);
};

}  // namespace lockkeeper::hub
