// Requests to the table and its replies: plain data.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/conflicts.h"
#include "core/deadlock.h"
#include "core/types.h"

namespace lockkeeper::core {

struct AcquireRequest {
  Owner owner;
  std::vector<Claim> claims;
  Terms terms;
  Attachment attachment;  // of the lease, once granted (and confirmed)
  LeaseId under;          // the lease it works under (rule 11), with its fence
  std::uint64_t under_fence = 0;
  bool anew = false;  // a new lease with its own terms, even if the owner holds exactly this
  bool wait = false;
  Attachment waiting_process;  // REQUIRED with `wait`: waiters are attached
  std::uint64_t wake = 0;
};

// The outcome of a request so far. The table answers with the first five. A caller that waits may
// also run out of time or be told to stop.
enum class Outcome : std::uint8_t {
  kGranted,
  kRenewed,
  kHeld,
  kQueued,
  kDeadlock,
  kTimeout,
  kInterrupted,
};

struct AcquireReply {
  Outcome outcome = Outcome::kHeld;
  Lease lease;                      // granted, renewed; queued: the request with its id
  std::vector<Conflict> conflicts;  // held, queued, deadlock
  std::vector<CycleStep> cycle;     // deadlock
  std::size_t position = 0;         // queued: how many requests stand before it, plus one
  std::string reason_before;        // renewed: the reason that the request's own has replaced
  bool replayed = false;            // a request with this id came before
  bool existed_before = false;      // and its lease was granted and confirmed
  bool again = false;               // not decided yet: commit what was ended, then ask again
  void stamp(kv::Version version);
};

struct ReleaseReply {
  std::vector<std::string> released;
  // Of those: what was over already, and why. Nobody has taken it since, or it would be gone.
  std::vector<std::pair<std::string, std::string>> ended_before;
  std::vector<std::string> not_held;
  std::vector<std::pair<std::string, Owner>> not_owner;
  // Of what is not held: the owner's own claim that covers it. It is released by that name.
  std::vector<std::pair<std::string, std::string>> covered;
  bool again = false;  // more to do than one commit takes: commit, then call again
  std::size_t size() const { return released.size() + not_held.size() + not_owner.size(); }
};

struct CheckReply {
  bool free = false;           // nothing of another owner conflicts with it
  bool mine = false;           // leases on its side (rule 11) cover all of it in sufficient mode
  bool fence_current = false;  // a live lease with the given fence covers all of it
  std::vector<Conflict> conflicts;
};

struct BreakRequest {
  Owner by;
  std::string reason;
  bool only_expired = false;
  bool only_dead = false;
  std::string cause = {};  // one word for the history; empty: the reason is enough
};

}  // namespace lockkeeper::core
