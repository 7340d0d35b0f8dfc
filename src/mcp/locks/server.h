// The lock tools: five for any agent, over the realm's one table, and those of other protocols.
// docs/mcp.md tells people.
//
// Leases are bound to this process with a grace (rule 8): a server that is started again with the
// same session has them back (Reclaim).
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <string>
#include <vector>

#include "mcp/catalogue.h"
#include "mcp/locks/dialects.h"
#include "mcp/locks/ownership.h"
#include "mcp/locks/reclaim.h"
#include "mcp/locks/waiting_room.h"
#include "mcp/locks/words.h"
#include "service/locks.h"

namespace lockkeeper::mcp {

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

  // What it offers; the functions in it use this object. Without `watch`: see LockWatch.
  Catalogue catalogue();

  // Takes back what an earlier server of this session has left behind.
  void begin();

  // The table as anybody sees it.
  service::Locks reader() const { return service::Locks(site_, ownership_.reader()); }

 private:
  using Tell = Said (LockServer::*)(const core::Owner&, Call&, const Json& arguments);
  Tool with(Tool tool, Tell tell);
  Answer serve(Tell tell, Call& call, const Json& arguments);
  Said acquire(const core::Owner& owner, Call& call, const Json& arguments);
  Said release(const core::Owner& owner, Call& call, const Json& arguments);
  Said renew(const core::Owner& owner, Call& call, const Json& arguments);
  Said status(const core::Owner& owner, Call& call, const Json& arguments);
  Said message(const core::Owner& owner, Call& call, const Json& arguments);

  Result<WaitRequest> request_of(const core::Owner& owner, const Json& arguments);
  Result<WaitingRoom::Waited> ask(service::Locks& locks, WaitRequest& request, std::int64_t wait_ms,
                                  Call& call);
  Said acquired(service::Locks& locks, WaitRequest& request, std::int64_t wait_ms, Call& call);
  Said refused(const service::AcquireResult& result) const;
  Said granted(const service::AcquireResult& result) const;
  Said everything(const core::Owner& owner);
  Said each_of(const core::Owner& owner, const service::Wanted& wanted);
  Said send(const core::Owner& owner, const Json& arguments);
  Said read(const core::Owner& owner);
  void add_mail(const core::Owner& owner, Said& said);
  void add_mail(service::Locks& locks, Said& said);
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

}  // namespace lockkeeper::mcp
