// Rebinds leases that an earlier server of the same session left behind to this process, within
// their grace: a client that restarts its server keeps what it held.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "service/locks.h"

namespace lockkeeper::mcp::locks {

class Reclaim {
 public:
  // `table` must outlive it.
  explicit Reclaim(service::Site& table) : site_(table) {}

  // Where to bind leases; asked for only if there is something to bind.
  using Slot = std::function<Result<core::Attachment>()>;

  // Binds what this owner's earlier processes held to the slot; checks at most every few seconds.
  // Best effort: what fails now is tried again at the next call, or reported as lost.
  void for_owner(const core::Owner& owner, const Slot& slot);
  // The same at once for all owners of a session and of its parts, when a server starts or a client
  // is back.
  void for_session(const std::string& session, const Slot& slot);

  // At once: ends what is due, takes back, and returns what the owner lost and was not told yet.
  Result<std::vector<core::LostLease>> settle(const core::Owner& owner,
                                              const core::Attachment& slot);

 private:
  bool looked_lately(const core::Owner& owner);
  void take_back(const core::Owner& owner, const Slot& slot);

  service::Site& site_;
  std::mutex mutex_;  // protects what is below
  std::map<std::pair<std::string, std::string>, std::int64_t> looked_ms_;
};

}  // namespace lockkeeper::mcp::locks
