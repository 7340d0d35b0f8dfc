// Locks of other tools in the table. Each becomes a lease, so that conflicts, the queue, lists and
// history treat it like any other. It has no fence, no owner of ours, and no promise of exclusion
// (I1 is about our grants): we record what another tool takes, and tell the owners of ours that it
// overlaps.
//
//   k <layout> 0 <artefact>  → the lease that stands for it, and what it looked like
//   y <layout>               → what the layout's folder looked like when it was last read
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/table.h"

namespace lockkeeper::core {

// One lock of another tool, as it was read.
struct ForeignLock {
  std::string layout;    // id of the layout it was seen in
  std::string artefact;  // its name there
  std::string path;      // its absolute path, for people
  std::vector<Claim> claims;
  Owner owner;  // as it calls itself; the session says where it was seen
  std::string reason;
  std::string task;
  std::int64_t since_wall_ms = 0;
  std::int64_t expires_wall_ms = kNoEnd;
  std::uint64_t stamp = 0;  // changes when the artefact does
};

// A foreign lock that the table knows.
struct KnownForeign {
  std::string layout;
  std::string artefact;
  LeaseId lease;
  std::uint64_t stamp = 0;
};
std::string known_foreign_key(std::string_view layout, std::string_view artefact);
Result<KnownForeign> decode_known_foreign(std::string_view value);
Result<std::optional<KnownForeign>> known_foreign(State& state, std::string_view layout,
                                                  std::string_view artefact);
// All of a layout, or those of one source: the source itself and `source#entry`. Peeks.
Result<std::vector<KnownForeign>> all_known_foreign(State& state, std::string_view layout,
                                                    std::string_view source = {});

// Puts the lock into the table, or changes the lease that stands for the same artefact. Each lease
// of ours that it overlaps stays, and gets an event `foreign_conflict` and a message. Returns the
// overlapped leases. REQUIRES: claims, owner.agent.
Result<std::vector<Conflict>> place_foreign(Table& table, const ForeignLock& lock);

// Ends the lease: its artefact is gone (cause `artefact_removed`), or as `how` says. Hands off.
Result<void> end_foreign(Table& table, const KnownForeign& known, const EndedBy& how);

// The conflict with this lock, for a realm that has no table yet.
Conflict conflict_with(const ForeignLock& lock, const Claim& requested, const Claim& held,
                       std::string witness);

// Takes a grant back because another tool was first. Its holder was never told of it.
Result<void> withdraw(Table& table, const LeaseId& id, const ForeignLock& first);

// What a layout's folder looked like, as one opaque text; empty if it was never read.
Result<std::string> layout_stamps(State& state, std::string_view layout);
Result<void> put_layout_stamps(State& state, std::string_view layout, std::string_view stamps);

// A foreign lease stores its artefact's name and absolute path in one field.
std::string foreign_path(const Lease& lease);
std::string foreign_artefact(const Lease& lease);  // its name alone
// "mkdir" of a layout id "mkdir-1a2b3c4d".
std::string layout_kind(std::string_view layout);

}  // namespace lockkeeper::core
