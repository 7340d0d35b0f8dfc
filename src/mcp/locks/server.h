// The lock tools: five for any agent, over the realm's one table, and those of other protocols. See
// docs/mcp.md.
//
// Leases are bound to this process with a grace: a server that is restarted with the same session
// takes them back (Reclaim).
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <string>
#include <vector>

#include "mcp/catalogue.h"
#include "mcp/locks/dialects.h"
#include "mcp/locks/ownership.h"
#include "mcp/locks/reclaim.h"
#include "mcp/locks/tool_text.h"
#include "mcp/locks/waiting_room.h"
#include "service/locks.h"

namespace lockkeeper::mcp::locks {

inline constexpr std::int64_t kWaitMostMs = 45'000;  // clients give up after 60 s

struct LockServerOptions {
  Caller caller;
  service::ParentLease under;
  std::vector<std::string> dialects;  // REQUIRES: check_dialects() has passed them
  std::string version;
};

class LockServer {
 public:
  // `table` must outlive it.
  LockServer(service::Site& table, LockServerOptions options);

  // What the server offers; its functions use this object. It has no `watch`: see LockWatch.
  Catalogue catalogue();

  // Takes back what an earlier server of this session has left behind.
  void begin();

  // The table as anybody sees it.
  service::Locks reader() const { return service::Locks(site_, ownership_.reader()); }

 private:
  using Tell = Result<ToolText> (LockServer::*)(const core::Owner&, Call&, const Json& arguments);
  Tool with(Tool tool, Tell tell);
  Answer serve(Tell tell, Call& call, const Json& arguments);
  Result<ToolText> acquire(const core::Owner& owner, Call& call, const Json& arguments);
  Result<ToolText> release(const core::Owner& owner, Call& call, const Json& arguments);
  Result<ToolText> renew(const core::Owner& owner, Call& call, const Json& arguments);
  Result<ToolText> status(const core::Owner& owner, Call& call, const Json& arguments);
  Result<ToolText> message(const core::Owner& owner, Call& call, const Json& arguments);

  Result<WaitRequest> request_of(const core::Owner& owner, const Json& arguments);
  Result<WaitingRoom::Waited> ask(service::Locks& locks, WaitRequest& request, std::int64_t wait_ms,
                                  Call& call);
  ToolText acquired(service::Locks& locks, WaitRequest& request, std::int64_t wait_ms, Call& call);
  ToolText refused(const service::AcquireResult& result) const;
  ToolText granted(const service::AcquireResult& result) const;
  Result<ToolText> everything(const core::Owner& owner);
  Result<ToolText> each_of(const core::Owner& owner, const service::Wanted& wanted);
  Result<ToolText> send(const core::Owner& owner, const Json& arguments);
  Result<ToolText> read(const core::Owner& owner);
  void add_messages(const core::Owner& owner, ToolText& out);
  void add_messages(service::Locks& locks, ToolText& out);
  Result<std::vector<std::string>> canonical(const service::Wanted& wanted) const;
  service::Locks locks_of(const core::Owner& owner) const;
  std::int64_t now_wall_ms() const { return site_.runtime().clock->now().wall_ms; }

  service::Site& site_;
  const LockServerOptions options_;
  const Ownership ownership_;
  WaitingRoom waiting_;
  Reclaim reclaim_;
  Dialects dialects_;
};

}  // namespace lockkeeper::mcp::locks
