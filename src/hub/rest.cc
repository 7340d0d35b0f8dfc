#include "hub/rest.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/parse.h"
#include "base/text.h"
#include "realm/server.h"
#include "service/questions.h"
#include "service/report.h"
#include "service/wire/codec.h"
#include "service/wire/wire.h"

namespace lockkeeper::hub {
namespace {

constexpr std::int64_t kAskMostMs = 60'000;  // one answer; the client asks again
constexpr std::int64_t kAskUsualMs = 30'000;
constexpr std::uint64_t kEventsMost = 10'000;
constexpr std::uint64_t kEventsUsual = 1'000;
constexpr std::initializer_list<const char*> kEventFilters = {"since", "from", "agent", "under",
                                                              "limit"};

Result<core::LeaseId> id_in(const Visit& visit) {
  const auto id = core::LeaseId::from_text(visit.target.names.back());
  if (id) return *id;
  return fail(Code::kInvalidInput, quote(visit.target.names.back()) + " is not the id of a wait",
              "ids are 32 hexadecimal digits, as the answer with \"queued\" has it");
}

Result<std::uint64_t> number_of(const Visit& visit, const char* name, std::uint64_t usual) {
  const std::string text = visit.target.value(name);
  if (text.empty()) return usual;
  const auto number = number_in<std::uint64_t>(text);
  if (number) return *number;
  return fail(Code::kInvalidInput, std::string(name) + " " + quote(text) + " is not a number",
              "send a whole number");
}

// As text: other languages' JSON has no whole numbers that large.
Result<std::vector<std::uint64_t>> numbers_in(const std::vector<std::string>& texts) {
  std::vector<std::uint64_t> numbers;
  for (const std::string& text : texts) {
    const auto number = number_in<std::uint64_t>(text);
    if (!number) {
      return fail(Code::kInvalidInput, quote(text) + " is not the number of a process",
                  "send whole numbers as text");
    }
    numbers.push_back(*number);
  }
  return numbers;
}

bool asks_for_stream(const http::Request& request) {
  const std::string* const accept = request.header("Accept");
  return accept != nullptr && http::media_type(*accept) == "text/event-stream";
}

std::string wire_text(const Waits::Outcome& outcome, const Clock& clock) {
  using service::wire::to_json;
  if (!outcome) return service::dump({{"error", to_json(outcome.error(), clock)}});
  const service::Reply<service::AcquireResult> reply{*outcome, {}};
  return service::dump({{"reply", to_json(reply, clock)}});
}

}  // namespace

const std::vector<Rest::Route>& Rest::routes() {
  static const std::vector<Route> kRoutes = {
      {"POST", "acquire", &Rest::acquire, true},
      {"POST", "release", &Rest::release, true},
      {"POST", "renew", &Rest::renew, true},
      {"POST", "check", &Rest::check, true},
      {"GET", "list", &Rest::list},
      {"POST", "break", &Rest::break_leases},
      {"GET", "messages", &Rest::messages},
      {"POST", "messages", &Rest::send},
      {"POST", "messages/read", &Rest::read_messages},
      {"POST", "purge", &Rest::purge},
      {"GET", "whoami", &Rest::whoami},
      {"GET", "runs", &Rest::runs},
  };
  return kRoutes;
}

Result<std::unique_ptr<Seat>> Rest::seat(const Visit& visit) {
  LK_ASSIGN(HubRealm* const realm, realms_.find(visit.target.value("realm"), visit.person));
  return Seat::take(desk_, *realm, visit);
}

HubRealm* Rest::short_call(const Visit& visit) const {
  const bool is_short = std::ranges::any_of(routes(), [&](const Route& route) {
    return route.is_short && visit.is(route.method, {"v1", route.name});
  });
  return is_short ? realms_.known(visit.target.value("realm")) : nullptr;
}

void Rest::handle(const Visit& visit) {
  http::Reply& reply = *visit.reply;
  const auto told = [&](const Result<void>& done) {
    if (!done) answer(reply, done.error());
  };
  const std::string name = visit.target.rest(1);
  const std::string& method = visit.request.method;
  if (const auto about = about_the_hub(visit)) {
    return *about ? answer(reply, **about) : answer(reply, about->error());
  }
  if (method == "GET" && name == "events") return told(events(visit));
  if (method == "POST" && name == "call") return told(call(visit));
  const bool one_wait = visit.target.names.size() == 3 && visit.target.names[1] == "waits";
  if (one_wait && method == "GET") return told(wait(visit));
  if (one_wait && method == "DELETE") return told(leave(visit));
  const bool one_run = visit.target.names.size() == 3 && visit.target.names[1] == "runs";
  bool known = one_wait;
  for (const Route& route : routes()) {
    if ((one_run ? "runs" : name) != route.name) continue;
    known = true;
    if (method != route.method) continue;
    const auto here = seat(visit);
    if (!here) return answer(reply, here.error());
    const auto done = (this->*route.handle)(visit, **here);
    return done ? answer(reply, *done) : answer(reply, done.error());
  }
  Answer wrong = refused({Code::kUsage, method + " /v1/" + name + " is not an operation of the hub",
                          "see /v1/openapi.json"});
  wrong.status = known ? 405 : 404;
  answer(reply, wrong);
}

// --- waiting -------------------------------------------------------------------------------------

Result<void> Rest::tell_outcome(Door& door, const service::AwaitCall& call,
                                const std::shared_ptr<http::Reply>& reply, Waits::Then tell) {
  const std::int64_t at_most_ms = std::clamp<std::int64_t>(call.at_most_ms, 0, kAskMostMs);
  LK_ASSIGN(const std::uint64_t asker, door.ask(call.id, at_most_ms, std::move(tell), call.looks));
  if (asker != 0) reply->on_gone([&waits = desk_.waits, asker] { waits.gone(asker); });
  return {};
}

Result<void> Rest::wait(const Visit& visit) {
  LK_ASSIGN(const core::LeaseId id, id_in(visit));
  LK_ASSIGN(const auto here, seat(visit));
  std::int64_t at_most_ms = kAskUsualMs;
  if (visit.target.query.contains("for")) {
    LK_ASSIGN(at_most_ms, parse_duration_ms(visit.target.value("for")));
  }
  const auto tell = [this, reply = visit.reply](const Waits::Outcome& now) {
    if (!now) return answer(*reply, refused(now.error()));
    if (now->outcome != core::Outcome::kQueued) desk_.metrics.answered(now->outcome);
    answer(*reply, outcome(*now, {}));
  };
  return tell_outcome(here->door, {{}, id, at_most_ms}, visit.reply, tell);
}

// Whoever leaves wants nothing more: what was granted meanwhile is given back.
Result<void> Rest::leave(const Visit& visit) {
  LK_ASSIGN(const core::LeaseId id, id_in(visit));
  LK_ASSIGN(const auto here, seat(visit));
  service::LeaveCall call;
  call.id = id;
  LK_ASSIGN(auto left, here->door.leave(call));
  if (left.value.outcome == core::Outcome::kGranted) {
    service::ReleaseCall release;
    release.caller.owner = left.value.lease.owner;
    release.leases = {left.value.lease.id};
    LK_CHECK(here->door.release(release));
    left.value.outcome = core::Outcome::kInterrupted;
  }
  answer(*visit.reply, outcome(left.value, {}));
  return {};
}

// --- our own clients -----------------------------------------------------------------------------

Result<void> Rest::call(const Visit& visit) {
  // A relay that has waited too long has asked another hub since, and nobody would hear of a grant.
  if (visit.request.sender_gone && visit.request.header("Lockkeeper-Relay") != nullptr) {
    return fail(Code::kStoreUnavailable, "the relay has gone", "ask again");
  }
  LK_ASSIGN(const auto here, seat(visit));
  const auto reply_with = [reply = visit.reply](std::string text) {
    reply->whole(200, {{"Content-Type", "application/json"}, {"Cache-Control", "no-store"}},
                 std::move(text));
  };
  LK_ASSIGN(const Json json, service::wire::json_of(visit.request.body));
  if (json.is_object() && json.contains("rules")) {  // of a relay's client, with its first call
    LK_ASSIGN(const auto open, service::wire::from_json<service::OpenCall>(json, desk_.clock));
    LK_CHECK(here->door.open(open));
  }
  const bool waits = json.is_object() && json.value("call", Json()) == "await";
  if (!waits) {
    reply_with(service::wire::serve(here->door, visit.request.body, desk_.clock));
    return {};
  }
  LK_ASSIGN(const auto call,
            service::wire::from_json<service::AwaitCall>(json.value("with", Json()), desk_.clock));
  const auto tell = [reply_with, &clock = desk_.clock](const Waits::Outcome& outcome) {
    reply_with(wire_text(outcome, clock));
  };
  const auto told = tell_outcome(here->door, call, visit.reply, tell);
  // What it was granted has ended, perhaps: the table knows.
  if (!told) reply_with(service::wire::serve(here->door, visit.request.body, desk_.clock));
  return {};
}

// --- events --------------------------------------------------------------------------------------

Result<void> Rest::events(const Visit& visit) {
  LK_ASSIGN(const auto here, seat(visit));
  LK_CHECK(visit.person.must_have(Role::kRead));
  service::LogCommand command;
  command.agent = visit.target.value("agent");
  const std::string under = visit.target.value("under");
  if (!under.empty()) command.under = Seat::wanted({under});
  LK_ASSIGN(command.since_seq, number_of(visit, "since", 0));
  const std::string from = visit.target.value("from");
  if (!from.empty()) {
    LK_ASSIGN(command.since_wall_ms, parse_time(from));
  }
  LK_ASSIGN(service::EventsCall call, here->locks.call(command));
  if (asks_for_stream(visit.request)) {
    const std::string* const last = visit.request.header("Last-Event-ID");
    const auto seen = last == nullptr ? std::nullopt : number_in<std::uint64_t>(*last);
    if (seen) call.since_seq = *seen;
    if (!seen && !visit.target.query.contains("since")) {
      LK_ASSIGN(call.since_seq, service::newest_event(here->site));
    }
    feed_.open(here->realm, std::move(call), visit.reply);
    return {};
  }
  LK_ASSIGN(const std::uint64_t most, number_of(visit, "limit", kEventsUsual));
  call.most = std::clamp<std::uint64_t>(most, 1, kEventsMost);
  LK_ASSIGN(const std::uint64_t last, number_of(visit, "last", 0));
  if (last != 0) {
    const bool filtered = std::ranges::any_of(
        kEventFilters, [&](const char* name) { return visit.target.query.contains(name); });
    if (filtered) {
      return fail(Code::kInvalidInput, "last takes no filters", "send last alone");
    }
    call.newest = true;
    call.most = std::min(last, kEventsMost);
  }
  LK_ASSIGN(const auto found, here->door.events(call));
  Json json{{"events", Json::array()}};
  for (const core::Event& event : found.value) json["events"].push_back(service::event_json(event));
  answer(*visit.reply, {200, std::move(json)});
  return {};
}

// --- the hub itself ------------------------------------------------------------------------------

std::optional<Result<Answer>> Rest::about_the_hub(const Visit& visit) {
  if (visit.is("GET", {"v1", "realms"})) return list_realms(visit);
  if (visit.is("POST", {"v1", "realms"})) return create_realm(visit);
  if (visit.is("GET", {"v1", "hubs"})) return list_hubs(visit);
  if (visit.is("POST", {"v1", "drain"})) return drain(visit);
  if (visit.is("POST", {"v1", "beat"})) return beat(visit);
  return std::nullopt;
}

Result<Answer> Rest::list_realms(const Visit& visit) {
  LK_CHECK(visit.person.must_have(Role::kRead));
  Json json{{"realms", Json::array()}};
  for (const HubRealm* const realm : realms_.all()) {
    if (visit.person.may_enter(realm->name)) json["realms"].push_back({{"name", realm->name}});
  }
  return Answer{200, std::move(json)};
}

Result<Answer> Rest::create_realm(const Visit& visit) {
  LK_CHECK(visit.person.must_have(Role::kAdmin));
  LK_ASSIGN(Body body, Body::parse(visit.request.body));
  const std::string name = body.text("name").value_or("");
  LK_CHECK(body.done());
  LK_CHECK(check_realm_name(name));
  if (!visit.person.may_enter(name)) {
    return fail(Code::kOperationNotPermitted,
                visit.person.name + " may not use the realm " + quote(name) + " of this hub",
                "ask whoever runs the hub for it");
  }
  LK_ASSIGN(const HubRealm* const realm, realms_.create(name));
  return Answer{201, {{"name", realm->name}}};
}

// Those that serve one table together.
Result<Answer> Rest::list_hubs(const Visit& visit) {
  LK_CHECK(visit.person.must_have(Role::kRead));
  Json json{{"hubs", Json::array()}};
  if (desk_.shared == nullptr || !visit.person.may_enter(desk_.shared->name)) {
    return Answer{200, std::move(json)};
  }
  Presence& presence = *desk_.shared->presence();
  LK_ASSIGN(const std::vector<KnownHub> hubs, presence.hubs());
  for (const KnownHub& hub : hubs) {
    json["hubs"].push_back({{"machine", hub.machine},
                            {"address", text_or_null(hub.address)},
                            {"this", hub.id == presence.id()}});
  }
  return Answer{200, std::move(json)};
}

Result<Answer> Rest::drain(const Visit& visit) {
  LK_CHECK(visit.person.must_have(Role::kAdmin));
  LK_ASSIGN(Body body, Body::parse(visit.request.body));
  const bool on = body.flag("on");
  LK_CHECK(body.done());
  desk_.draining = on;
  return Answer{200, {{"draining", on}}};
}

// In the table that several hubs serve. True: the session has gone.
Result<bool> Rest::keep_session(Sessions::Beat& beat, bool begins) {
  if (desk_.shared == nullptr) return false;
  const std::uint64_t session = Presence::row_of(beat.person, beat.session);
  LK_ASSIGN(beat.kept, desk_.shared->presence()->keep(session, begins));
  if (!beat.kept) desk_.sessions.lose(beat.person, beat.session);
  return !beat.kept;
}

// A relay says who lives on its machine (sessions.h).
Result<Answer> Rest::beat(const Visit& visit) {
  LK_CHECK(visit.person.must_have(Role::kRead));
  LK_ASSIGN(Body body, Body::parse(visit.request.body));
  const auto protocol = body.number("protocol");
  const std::string version = body.text("version").value_or("unknown");
  Sessions::Beat beat{visit.person.name, body.text("session").value_or(""), {}, {}, 0};
  beat.at_ms = static_cast<std::int64_t>(body.number("at").value_or(0));
  const bool begins = body.flag("begins");
  const std::vector<std::string> living = body.texts("living");
  const std::vector<std::string> gone = body.texts("gone");
  if (protocol != static_cast<std::uint64_t>(realm::kHubProtocol)) {
    return fail(Code::kUsage,
                "this hub has version " LOCKKEEPER_VERSION " and protocol " +
                    std::to_string(realm::kHubProtocol) + ", the client version " + quote(version) +
                    " and protocol " + std::to_string(protocol.value_or(0)),
                "use the same version of lockkeeper on both sides");
  }
  LK_CHECK(body.done_with_known());
  LK_ASSIGN(beat.living, numbers_in(living));
  LK_ASSIGN(beat.gone, numbers_in(gone));
  LK_CHECK(desk_.may_vouch());
  LK_ASSIGN(const bool is_lost, keep_session(beat, begins));
  LK_ASSIGN(const std::vector<std::uint64_t> lost, desk_.sessions.beat(beat));
  bury(desk_, realms_);
  Json json{
      {"protocol", realm::kHubProtocol},         {"version", LOCKKEEPER_VERSION},
      {"name", text_or_null(visit.person.name)}, {"mark", Sessions::mark_of(visit.person.name)},
      {"session_ms", realm::kSessionMs},         {"lost", Json::array()}};
  if (is_lost) json["session"] = "lost";
  for (const std::uint64_t number : lost) json["lost"].push_back(std::to_string(number));
  return Answer{200, std::move(json)};
}

}  // namespace lockkeeper::hub
