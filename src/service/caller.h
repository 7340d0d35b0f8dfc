// Who calls the lock service, and what the reply is to bring along.
#pragma once

#include <cstdint>
#include <string>

#include "core/types.h"

namespace lockkeeper::service {

// The lease under which a caller works (LOCKKEEPER_LEASE and LOCKKEEPER_FENCE); empty if none.
struct ParentLease {
  core::LeaseId lease;
  std::uint64_t fence = 0;
};

// What the reply is to bring along for the caller. Whatever it brings counts as told.
struct Tell {
  bool losses = false;    // leases that the owner lost
  bool messages = false;  // messages to the owner
  bool waiting = false;   // requests of others that wait for what the owner holds
  bool any() const { return losses || messages || waiting; }
};

struct Caller {
  core::Owner owner;
  ParentLease parent;
  Tell tell;
  // For calls that change something. Repeating a call with the same id gives the same answer and
  // changes nothing. invalid_input: the id was used for a different call. Empty: no such promise.
  std::string request_id;
};

}  // namespace lockkeeper::service
