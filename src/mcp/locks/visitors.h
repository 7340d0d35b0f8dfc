// The clients of an HTTP server, each with a slot of its own in the table. A client's leases are
// bound to its slot, so they live as long as the client is there, and their grace begins when it is
// gone, as with a process. A client that has a server of its own (stdio) uses the process's slot.
//
// Thread safety: all methods may be called from any thread.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "host/live_slots.h"
#include "service/site.h"

namespace lockkeeper::mcp::locks {

class Visitors {
 public:
  // `table` must outlive it.
  explicit Visitors(service::Site& table) : site_(table) {}

  // Where the leases of this client are bound; "": the process. A client that was gone gets a new
  // slot.
  Result<core::Attachment> slot_of(const std::string& visitor);
  // Its slot ends. Returns it, for what was bound to it; none if it had none.
  core::Attachment leave(const std::string& visitor);

 private:
  service::Site& site_;
  std::mutex mutex_;  // protects what is below
  std::map<std::string, host::LiveSlot> slots_;
};

}  // namespace lockkeeper::mcp::locks
