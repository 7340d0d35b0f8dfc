// The clients of an HTTP server, each with a slot of its own in the table. A client's leases are
// bound to its slot, so they live as long as the client is there, and their grace begins when it is
// gone, as with a process. A client that has a server of its own (stdio) uses the process's slot.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "host/live_slots.h"
#include "service/locks.h"

namespace lockkeeper::mcp::locks {

class Visitors {
 public:
  // `table` must outlive it.
  explicit Visitors(service::Site& table) : site_(table) {}

  // Where the leases of this client are bound; "": the process. A client that was gone gets a new
  // slot.
  Result<core::Attachment> slot_of(const std::string& visitor);
  // What it has now: one, or none.
  std::vector<core::Attachment> slot_now(const std::string& visitor) const;
  // All that leases may be bound to.
  std::vector<core::Attachment> slots() const;
  // Gives back every lease that is bound to one of these, as far as it is. Returns them.
  Result<std::vector<core::Lease>> give_back(const std::vector<core::Attachment>& slots);
  // Its slot ends, if it has one.
  void leave(const std::string& visitor);

 private:
  service::Site& site_;
  mutable std::mutex mutex_;  // protects what is below
  core::Attachment own_;      // the process's, once somebody has used it
  std::map<std::string, host::LiveSlot> slots_;
};

}  // namespace lockkeeper::mcp::locks
