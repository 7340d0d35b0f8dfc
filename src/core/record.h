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

// How something ended, or what else happened to it, as the history tells it.
struct EndedBy {
  std::string event;  // released expired broken died …
  std::string cause;
  std::string reason;
  Owner by;
};

// One line of the realm's history. `fence` is absolute, or 0 with `fence_is_version`: then it is
// the version of the commit that wrote the event plus `fence_offset`.
struct Event {
  std::uint64_t seq = 0;  // the number of its row (kv::Appended); only when read
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

  // Events are built here and nowhere else. Of a lease: all that it says of itself, and its fence
  // if it has one yet. `how` may give another reason than the lease's own.
  static Event of(const Lease& lease, std::string what);
  static Event of(const Lease& lease, const EndedBy& how);
  // Of a lease that this commit grants: its version is the fence.
  static Event granted(const Lease& lease);
  // Of a request in the queue, which has no fence; of one that was refused, which has no id either.
  static Event of_request(const Lease& request, std::string what, std::string cause = {});
  static Event refused(const Lease& request, std::string cause);
  // Of a lock that never was in the table.
  static Event unseen(Owner owner, std::vector<std::string> resources, const EndedBy& how);
  // Of the program itself.
  static Event of_program(std::string what, std::string cause);
};
// What a lease claims, as people read it.
std::vector<std::string> resource_texts(const Lease& lease);
std::string encode_event(const Event& event);
Result<Event> decode_event(const kv::Appended& row);

// How many claims, for the quota.
std::string encode_counter(std::size_t claims);
Result<std::size_t> decode_counter(std::string_view value);

// How much of the history has been counted: for forgetting what is beyond Limits::events_kept.
struct HistoryCount {
  std::uint64_t counted_to = 0;  // the number of the last event that was
  std::uint64_t events = 0;      // those up to it that are still there
};
std::string encode_history_count(const HistoryCount& count);
Result<HistoryCount> decode_history_count(std::string_view value);

}  // namespace lockkeeper::core
