// The verbs of /v1: a body, or a query, becomes a command, and its reply the command line's JSON.
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/parse.h"
#include "base/text.h"
#include "hub/rest.h"
#include "hub/runs.h"
#include "service/messages.h"
#include "service/report.h"

namespace lockkeeper::hub {
namespace {

constexpr service::Tell kTellAll{.losses = true, .messages = true, .waiting = true};

Result<std::int64_t> duration_in(const char* name, const std::string& text, DurationRules rules) {
  auto value = parse_duration_ms(text, rules);
  if (!value) value.error().message = quote(name) + ": " + value.error().message;
  return value;
}

// What every answer of a verb brings along for its owner.
Result<Json> with_notices(service::Locks& locks, Json json) {
  LK_ASSIGN(const service::Notices came, locks.notices());
  for (const core::LostLease& lost : came.lost) json["lost"].push_back(service::lost_json(lost));
  for (const core::Waiter& each : came.waiting) {
    json["waiting"].push_back(service::waiting_json(each));
  }
  for (const core::Message& message : came.messages) {
    json["messages"].push_back(service::message_json(message));
  }
  return json;
}

// The fields that name resources.
Result<service::Wanted> wanted_in(Body& body) {
  service::Wanted wanted = Seat::wanted(body.texts("resources"));
  const std::string mode = body.text("mode").value_or("exclusive");
  const bool literal = body.flag("literal");
  const bool glob = body.flag("glob");
  if (mode != "exclusive" && mode != "shared") {
    return fail(Code::kInvalidInput, "the mode " + quote(mode) + " is neither exclusive nor shared",
                "send \"exclusive\" or \"shared\"");
  }
  if (literal && glob) {
    return fail(Code::kInvalidInput, "literal and glob contradict each other", "send only one");
  }
  if (mode == "shared") wanted.mode = core::Mode::kShared;
  if (literal) wanted.syntax = key::Syntax::kLiteral;
  if (glob) wanted.syntax = key::Syntax::kGlob;
  return wanted;
}

Result<std::optional<std::int64_t>> ttl_in(Body& body) {
  const auto text = body.text("ttl");
  if (!text) return std::nullopt;
  LK_ASSIGN(const std::int64_t ttl, duration_in("ttl", *text, {.allow_none = true}));
  return ttl;
}

service::HintContext hint_for(const Seat& seat, std::vector<std::string> resources,
                              std::int64_t now_wall_ms) {
  service::HintContext hint;
  hint.resources = std::move(resources);
  hint.asker = seat.locks.owner();
  hint.now_wall_ms = now_wall_ms;
  return hint;
}

}  // namespace

Result<Answer> Rest::acquire(const Visit& visit, Seat& seat) {
  LK_ASSIGN(Body body, Body::parse(visit.request.body));
  service::AcquireCommand command;
  LK_ASSIGN(command.wanted, wanted_in(body));
  LK_ASSIGN(command.ttl_ms, ttl_in(body));
  command.terms.reason = body.text("reason").value_or("");
  command.terms.task = body.text("task").value_or("");
  command.terms.request_id = body.text("request_id").value_or("");
  const auto wait = body.text("wait");
  LK_CHECK(body.done());
  std::int64_t wait_ms = 0;
  if (wait) {
    LK_ASSIGN(wait_ms, duration_in("wait", *wait, {.allow_none = true}));
    if (wait_ms == kNoEnd) wait_ms = service::kWaitForever;
  }
  seat.locks.tell_along(kTellAll);
  std::vector<std::string> warnings;
  LK_ASSIGN(service::AcquireCall call, seat.locks.call(command, warnings));
  call.wait = wait_ms != 0;
  LK_ASSIGN(auto reply, seat.door.acquire(call, wait_ms));
  service::AcquireResult& result = reply.value;
  result.warnings = std::move(warnings);
  result.lost = std::move(reply.notices.lost);
  if (wait && result.outcome == core::Outcome::kHeld) result.outcome = core::Outcome::kTimeout;
  Answer answer = outcome(result, command.wanted.texts);
  for (const core::Message& message : reply.notices.messages) {
    answer.json["messages"].push_back(service::message_json(message));
  }
  return answer;
}

// 200: it is the caller's. 202: it waits, under an id. 409: refused.
Answer Rest::outcome(const service::AcquireResult& result, const std::vector<std::string>& asked) {
  Json json = service::acquire_json(result);
  if (result.outcome == core::Outcome::kQueued) {
    json["wait"] = {{"id", result.lease.id.text()}, {"position", result.position}};
    return {202, std::move(json)};
  }
  if (service::outcome_status(result.outcome) == 0) return {200, std::move(json)};
  if (result.outcome == core::Outcome::kInterrupted) return {200, std::move(json)};
  service::HintContext hint;
  hint.resources = asked;
  hint.now_wall_ms = runtime_.clock->now().wall_ms;
  return refused(service::refusal(result, hint), std::move(json));
}

Result<Answer> Rest::release(const Visit& visit, Seat& seat) {
  LK_ASSIGN(Body body, Body::parse(visit.request.body));
  service::ReleaseCommand command;
  command.wanted = Seat::wanted(body.texts("resources"));
  command.lease_ids = body.texts("leases");
  command.task = body.text("task").value_or("");
  command.all = body.flag("all");
  LK_CHECK(body.done());
  seat.locks.tell_along(kTellAll);
  LK_ASSIGN(const core::ReleaseReply reply, seat.locks.release(command));
  LK_ASSIGN(Json json, with_notices(seat.locks, service::release_json(reply)));
  const auto error = service::release_error(reply, command.all, seat.locks.owner());
  if (error) return refused(*error, std::move(json));
  return Answer{200, std::move(json)};
}

Result<Answer> Rest::renew(const Visit& visit, Seat& seat) {
  LK_ASSIGN(Body body, Body::parse(visit.request.body));
  service::RenewCommand command;
  command.wanted = Seat::wanted(body.texts("resources"));
  command.lease_ids = body.texts("leases");
  command.all = body.flag("all");
  LK_ASSIGN(command.ttl_ms, ttl_in(body));
  LK_CHECK(body.done());
  seat.locks.tell_along(kTellAll);
  LK_ASSIGN(const auto renewed, seat.locks.renew(command));
  LK_ASSIGN(Json json, with_notices(seat.locks, service::leases_json("renewed", renewed)));
  return Answer{200, std::move(json)};
}

Result<Answer> Rest::check(const Visit& visit, Seat& seat) {
  LK_ASSIGN(Body body, Body::parse(visit.request.body));
  service::CheckCommand command;
  LK_ASSIGN(command.wanted, wanted_in(body));
  command.fence = body.number("fence").value_or(0);
  command.lease_id = body.text("lease").value_or("");
  LK_CHECK(body.done());
  LK_ASSIGN(const core::CheckReply reply, seat.locks.check(command));
  Json json = service::check_json(reply);
  if (command.fence != 0 && !reply.fence_current) {
    return refused({Code::kLost,
                    "no live lease with fence " + std::to_string(command.fence) + " covers " +
                        shown_list(command.wanted.texts, 1),
                    "stop changing it and ask for it again"},
                   std::move(json));
  }
  if (command.fence == 0 && !reply.free && !reply.mine) {
    const auto hint = hint_for(seat, command.wanted.texts, runtime_.clock->now().wall_ms);
    return refused(service::held_error(reply.conflicts, hint), std::move(json));
  }
  return Answer{200, std::move(json)};
}

Result<Answer> Rest::list(const Visit& visit, Seat& seat) {
  service::ListCommand command;
  command.agent = visit.target.value("agent");
  command.task = visit.target.value("task");
  const std::string under = visit.target.value("under");
  command.under = Seat::wanted(under.empty() ? std::vector<std::string>{} : std::vector{under});
  LK_ASSIGN(const service::ListReply reply, seat.locks.list(command));
  return Answer{200, service::list_json(reply)};
}

Result<Answer> Rest::break_leases(const Visit& visit, Seat& seat) {
  LK_ASSIGN(Body body, Body::parse(visit.request.body));
  service::BreakCommand command;
  command.wanted = Seat::wanted(body.texts("resources"));
  command.lease_ids = body.texts("leases");
  command.agent = body.text("agent").value_or("");
  command.reason = body.text("reason").value_or("");
  command.only_expired = body.flag("expired");
  command.only_dead = body.flag("dead");
  command.foreign = body.flag("foreign");
  LK_CHECK(body.done());
  LK_ASSIGN(const auto broken, seat.locks.break_leases(command));
  return Answer{200, service::leases_json("broken", broken)};
}

Result<Answer> Rest::send(const Visit& visit, Seat& seat) {
  LK_ASSIGN(Body body, Body::parse(visit.request.body));
  service::SendCommand command;
  command.to = {body.text("to").value_or(""), body.text("to_session").value_or("")};
  const auto holder = body.text("to_holder_of");
  if (holder) command.to_holders_of = Seat::wanted({*holder});
  const bool everybody = body.flag("to_everybody");
  command.text = body.text("text").value_or("");
  command.type = body.text("type").value_or(command.type);
  command.task = body.text("task").value_or("");
  LK_CHECK(body.done());
  const int receivers = (command.to.agent.empty() ? 0 : 1) + (holder ? 1 : 0) + (everybody ? 1 : 0);
  if (receivers != 1) {
    return fail(Code::kInvalidInput, "a message has one kind of receiver",
                "send \"to\", \"to_holder_of\" or \"to_everybody\":true");
  }
  service::Messages messages(seat.site, seat.locks.owner());
  LK_ASSIGN(const auto sent, messages.send(command));
  return Answer{200, service::messages_json("sent", sent)};
}

Result<Answer> Rest::messages(const Visit& visit, Seat& seat) {
  service::Messages messages(seat.site, seat.locks.owner());
  const bool sent = visit.target.query.contains("sent");
  const bool all = visit.target.query.contains("all");
  LK_ASSIGN(const auto found, sent ? messages.sent() : messages.list(!all));
  return Answer{200, service::messages_json("messages", found)};
}

Result<Answer> Rest::read_messages(const Visit& visit, Seat& seat) {
  LK_ASSIGN(Body body, Body::parse(visit.request.body));
  service::ReadCommand command{body.texts("ids")};
  LK_CHECK(body.done());
  service::Messages messages(seat.site, seat.locks.owner());
  LK_ASSIGN(const auto read, messages.read(command));
  return Answer{200, service::messages_json("read", read)};
}

Result<Answer> Rest::purge(const Visit& visit, Seat& seat) {
  LK_ASSIGN(Body body, Body::parse(visit.request.body));
  const bool history = body.flag("history");
  LK_CHECK(body.done());
  LK_CHECK(seat.locks.purge(history));
  return Answer{200, {{"purged", true}}};
}

Result<Answer> Rest::whoami(const Visit& visit, Seat& seat) {
  const core::Owner& owner = seat.locks.owner();
  Json json;
  json["name"] = text_or_null(visit.person.name);
  json["agent"] = owner.agent;
  json["session"] = text_or_null(owner.session);
  json["realm"] = seat.realm.name;
  json["roles"] = Json::array();
  for (const Role role : {Role::kRead, Role::kLock, Role::kBreak, Role::kAdmin}) {
    if (visit.person.has(role)) json["roles"].push_back(role_name(role));
  }
  json["draining"] = desk_.draining.load();
  json["version"] = LOCKKEEPER_VERSION;
  return Answer{200, std::move(json)};
}

Result<Answer> Rest::runs(const Visit& visit, Seat& seat) {
  LK_CHECK(visit.person.must_have(Role::kRead));
  const std::string& store = seat.realm.site.realm().store_folder;
  const bool one = visit.target.names.size() == 3;
  LK_ASSIGN(Json json, one ? run_json(store, visit.target.names.back()) : runs_json(store));
  return Answer{200, std::move(json)};
}

}  // namespace lockkeeper::hub
