// Rebinds leases that an earlier server of the same session left behind to this process, within
// their grace: a client that restarts its server keeps what it held.
//
// Thread safety: all methods may be called from any thread.
#pragma once

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

  // Takes back what this owner's earlier processes held; checks at most every few seconds. Best
  // effort: what fails now is tried again at the next call, or reported as lost.
  void for_owner(const core::Owner& owner);
  // The same for all owners of a session, at the start of a server.
  void for_session(const std::string& session);

  // At once: ends what is due, takes back, and returns what the owner lost and was not told yet.
  Result<std::vector<core::LostLease>> settle(const core::Owner& owner);

 private:
  bool looked_lately(const core::Owner& owner);

  service::Site& site_;
  std::mutex mutex_;  // protects what is below
  std::map<std::pair<std::string, std::string>, std::int64_t> looked_ms_;
};

}  // namespace lockkeeper::mcp::locks
