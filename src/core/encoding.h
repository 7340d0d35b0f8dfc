// The values of rows: how leases, waiters, claims and events are encoded. Each pair of functions
// writes and reads the same fields in the same order. The first byte names the format. A value that
// cannot be read completely is store_corrupt (I10).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/rows.h"
#include "core/trace.h"
#include "core/types.h"

namespace lockkeeper::core {

std::string encode_lease(const Lease& lease);
Result<Lease> decode_lease(const LeaseId& id, std::string_view value, kv::Version created);

std::string encode_waiter(const Waiter& waiter);
Result<Waiter> decode_waiter(const LeaseId& id, std::string_view value, kv::Version created);

// The places where an ended lease is still mirrored.
std::string encode_places(const std::vector<std::string>& places);
Result<std::vector<std::string>> decode_places(std::string_view value);

// The value of a claim row: the resource. Its mode and holder are in the key.
std::string encode_claim(const key::Resource& resource);
Result<key::Resource> decode_claim(std::string_view value);

// A request id's row.
struct RememberedRequest {
  std::string request_id;
  std::uint64_t arguments = 0;  // digest of the request
  LeaseId lease;
};
std::string encode_request(const RememberedRequest& request);
Result<RememberedRequest> decode_request(std::string_view value);

// A lease that ended against its holder's will, kept so that the holder can be told.
struct LostLease {
  LeaseId id;
  LeaseId filed;  // its row: under its owner, or under the session that its owner is a part of
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

// How something ended, or what else happened to it, for the history.
struct EndedBy {
  std::string event;  // released expired broken died …
  std::string cause;
  std::string reason;
  Owner by;
};

// One line of the realm's history. `fence` is absolute, or 0 with `fence_is_version`: then the
// fence is the version of the commit that wrote the event, plus `fence_offset`.
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

  // Events are built only here. Of a lease: its own data, and its fence if it has one yet. `how`
  // may give another reason than the lease's own.
  static Event of(const Lease& lease, std::string what);
  static Event of(const Lease& lease, const EndedBy& how);
  // Of a lease that this commit grants: the commit's version becomes the fence.
  static Event granted(const Lease& lease);
  // Of a request in the queue, which has no fence. Of a refused request, which has no id either.
  static Event of_request(const Lease& request, std::string what, std::string cause = {});
  static Event refused(const Lease& request, std::string cause);
  // Of something that is not a lease: a lock that was never in the table, a call.
  static Event unseen(Owner owner, std::vector<std::string> resources, const EndedBy& how);
  // Of the program itself.
  static Event of_program(std::string what, std::string cause);
};
// What a lease claims, as people read it: a pattern and the name that it spells may read the same,
// and then count once.
std::vector<Claim> readable_claims(const Lease& lease);
std::vector<std::string> resource_texts(const Lease& lease);
std::string encode_event(const Event& event);
Result<Event> decode_event(const kv::Appended& row);

// What an owner of edits is doing. The owner is in it because the row's key is a hash.
std::string encode_activity(const Owner& owner, const Activity& activity);
Result<std::pair<Owner, Activity>> decode_activity(std::string_view value);

std::string encode_trace(const Trace& trace);
Result<Trace> decode_trace(std::string_view value);

// A number of claims, for the quota.
std::string encode_counter(std::size_t claims);
Result<std::size_t> decode_counter(std::string_view value);

// How much of the history has been counted, to find events beyond Limits::events_kept.
struct HistoryCount {
  std::uint64_t counted_to = 0;  // the number of the last event counted
  std::uint64_t events = 0;      // those up to it that are still there
};
std::string encode_history_count(const HistoryCount& count);
Result<HistoryCount> decode_history_count(std::string_view value);

}  // namespace lockkeeper::core
