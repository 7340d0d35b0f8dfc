// What you can ask about locks without taking one: the arguments and answers of Realm::check(),
// list(), renew() and break_lease().
//
// Thread safety: plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockkeeper/acquire.h"

namespace lockkeeper {

struct CheckOptions {
  Mode mode = Mode::kExclusive;
  std::uint64_t fence = 0;  // answered by fence_current; 0: none
};

struct CheckResult {
  bool free = false;                // nothing that other owners hold is in the way
  bool mine = false;                // leases of this owner cover all of it, in a sufficient mode
  bool fence_current = false;       // a lease of yours with that fence covers all of it now
  std::vector<Conflict> conflicts;  // what is in the way; empty if free
};

struct Claim {
  std::string resource;  // in canonical form
  Mode mode = Mode::kExclusive;
  friend bool operator==(const Claim&, const Claim&) = default;
};

// A lease of any owner, as it was when the store was read. To hold one, see Lease.
struct LeaseInfo {
  std::string id;
  std::string agent;
  std::string session;  // empty: none
  std::vector<Claim> claims;
  std::uint64_t fence = 0;  // 0: another tool's lock, which has no fence
  std::string reason;
  std::string task;
  std::optional<std::chrono::milliseconds> ttl = std::nullopt;  // nullopt: it never ends by time
  std::chrono::system_clock::time_point since = {};
  std::optional<std::chrono::system_clock::time_point> until = std::nullopt;  // nullopt: no end
  Alive alive = Alive::kUnknown;  // the holder's process; kUnknown also if it is bound to none
};

// A request in the queue.
struct WaiterInfo {
  std::string id;  // its lease will have the same id
  std::string agent;
  std::string session;  // empty: none
  std::vector<Claim> claims;
  std::string reason;
  std::string task;
  std::chrono::system_clock::time_point since = {};
  std::string waits_for;  // the id of a lease or waiter that is in its way
};

struct ListOptions {
  std::string agent = {};        // only what this agent holds or waits for
  std::string task = {};         // only what has this label
  std::string overlapping = {};  // only what overlaps this path, pattern or key
};

struct Listing {
  std::vector<LeaseInfo> leases;
  std::vector<WaiterInfo> waiters;
};

struct RenewOptions {
  // A lease is never shortened. nullopt: each lease keeps its ttl. kForever: it never ends by time.
  std::optional<std::chrono::milliseconds> ttl = std::nullopt;
  std::vector<std::string> lease_ids = {};  // renew these, too
  bool all = false;                         // renew every lease of this owner
};

}  // namespace lockkeeper
