// The lock tools: five for any agent, over the realm's one table. docs/mcp.md tells people.
//
// Ownership is never the connection's: subagents share it. Agent and session are arguments of every
// tool; where they are not given, they are those of the client's environment, or those that a
// client puts into a call's `_meta`.
//
// Leases are bound to this process with a grace (rule 8): a server that is started again with the
// same session has them back.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <string>

#include "mcp/catalogue.h"
#include "mcp/locks/waiting_room.h"
#include "service/locks.h"

namespace lockkeeper::mcp {

inline constexpr std::int64_t kWaitMostMs = 45'000;  // clients give up after 60 s
inline constexpr std::int64_t kOrphanGraceMs = 30'000;

class LockServer {
 public:
  // `table` must outlive it. `who`: for calls that say nothing else.
  LockServer(service::LockTable& table, service::Identity who, service::Under under,
             std::string version);

  // What it offers; the functions in it use this object.
  Catalogue catalogue();

 private:
  Answer acquire(Call& call, const Json& arguments);
  Answer release(Call& call, const Json& arguments);
  Answer renew(Call& call, const Json& arguments);
  Answer status(Call& call, const Json& arguments);
  Answer everything(service::Locks& locks);
  Answer each_of(service::Locks& locks, const std::vector<std::string>& wanted);
  Answer message(Call& call, const Json& arguments);

  Result<core::Owner> owner_of(const Call& call, const Json& arguments) const;
  service::Locks locks_of(core::Owner owner);
  std::int64_t now_wall_ms() const { return table_.runtime().clock->now().wall_ms; }

  service::LockTable& table_;
  const service::Identity who_;
  const service::Under under_;
  const std::string version_;
  WaitingRoom waiting_;
};

}  // namespace lockkeeper::mcp
