#include "dialect/coordinator/ports.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/parse.h"
#include "base/sha256.h"
#include "base/text.h"
#include "dialect/coordinator/coordinator.h"
#include "layout/registry.h"
#include "realm/config_schema.h"
#include "realm/identity.h"
#include "service/locks.h"
#include "service/questions.h"

namespace lockkeeper::dialect::coordinator {
namespace {

constexpr std::string_view kKeyPrefix = "port:";
constexpr std::int64_t kTtlMinutesMax = 100 * 366 * 24 * 60;
constexpr std::size_t kSessionBytesMax = 250;  // as stored; below the table's own limit
constexpr std::size_t kProjectDigits = 8;

// A variable of the original, or the setting if it is not set.
Result<std::uint64_t> number_of(const realm::Environment& env, const char* name,
                                std::uint64_t setting, std::uint64_t low, std::uint64_t high) {
  const std::optional<std::string> text = realm::variable(env, name);
  if (!text) return setting;
  const auto value = number_in<std::uint64_t>(*text);
  if (value && *value >= low && *value <= high) return *value;
  return fail(Code::kInvalidConfig,
              std::string(name) + " is " + quote(*text, 60) + ", expected a whole number from " +
                  std::to_string(low) + " to " + std::to_string(high),
              "correct the variable, or unset it");
}

// In a session of the table, '/' would mean a subagent, which shares what its parent holds.
Result<core::Owner> owner_of(const std::string& session) {
  LK_CHECK(realm::check_agent_name(session, "session"));
  const std::string filed = escape_sign(session, '/');
  if (filed.size() > kSessionBytesMax) {
    return fail(Code::kInvalidInput,
                "session " + quote(session, 60) + ": too long ('/' and '%' count three times)",
                "use a short name such as backend-1");
  }
  return core::Owner{std::string(kPortsAgent), filed};
}

std::string session_of(const core::Owner& owner) {
  return unescape_sign(owner.session, '/');
}

Result<std::vector<key::Resource>> ports_from(std::uint64_t first) {
  std::vector<key::Resource> ports;
  for (std::uint64_t port = first; port < first + realm::kPortsOfSession; ++port) {
    // Not parsed: `port:` is not a known prefix, so nobody else can hold these.
    LK_ASSIGN(key::Resource resource,
              key::restore(std::string(kKeyPrefix) + std::to_string(port), key::Kind::kLogical));
    ports.push_back(std::move(resource));
  }
  return ports;
}

// nullopt: not one of our leases.
std::optional<PortAllocation> allocation_of(const core::Lease& lease) {
  if (lease.foreign || lease.owner.agent != kPortsAgent) return std::nullopt;
  if (lease.claims.size() != realm::kPortsOfSession) return std::nullopt;
  PortAllocation ports{session_of(lease.owner), UINT64_MAX, lease.acquired_wall_ms,
                       lease.expires_wall_ms};
  for (const core::Claim& claim : lease.claims) {
    const std::string_view text = claim.resource.text();
    if (!text.starts_with(kKeyPrefix)) return std::nullopt;
    const auto port = number_in<std::uint64_t>(text.substr(kKeyPrefix.size()));
    ports.first = std::min(ports.first, port.value_or(0));
  }
  return ports;
}

// The session's allocation; nullopt if it has none.
Result<std::optional<core::LeaseId>> current(service::Site& table, const core::Owner& owner) {
  LK_ASSIGN(const std::vector<service::ListedLease> own, service::leases_of(table, owner));
  for (const auto& [lease, now] : own) {
    if (!now.over && allocation_of(lease)) return lease.id;
  }
  return std::nullopt;
}

}  // namespace

Result<PortRange> port_range(const realm::Settings& settings, const realm::Environment& env) {
  PortRange range;
  LK_ASSIGN(range.base,
            number_of(env, "PORT_ALLOC_BASE", settings.ports_base.value, realm::kPortLowest,
                      realm::kPortHighest - realm::kPortsOfSession + 1));
  LK_ASSIGN(range.range, number_of(env, "PORT_ALLOC_RANGE", settings.ports_range.value,
                                   realm::kPortsOfSession, realm::kPortHighest));
  LK_ASSIGN(range.sessions, number_of(env, "PORT_ALLOC_MAX_SESSIONS", settings.ports_sessions.value,
                                      1, realm::kPortSessionsMax));
  LK_ASSIGN(const std::uint64_t minutes,
            number_of(env, "PORT_ALLOC_TTL_MINUTES", 0, 1, kTtlMinutesMax));
  range.ttl_ms =
      minutes == 0 ? settings.ports_ttl_ms.value : static_cast<std::int64_t>(minutes) * kMinuteMs;
  const std::uint64_t last =
      range.base + (range.sessions - 1) * range.range + realm::kPortsOfSession - 1;
  if (last > realm::kPortHighest) {
    return fail(Code::kInvalidConfig,
                "ports for " + std::to_string(range.sessions) + " sessions from " +
                    std::to_string(range.base) + " on, " + std::to_string(range.range) +
                    " apart, would go up to " + std::to_string(last) + "; the last port is " +
                    std::to_string(realm::kPortHighest),
                "lower ports.base, ports.range or ports.sessions (or their PORT_ALLOC_ variables)");
  }
  return range;
}

std::string PortAllocation::compose_project_name() const {
  return "ac-" + sha256_hex(session).substr(0, kProjectDigits);
}

std::string PortAllocation::env_snippet() const {
  const auto port = [&](std::uint64_t at) { return std::to_string(first + at); };
  return "export AGENT_COORDINATOR_DB_PORT=" + port(0) +
         "\nexport AGENT_COORDINATOR_REST_PORT=" + port(1) +
         "\nexport AGENT_COORDINATOR_REALTIME_PORT=" + port(2) + "\nexport API_PORT=" + port(3) +
         "\nexport COMPOSE_PROJECT_NAME=" + compose_project_name() +
         "\nexport SUPABASE_URL=http://localhost:" + port(1);
}

bool Ports::may_be_used(std::uint64_t first) const {
  for (std::uint64_t port = first; port < first + realm::kPortsOfSession; ++port) {
    if (may_have_listener_(static_cast<std::uint16_t>(port))) return false;
  }
  return true;
}

// Two concurrent calls for one session are one owner: the second renews what the first got.
Result<std::optional<PortAllocation>> Ports::allocate(const std::string& session,
                                                      const PortRange& range) {
  LK_ASSIGN(const core::Owner owner, owner_of(session));
  service::Locks locks(site_, owner);
  LK_ASSIGN(const std::optional<core::LeaseId> own, current(site_, owner));
  if (own) {
    service::RenewCommand renew;
    renew.lease_ids = {own->text()};
    renew.ttl_ms = range.ttl_ms;
    LK_ASSIGN(const std::vector<core::Lease> renewed, locks.renew(renew));
    return allocation_of(renewed.front());
  }
  for (std::uint64_t slot = 0; slot < range.sessions; ++slot) {
    const std::uint64_t first = range.base + slot * range.range;
    service::CheckCommand check;
    LK_ASSIGN(check.wanted.resources, ports_from(first));
    LK_ASSIGN(const core::CheckReply look, locks.check(check));
    if (!look.free || !may_be_used(first)) continue;
    service::AcquireCommand acquire;
    acquire.wanted = check.wanted;
    acquire.ttl_ms = range.ttl_ms;
    acquire.terms.reason = "ports of a session";
    LK_ASSIGN(const service::AcquireResult result, locks.acquire(acquire));
    if (service::outcome_status(result.outcome) == 0) return allocation_of(result.lease);
  }
  return std::nullopt;
}

Result<bool> Ports::release(const std::string& session) {
  LK_ASSIGN(const core::Owner owner, owner_of(session));
  LK_ASSIGN(const std::optional<core::LeaseId> own, current(site_, owner));
  if (!own) return false;
  service::ReleaseCommand release;
  release.lease_ids = {own->text()};
  LK_CHECK(service::Locks(site_, owner).release(release));
  return true;
}

Result<std::vector<PortAllocation>> Ports::status() {
  std::vector<PortAllocation> all;
  service::ListCommand ours;
  ours.agent = kPortsAgent;
  LK_ASSIGN(const service::ListReply reply,
            service::Locks(site_, {std::string(kPortsAgent), ""}).list(ours));
  for (const service::ListedLease& listed : reply.leases) {
    std::optional<PortAllocation> ports = allocation_of(listed.lease);
    if (ports) all.push_back(std::move(*ports));
  }
  std::ranges::sort(all, {}, &PortAllocation::first);
  return all;
}

Result<std::unique_ptr<service::Site>> machine_site(const service::Runtime& runtime) {
  LK_ASSIGN(realm::Realm realm, realm::machine_realm(runtime.env));
  LK_ASSIGN(realm::Settings settings, layout::load_settings(runtime, realm));
  // The quota is for agents; the number of sessions with ports has its own setting.
  settings.resources_per_agent.value = realm::kResourcesPerAgentMax;
  settings.resources_per_request.value = realm::kResourcesPerRequestMax;
  settings.lease_longest_ms.value = kNoEnd;
  settings.stamp = 0;  // these do not follow the files
  settings.policy.clear();
  settings.protect.clear();
  return std::make_unique<service::Site>(runtime, std::move(realm), std::move(settings));
}

service::Json allocation_json(const PortAllocation& ports) {
  service::Json json;
  constexpr std::array<const char*, realm::kPortsOfSession> kNames = {"db_port", "rest_port",
                                                                      "realtime_port", "api_port"};
  for (std::size_t i = 0; i < kNames.size(); ++i) json[kNames[i]] = ports.first + i;
  json["compose_project_name"] = ports.compose_project_name();
  return json;
}

service::Json allocate_json(const std::optional<PortAllocation>& ports) {
  if (!ports) return {{"success", false}, {"error", "no_ports_available"}};
  return {{"success", true},
          {"session_id", ports->session},
          {"allocation", allocation_json(*ports)},
          {"env_snippet", ports->env_snippet()},
          {"expires_at", format_time(ports->expires_wall_ms)}};
}

service::Json status_json(const PortAllocation& ports, std::int64_t now_wall_ms) {
  const std::int64_t left = std::max<std::int64_t>(0, ports.expires_wall_ms - now_wall_ms);
  return {{"session_id", ports.session},
          {"allocation", allocation_json(ports)},
          {"allocated_at", format_time(ports.allocated_wall_ms)},
          {"expires_at", format_time(ports.expires_wall_ms)},
          {"remaining_ttl_minutes", (left + kMinuteMs - 1) / kMinuteMs}};
}

}  // namespace lockkeeper::dialect::coordinator
