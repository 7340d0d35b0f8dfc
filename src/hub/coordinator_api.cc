#include "hub/coordinator_api.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "dialect/coordinator/coordinator.h"
#include "dialect/coordinator/ports.h"
#include "host/listener.h"

namespace lockkeeper::hub {
namespace {

namespace coordinator = dialect::coordinator;

constexpr std::int64_t kTtlMinutes = 30;  // of its HTTP API; its other doors have 120

// A refusal is an answer, except for what the caller may not do.
template <class Outcome>
Answer told(const Outcome& result) {
  const bool forbidden = result.error && (result.error->code == Code::kOperationNotPermitted);
  return {forbidden ? 403 : 200, coordinator::to_json(result)};
}

// Each person has sessions of its own.
std::string session_of(const Person& person, const std::string& session) {
  return person.name.empty() ? session : session + "@" + person.name;
}

}  // namespace

bool CoordinatorApi::has(const http::Target& target) {
  return target.names.size() > 1 && (target.names[0] == "locks" || target.names[0] == "ports");
}

Result<Answer> CoordinatorApi::answer(const Visit& visit) {
  const std::string& method = visit.request.method;
  const bool about_locks = visit.target.names[0] == "locks";
  if (!about_locks) return ports(visit);
  if (visit.is("POST", {"locks", "acquire"})) return acquire(visit);
  if (visit.is("POST", {"locks", "release"})) return release(visit);
  if (method == "GET" && visit.target.names[1] == "status") return status(visit);
  if (method == "DELETE") return force_release(visit);
  return fail(Code::kNotFound, method + " " + visit.request.target + " is not an operation here",
              "see docs/dialects/coordinator.md");
}

Result<std::unique_ptr<Seat>> CoordinatorApi::seat(const Visit& visit, const std::string& agent) {
  LK_ASSIGN(HubRealm* const realm, realms_.find(visit.target.value("realm"), visit.person));
  return Seat::take(desk_, *realm, visit.person, {agent, ""});
}

Result<Answer> CoordinatorApi::acquire(const Visit& visit) {
  LK_ASSIGN(Body body, Body::parse(visit.request.body));
  coordinator::AcquireLock wanted;
  wanted.file_path = body.text("file_path").value_or("");
  wanted.reason = body.text("reason").value_or("");
  const std::string agent = body.text("agent_id").value_or("");
  const std::string type = body.text("agent_type").value_or("");
  body.text("session_id");  // a release names only the agent, so that is who holds it
  const auto ttl = body.number("ttl_minutes");
  LK_CHECK(body.done());
  wanted.ttl_minutes =
      ttl ? static_cast<std::int64_t>(std::min<std::uint64_t>(*ttl, 1'000'000)) : kTtlMinutes;
  LK_ASSIGN(const auto here, seat(visit, agent));
  coordinator::Coordinator locks(here->locks,
                                 type.empty() ? std::string(coordinator::kAgentTypeDefault) : type);
  return told(locks.acquire_lock(wanted));
}

Result<Answer> CoordinatorApi::release(const Visit& visit) {
  LK_ASSIGN(Body body, Body::parse(visit.request.body));
  const std::string path = body.text("file_path").value_or("");
  const std::string agent = body.text("agent_id").value_or("");
  body.text("agent_type");
  LK_CHECK(body.done());
  LK_ASSIGN(const auto here, seat(visit, agent));
  coordinator::Coordinator locks(here->locks, std::string(coordinator::kAgentTypeDefault));
  return told(locks.release_lock(path));
}

Result<Answer> CoordinatorApi::status(const Visit& visit) {
  const std::string path = visit.target.rest(2);
  LK_ASSIGN(const auto here, seat(visit, "http"));
  coordinator::Coordinator locks(here->locks, std::string(coordinator::kAgentTypeDefault));
  const coordinator::CheckResult found = locks.check_locks(std::vector{path});
  if (found.error) return fail(*found.error);
  Json json{{"locked", !found.locks.empty()}, {"file_path", path}};
  if (!found.locks.empty()) json["lock"] = coordinator::to_json(found.locks.front());
  return Answer{200, std::move(json)};
}

Result<Answer> CoordinatorApi::force_release(const Visit& visit) {
  const std::string path = visit.target.rest(1);
  LK_ASSIGN(const auto here, seat(visit, "http"));
  service::BreakCommand command;
  command.wanted = Seat::wanted({path});
  command.reason = "force release through the coordinator's API";
  const auto broken = here->locks.break_leases(command);
  Json json{
      {"released", false}, {"prior_holder_agent_id", nullptr}, {"prior_acquired_at", nullptr}};
  if (!broken && broken.error().code == Code::kNotFound) return Answer{200, std::move(json)};
  if (!broken) return fail(broken.error());
  json["released"] = true;
  json["prior_holder_agent_id"] = broken->front().owner.agent;
  json["prior_acquired_at"] = time_or_null(broken->front().acquired_wall_ms);
  return Answer{200, std::move(json)};
}

// Ports of the hub's own machine.
Result<Answer> CoordinatorApi::ports(const Visit& visit) {
  LK_ASSIGN(const auto machine, coordinator::machine_site(runtime_));
  coordinator::Ports ports(*machine, host::may_have_listener);
  if (visit.is("GET", {"ports", "status"})) {
    LK_CHECK(visit.person.must_have(Role::kRead));
    LK_ASSIGN(const auto all, ports.status());
    Json json = Json::array();
    for (const coordinator::PortAllocation& each : all) {
      json.push_back(coordinator::status_json(each, runtime_.clock->now().wall_ms));
    }
    return Answer{200, std::move(json)};
  }
  LK_CHECK(visit.person.must_have(Role::kLock));
  const bool allocates = visit.is("POST", {"ports", "allocate"});
  if (!allocates && !visit.is("POST", {"ports", "release"})) {
    return fail(Code::kNotFound, "there is no such operation on ports",
                "see docs/dialects/coordinator.md");
  }
  LK_ASSIGN(Body body, Body::parse(visit.request.body));
  const std::string session = body.text("session_id").value_or("");
  LK_CHECK(body.done());
  if (!allocates) {
    LK_CHECK(ports.release(session_of(visit.person, session)));
    return Answer{200, {{"success", true}}};
  }
  LK_ASSIGN(const coordinator::PortRange range,
            coordinator::port_range(machine->settings(), runtime_.env));
  LK_ASSIGN(auto given, ports.allocate(session_of(visit.person, session), range));
  if (given) given->session = session;
  return Answer{200, coordinator::allocate_json(given)};
}

}  // namespace lockkeeper::hub
