// How leases, waiters, claims and events are written into rows. Each pair of functions writes and
// reads the same fields in the same order; a first byte names the format, so that a later format
// can be told apart. Anything that cannot be read back whole is store_corrupt (I10).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/rows.h"
#include "core/types.h"

namespace lockkeeper::core {

std::string encode_lease(const Lease& lease);
Result<Lease> decode_lease(const LeaseId& id, std::string_view value, kv::Version created);

std::string encode_waiter(const Waiter& waiter);
Result<Waiter> decode_waiter(const LeaseId& id, std::string_view value, kv::Version created);

// Where an ended lease is still shown.
std::string encode_shown(const std::vector<std::string>& shown);
Result<std::vector<std::string>> decode_shown(std::string_view value);

// A claim row's value: what is claimed. Its mode and holder are in the key.
std::string encode_claim(const key::Resource& resource);
Result<key::Resource> decode_claim(std::string_view value);

// A request id's row.
struct RememberedRequest {
  std::string request_id;
  std::uint64_t arguments = 0;  // digest of what was asked
  LeaseId lease;
};
std::string encode_request(const RememberedRequest& request);
Result<RememberedRequest> decode_request(std::string_view value);

// A lease that ended against its holder's will, kept so that the holder can be told.
struct LostLease {
  LeaseId id;
  Owner owner;
  std::vector<std::string> resources;
  std::string cause;
  std::string reason;
  Owner by;
  std::uint64_t fence = 0;
  std::int64_t at_wall_ms = 0;
  bool told = false;
};
std::string encode_lost(const LostLease& lost);
Result<LostLease> decode_lost(const LeaseId& id, std::string_view value);

// One line of the realm's history. `fence` is absolute, or 0 with `fence_is_version`: then it is
// the version of the commit that wrote the event plus `fence_offset`.
struct Event {
  std::uint64_t seq = 0;  // version × kEventsPerVersion + index; only when read
  std::string what;       // granted renewed released expired broken orphaned …
  std::int64_t at_wall_ms = 0;
  Owner owner;
  std::vector<std::string> resources;
  LeaseId lease;
  std::uint64_t fence = 0;
  bool fence_is_version = false;
  std::int64_t fence_offset = 0;
  std::string cause;
  std::string reason;
  Owner by;  // who did it, if not the owner
  std::string task;
};
inline constexpr std::uint64_t kEventsPerVersion = 4096;
std::string encode_event(const Event& event);
Result<Event> decode_event(std::string_view key, std::string_view value);

}  // namespace lockkeeper::core
