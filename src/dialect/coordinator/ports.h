// Ports for the services that one session starts: the coordinator's allocate_ports. Each session
// gets a slot of four adjacent ports (database, REST, realtime, API), always the lowest free one.
//
// An allocation is an ordinary lease in the machine realm, on one key `port:N` per port. So no two
// processes of the user get the same port, whatever their repositories and settings; it ends by its
// ttl, and is in `list` and in the history. Against other users and programs that do not allocate,
// a slot is given only if nobody listens on its ports.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "service/report.h"
#include "service/site.h"

namespace lockkeeper::dialect::coordinator {

// The owner of every allocation; its session is the one that has the ports.
inline constexpr std::string_view kPortsAgent = "lockkeeper-ports";

struct PortRange {
  std::uint64_t base = 0;
  std::uint64_t range = 0;  // between the first ports of two slots
  std::uint64_t sessions = 0;
  std::int64_t ttl_ms = 0;
};

// PORT_ALLOC_BASE, PORT_ALLOC_RANGE, PORT_ALLOC_MAX_SESSIONS and PORT_ALLOC_TTL_MINUTES, or the
// settings. invalid_config if a value is out of bounds or the last slot is beyond port 65535.
Result<PortRange> port_range(const realm::Settings& settings, const realm::Environment& env);

struct PortAllocation {
  std::string session;
  std::uint64_t first = 0;  // db; then rest, realtime, api
  std::int64_t allocated_wall_ms = 0;
  std::int64_t expires_wall_ms = 0;
  std::string compose_project_name() const;  // "ac-" and eight digits of the session's SHA-256
  // Lines of shell that export the ports under the original's names.
  std::string env_snippet() const;
};

class Ports {
 public:
  // `machine` must outlive it. Tests replace host::may_have_listener.
  Ports(service::Site& machine, std::function<bool(std::uint16_t)> may_have_listener)
      : site_(machine), may_have_listener_(std::move(may_have_listener)) {}

  // The session's ports, with a full ttl from now on. Keeps ports that it has already, of any
  // range. nullopt: no_ports_available. invalid_input: a bad session name.
  Result<std::optional<PortAllocation>> allocate(const std::string& session,
                                                 const PortRange& range);
  // False: it had none.
  Result<bool> release(const std::string& session);
  // All allocations, in the order of their ports; creates nothing.
  Result<std::vector<PortAllocation>> status();

 private:
  bool may_be_used(std::uint64_t first) const;  // nobody listens on the four ports

  service::Site& site_;
  const std::function<bool(std::uint16_t)> may_have_listener_;
};

// The machine realm, with room for the ports of every session. Opens no store yet.
Result<std::unique_ptr<service::Site>> machine_site(const service::Runtime& runtime);

// {"db_port","rest_port","realtime_port","api_port","compose_project_name"}
service::Json allocation_json(const PortAllocation& ports);
// allocate_ports: {"success","session_id","allocation","env_snippet","expires_at"}, or success
// false with "error": "no_ports_available".
service::Json allocate_json(const std::optional<PortAllocation>& ports);
// One entry of ports_status, with "remaining_ttl_minutes".
service::Json status_json(const PortAllocation& ports, std::int64_t now_wall_ms);

}  // namespace lockkeeper::dialect::coordinator
