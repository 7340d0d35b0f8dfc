// MCP as one of the hub's endpoints, at /mcp. Each person has a server of its own in each realm:
// the tools of `lockkeeper mcp`, through that person's door.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "hub/visit.h"
#include "mcp/pool.h"

namespace lockkeeper::hub {

class McpRooms {
 public:
  // All must outlive it.
  McpRooms(Desk& desk, HubRealms& realms, mcp::Pool& pool, std::string version);
  ~McpRooms();
  McpRooms(const McpRooms&) = delete;
  McpRooms& operator=(const McpRooms&) = delete;

  void handle(const Visit& visit);
  // Call about once a second.
  void sweep();
  void close();

 private:
  struct Room;
  Result<Room*> room_of(const Visit& visit);

  Desk& desk_;
  HubRealms& realms_;
  mcp::Pool& pool_;
  const std::string version_;
  std::mutex mutex_;  // protects what is below
  std::map<std::string, std::unique_ptr<Room>> rooms_;
};

}  // namespace lockkeeper::hub
