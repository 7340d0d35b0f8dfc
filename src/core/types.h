// The nouns of the lock table: plain data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "core/edit.h"
#include "core/hold.h"
#include "core/id_bytes.h"
#include "core/sightings.h"
#include "key/resource.h"
#include "kv/store.h"

namespace lockkeeper::core {

enum class Mode : std::uint8_t { kShared, kExclusive };

// Two modes on overlapping resources conflict unless both are shared.
inline bool conflict(Mode a, Mode b) {
  return a == Mode::kExclusive || b == Mode::kExclusive;
}

// Who requests and holds. The session tells two runs of one agent apart; empty: none. A session may
// be part of another one: see sessions.h.
struct Owner {
  std::string agent;
  std::string session;
  friend bool operator==(const Owner&, const Owner&) = default;
};

struct Claim {
  key::Resource resource;
  Mode mode = Mode::kExclusive;
  std::uint16_t slot = 0;  // tells claims of one lease at one place apart; never changes
  friend bool operator==(const Claim& a, const Claim& b) {
    return a.mode == b.mode && a.resource == b.resource;
  }
};

// 16 bytes: 4 for the agent, 4 for the session, 8 for a time-ordered ticket. So one owner's leases
// lie together, the newest last. A waiter has the id that its lease will have.
struct LeaseId {
  IdBytes bytes;
  bool empty() const { return bytes.empty(); }
  std::string text() const;                                   // 32 hexadecimal digits
  static std::optional<LeaseId> from_text(std::string_view);  // nullopt: not an id of ours
  friend auto operator<=>(const LeaseId&, const LeaseId&) = default;
};

// Unsigned, because a damaged record may hold any offset.
inline std::uint64_t fence_of(kv::Version version, std::int64_t offset) {
  return version + static_cast<std::uint64_t>(offset);
}

// What the requester says about a lease, and the lease keeps. One struct for the command, the
// request and the lease, so that no field can be forgotten on the way.
struct Terms {
  std::string reason;
  std::string task;
  std::string agent_type;            // what its owner calls itself ("claude_code"), or empty
  std::int64_t ttl_ms = 0;           // kNoEnd: never ends by time
  std::int64_t orphan_grace_ms = 0;  // how long it outlives its processes
  std::string request_id;            // empty: none (rule 12)
  std::string layout;    // where it was seen or taken through (core/foreign.h); or empty
  std::string artefact;  // its name there
  std::string worktree;  // it covers this checkout alone (rule 15); empty: all of them
};

// One grant: claims held by one owner, all or nothing.
struct Lease {
  LeaseId id;
  Owner owner;
  std::vector<Claim> claims;
  Terms terms;
  std::int64_t deadline_mono_ms = kNoEnd;  // on the boot of `epoch`
  std::int64_t acquired_wall_ms = 0;       // display only, as is the next
  std::int64_t expires_wall_ms = kNoEnd;
  Holds holds{Attachment{}};            // who keeps it; the last of them ends it (rule 7)
  Attachment then;                      // its hold once the handoff is confirmed
  std::int64_t orphaned_mono_ms = 0;    // when its processes' end was recorded; 0: not orphaned
  std::int64_t confirm_by_mono_ms = 0;  // a handoff not yet confirmed; 0: confirmed
  std::int64_t due_mono_ms = kNoEnd;    // when the table must look at it again; filed in the index
  Stamp written;                        // by whose clock it is filed; see sightings.h
  std::uint64_t epoch = 0;
  std::int64_t fence_offset = 0;
  LeaseId parent;         // it works under this one and ends with it (rule 11); empty: none
  bool overtook = false;  // it passed earlier waiters, as rule 2 allows
  // Layouts (core/foreign.h). `foreign`: another tool's lock, with no owner of ours and no fence.
  bool foreign = false;
  std::vector<std::string> mirrored_at;  // places where other tools see it
  std::optional<Edit> edit;              // rule 16
  kv::Version created = 0;               // of its row; 0 until the commit

  std::uint64_t fence() const { return fence_of(created, fence_offset); }
  // Do processes alone keep it? One detached hold keeps it whatever becomes of them.
  bool attached() const {
    return std::ranges::all_of(holds, [](const Attachment& hold) { return hold.attached(); });
  }
  // The first process that keeps it by its pid; a detached one: none does.
  Attachment process() const {
    const auto found = std::ranges::find_if(holds, [](const Attachment& a) { return a.pid != 0; });
    return found == holds.end() ? Attachment{} : *found;
  }
  // A foreign owner never equals ours, whatever it calls itself.
  bool held_by(const Owner& asker) const { return !foreign && owner == asker; }
};

// A request in the queue. Its place is the created version of its row. It is bound to the waiting
// process, and so is its lease until that process confirms the handoff.
struct Waiter {
  Lease request;
  LeaseId blocker;         // it is filed under this one, and evaluated again when that ends
  bool alone = false;      // every other earlier conflicting waiter conflicts with the blocker too
  std::uint64_t wake = 0;  // which word its process sleeps on
  // The sessions (whole_names) that it waits for the sake of: those that its owner is a part of,
  // and those that the holders of the leases it works under are a part of.
  std::vector<std::string> wholes = {};
};

struct Limits {
  std::size_t claims_per_request = 10'000;
  std::size_t claims_per_agent = 10'000;
  std::size_t queue_length = 10'000;    // waiters that one request may stand behind
  std::size_t rows_per_glob = 20'000;   // rows looked at below one literal prefix
  std::size_t comparisons = 1'000'000;  // of patterns, for one new request
  std::size_t text_bytes = 4'096;       // reason, task
  std::size_t name_bytes = 256;         // agent, session, request id
  std::size_t grants_per_commit = 32;
  std::size_t ends_per_commit = 1'000;
  std::uint64_t events_kept = 100'000;  // of history
  std::int64_t confirm_ms = 10'000;
  std::int64_t remember_ms = std::int64_t{24} * 3600 * 1000;  // ended request ids and lost leases
};

// What one operation gets from outside. The table itself never asks for the time, a random number
// or a process.
struct Context {
  Now now;
  kv::Epoch epoch;
  std::uint64_t ticket = 0;  // fresh, time-ordered; the tail of a new lease's id
  const Prober* prober = nullptr;
  Limits limits;
  Sightings* sightings = nullptr;  // only where several machines write
};

}  // namespace lockkeeper::core
