// The hub: one lock server for containers and machines, over HTTP.
//
//   GET  /  /page/…                 page.h
//   POST /v1/login                  visitors.h
//   GET  /healthz  /readyz          does it run; does it take requests
//   GET  /metrics                   metrics.h
//        /v1/…                      rest.h
//        /mcp                       mcp_rooms.h
//        /locks/…  /ports/…         coordinator_api.h
//        /lfs/REALM/locks…          lfs.h
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "hub/coordinator_api.h"
#include "hub/feed.h"
#include "hub/hub_realms.h"
#include "hub/lfs.h"
#include "hub/mcp_rooms.h"
#include "hub/people/tokens.h"
#include "hub/rest.h"
#include "hub/visitors.h"
#include "mcp/pool.h"

namespace lockkeeper::hub {

class Hub {
 public:
  // `tokens` null: everybody is welcome, without a name and with every role. All must outlive it.
  // `desk` must be what the realms' runtime asks about remote clients.
  Hub(Desk& desk, HubRealms& realms, Tokens* tokens, const service::Runtime& runtime,
      std::string version);
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  // May it pass? Reads only the headers.
  bool admits(const http::Request& request) const;
  // Blocks for no longer than a quick table's call takes (Pace).
  void handle(const http::Request& request, const std::shared_ptr<http::Reply>& reply);
  // Once a second: what has changed outside. invalid_config: the token file; the old ones stay.
  Result<void> every_second();
  // Answers everybody that waits, and ends the streams. Places in queues stay.
  void close();

  // For /metrics.
  void count_connections(std::function<std::size_t()> connections) {
    connections_ = std::move(connections);
  }

 private:
  std::optional<Person> person_of(const http::Request& request) const;
  void take_turn(Visit visit);
  void route(const Visit& visit);
  void log_in(const http::Request& request, http::Reply& reply);
  void ready(http::Reply& reply);
  void metrics(const Visit& visit);
  Gauges gauges();

  Desk& desk_;
  HubRealms& realms_;
  Tokens* const tokens_;
  Visitors visitors_;
  std::function<std::size_t()> connections_ = [] { return std::size_t{0}; };
  Feed feed_;
  Rest rest_;
  CoordinatorApi coordinator_;
  Lfs lfs_;
  McpRooms mcp_;
  mcp::Pool pool_;  // ends first: its calls use all above
};

}  // namespace lockkeeper::hub
