// What strangers send to a hub. The first line: a path with query, a line of the token file, a name
// of a realm, an owner, a body. The other lines are calls of bob, who may lock, while alice holds
// something; $LEASE and $FENCE are hers. Whatever he calls, it stays hers, and what he gets has his
// name.
#include <nlohmann/json.hpp>

#include "base/test_clock.h"
#include "base/text.h"
#include "fuzz.h"
#include "http/target.h"
#include "hub/people/tokens.h"
#include "hub/visit.h"
#include "memory_runtime.h"
#include "realm.h"
#include "service/wire/wire.h"

namespace lockkeeper::fuzz {
namespace {

const TestClock kClock;

void check_texts(const std::string& text) {
  if (const auto target = http::parse_target(text)) {
    for (const std::string& name : target->names) {
      require(!name.empty() && name != "." && name != ".." && is_valid_utf8(name), "an odd name");
    }
  }
  const auto entries = hub::parse_tokens(text, "FILE");
  if (!entries) {
    require_readable(entries.error());
  } else if (!entries->empty()) {
    const auto again = hub::parse_tokens(hub::to_line(entries->front()), "FILE");
    require(again && again->size() == 1 && again->front().digest == entries->front().digest &&
                again->front().person.name == entries->front().person.name &&
                again->front().person.roles == entries->front().person.roles &&
                again->front().person.realms == entries->front().person.realms,
            "a token is read as another");
  }
  if (hub::check_realm_name(text)) {
    const std::string file = escape_sign(text, '/');
    require(file.find('/') == std::string::npos && file != "." && file != "..", "a path");
    require(unescape_sign(file, '/') == text, "another realm");
  }
  const auto body = hub::Body::parse(text);
  if (!body) require_readable(body.error());
}

void check_owner(const std::string& agent, const std::string& session) {
  const hub::Person person{"bob", hub::kEveryRole, {"*"}};
  const auto owner = person.signed_owner({agent, session});
  if (!owner) return require_readable(owner.error());
  require(person.owns(*owner), "signed, and not one's own");
  require(!hub::Person{"alice", 0, {}}.owns(*owner), "another's");
  const auto twice = person.signed_owner(*owner);
  require(twice && *twice == *owner, "signed twice is something else");
}

std::string with(std::string line, const std::string& mark, const std::string& value) {
  for (std::size_t at = line.find(mark); at != std::string::npos; at = line.find(mark, at + 1)) {
    line.replace(at, mark.size(), value);
  }
  return line;
}

// Nobody has the time to wait.
std::string at_once(const std::string& line) {
  Json json = Json::parse(line, nullptr, false);
  const bool waits = json.is_object() && json.contains("with") && json["with"].is_object() &&
                     json["with"].contains("at_most_ms");
  if (!waits) return line;
  json["with"]["at_most_ms"] = 0;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void run(Input input) {
  const std::string first(input.line());
  check_texts(first);
  const auto slash = first.find('/');
  check_owner(first.substr(0, slash), slash == std::string::npos ? "" : first.substr(slash + 1));
  SeededRandom random(1);
  const service::Runtime runtime = memory_runtime(kClock, random);
  hub::HubRealm place("app", runtime, realm(), realm::Settings{});
  hub::Desk desk(kClock);
  const auto alice =
      hub::Seat::take(desk, place, {"alice", hub::kEveryRole, {"*"}}, {"claude", "s"}).value();
  service::AcquireCommand command;
  command.wanted = hub::Seat::wanted({"src/", "db:migration-slot"});
  const core::Lease hers = alice->locks.acquire(command).value().lease;
  constexpr unsigned kMayLock = 3;
  hub::Door bob(desk, place, {"bob", kMayLock, {"*"}});
  for (int calls = 0; calls < 8 && !input.empty(); ++calls) {
    const std::string line = with(with(std::string(input.line()), "$LEASE", hers.id.text()),
                                  "$FENCE", std::to_string(hers.fence()));
    service::wire::serve(bob, at_once(line), kClock);
    const service::ListReply all = alice->locks.list({}).value();
    bool there = false;
    for (const service::ListedLease& listed : all.leases) {
      const core::Lease& lease = listed.lease;
      there |= lease.id == hers.id && lease.fence() == hers.fence() &&
               lease.claims == hers.claims && lease.expires_wall_ms == hers.expires_wall_ms;
      require(lease.id == hers.id || bob.person().owns(lease.owner), "a lease without his name");
      for (const core::Claim& claim : lease.claims) {
        const bool apart =
            lease.id == hers.id || !key::may_overlap(claim.resource, hers.claims[0].resource);
        require(apart, "granted inside of hers");
      }
    }
    require(there, "her lease is gone or changed");
  }
}

}  // namespace lockkeeper::fuzz
