// The lock tools: five for any agent, over the realm's one table, and those of other protocols. See
// docs/mcp.md.
//
// Leases are bound to this process with a grace, or to the HTTP client that took them (Visitors): a
// server that is restarted with the same session, or a client that is back, takes them back
// (Reclaim).
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mcp/catalogue.h"
#include "mcp/locks/dialects.h"
#include "mcp/locks/ownership.h"
#include "mcp/locks/reclaim.h"
#include "mcp/locks/silence.h"
#include "mcp/locks/tool_text.h"
#include "mcp/locks/visitors.h"
#include "mcp/locks/waiting_room.h"
#include "service/locks.h"

namespace lockkeeper::mcp::locks {

struct LockServerOptions {
  Caller caller;
  service::ParentLease under;
  std::vector<std::string> dialects;  // REQUIRES: check_dialects() has passed them
  std::string version;
  std::string folder = {};  // where the client works, absolute; empty: unknown
};

class LockServer {
 public:
  // `silent` is called when a hub has become silent (Silence), from a thread of its own. All must
  // outlive it.
  LockServer(service::Site& table, LockServerOptions options, std::function<void()> silent = [] {});

  // What the server offers; its functions use this object. It has no `watch`: see LockWatch.
  Catalogue catalogue();

  // Takes back what an earlier server of this session has left behind.
  void begin();

  // An HTTP client is there again; and it is gone: its leases' grace begins, or, if it said so
  // itself (`orderly`), they end.
  void arrived(const std::string& visitor);
  void gone(const std::string& visitor, bool orderly);

  // The table as anybody sees it.
  service::Locks reader() const { return service::Locks(site_, ownership_.reader()); }

 private:
  // One call: who asks, and where its leases are bound.
  struct Asker {
    core::Owner owner;
    core::Attachment slot;
    service::Locks locks;
  };
  using Tell = Result<ToolText> (LockServer::*)(Asker&, Call&, const Json& arguments);
  Tool with(Tool tool, Tell tell);
  Result<core::Owner> owner_of(const Call& call, const Json& arguments) const;
  Answer serve(Tell tell, Call& call, const Json& arguments);
  Result<ToolText> acquire(Asker& asker, Call& call, const Json& arguments);
  Result<ToolText> release(Asker& asker, Call& call, const Json& arguments);
  Result<ToolText> renew(Asker& asker, Call& call, const Json& arguments);
  Result<ToolText> status(Asker& asker, Call& call, const Json& arguments);
  Result<ToolText> message(Asker& asker, Call& call, const Json& arguments);

  WaitRequest request_of(const Asker& asker, const Json& arguments) const;
  Result<WaitingRoom::Waited> ask(service::Locks& locks, WaitRequest& request, std::int64_t wait_ms,
                                  Call& call);
  ToolText acquired(Asker& asker, WaitRequest& request, std::int64_t wait_ms, Call& call);
  ToolText queued(const core::Owner& owner, const WaitingRoom::Waited& waited) const;
  ToolText refused(const WaitRequest& request, const service::AcquireResult& result) const;
  ToolText granted(const service::AcquireResult& result) const;
  ToolText released(Asker& asker, const core::ReleaseReply& reply,
                    const std::vector<std::string>& left);
  std::string held_by_subagents(Asker& asker);
  Result<ToolText> everything(Asker& asker);
  Result<ToolText> each_of(Asker& asker, const service::Wanted& wanted);
  Result<ToolText> send(Asker& asker, const Json& arguments);
  Result<ToolText> read(Asker& asker);
  void add_grants(const core::Owner& owner, ToolText& out);
  void add_notices(Asker& asker, bool waited, ToolText& out);
  Result<std::vector<std::string>> canonical(const service::Wanted& wanted) const;
  Result<std::vector<std::string>> check_places(const service::Wanted& wanted) const;
  service::Locks locks_of(const core::Owner& owner) const;
  std::int64_t now_wall_ms() const { return site_.runtime().clock->now().wall_ms; }

  service::Site& site_;
  const LockServerOptions options_;
  const Ownership ownership_;
  Visitors visitors_;
  WaitingRoom waiting_;
  Reclaim reclaim_;
  Dialects dialects_;
  Silence silence_;
};

}  // namespace lockkeeper::mcp::locks
