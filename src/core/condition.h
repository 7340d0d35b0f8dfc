// Is a lease over, and why? Everything that the table decides by the clock is decided here: when a
// lease ends, until when a handoff must be confirmed, how long an orphan waits, how long something
// is remembered. Times are milliseconds on the monotonic clock of one boot. Where several machines
// write, what was read has been moved to the reader's clock before (sightings.h).
#pragma once

#include <cstdint>
#include <string>

#include "core/state.h"

namespace lockkeeper::core {

struct Condition {
  // The lease no longer counts. It must be ended before anything is decided about what it holds.
  bool over = false;
  std::string cause;            // expired died reboot unconfirmed parent_ended
  bool newly_orphaned = false;  // its processes are gone; the grace begins when that is recorded
  Alive alive = Alive::kUnknown;
  // An edit that is not over gives way to whoever asks from this time on (rule 16); kNoEnd: not.
  std::int64_t yields_mono_ms = kNoEnd;
  bool yields = false;  // it does so now
};

// Writes nothing. Reads, guarded, what the answer depends on: the lease's parents.
Result<Condition> condition(State& state, const Lease& lease);
Result<Condition> condition(State& state, const Waiter& waiter);
// Is what it lies in over? It may be so and still have rows.
Result<bool> parent_over(State& state, const Lease& child);
// The condition once its handoff is confirmed. The process that waited is the one that asks, so
// what counts is the process that the lease will be bound to.
Result<Condition> condition_confirmed(State& state, const Lease& lease);

// Does anybody keep it? Dead: certainly nobody does. A detached hold, or a process that cannot be
// seen, is unknown. With a prober alone, sessions are not looked up.
Alive alive_of(const Lease& lease, const Prober& prober);
Result<Alive> alive_of(State& state, const Lease& lease);

bool is_confirmed(const Lease& lease);
// Its processes are gone, as seen now or recorded before, and its grace still runs.
bool is_orphan(const Lease& lease, const Condition& now);
// Not without a session: two runs of one agent could not be told apart. A grace would serve nobody.
bool can_come_back(const Owner& owner);
// May its owner have it back, bound to `attachment` (rule 8)?
bool may_reclaim(const Lease& orphan, const Attachment& attachment);

// When the lease ends by time, on the current boot; kNoEnd: never. After a reboot a detached lease
// gets its full ttl again from the new epoch's start (rule 9).
std::int64_t effective_deadline(const Lease& lease, const kv::Epoch& epoch);
// When the table must look at this lease again, computed from its other times.
std::int64_t due_of(const Lease& lease);

// All its times, by so much; `due_mono_ms` stays as it is filed.
void move_times(Lease& lease, std::int64_t by_ms);

// Changes to a lease's times. Each sets `due_mono_ms` too.
void extend(Lease& lease, std::int64_t ttl_ms, const Context& context);  // never ends it earlier
void hand_over(Lease& lease, const Context& context);  // granted, must be confirmed soon
void confirm_handoff(Lease& lease, const Context& context);
void keep_handoff(Lease& lease);                    // confirmed, with the end it has
void orphan(Lease& lease, const Context& context);  // its grace begins
void reclaim(Lease& lease, const Attachment& attachment);
// One more keeps it, unless it already does; those known to be dead no longer do. Keeps the longer
// grace. Error: limit_exceeded.
Result<void> join(State& state, Lease& lease, const Attachment& attachment, std::int64_t grace_ms);
void carry_over(Lease& lease, const Context& context);   // from an earlier epoch into this one
void postpone(Lease& lease, const Context& context);     // it was due, and is not over
void bring_along(Lease& lease, const Context& context);  // into an epoch that a repair began
void end_at_wall(Lease& lease, std::int64_t wall_ms, const Context& context);  // another tool's

// How long an ended lease is remembered, and how often the same refusal is recorded.
std::int64_t remembered_until(const Context& context);
inline constexpr std::int64_t kRefusalWindowMs = 60'000;
std::int64_t refusal_until(const Context& context);
// The rows that are due now, the earliest last. Where there are several clocks: those of our own.
kv::Range due_now(const Context& context);
kv::Range due_now_of_ours(const Context& context);
// A row that one of several clocks has filed. Notes when what it is about was first seen.
bool is_due(const DueRow& due, const kv::Row& row, const Context& context);
// The lease's time has not come, whatever its due row says.
bool is_early(const Lease& lease, const Context& context);
// A due row filed in another boot does not say how much time has passed since.
bool is_of_this_boot(const DueRow& due, const Context& context);

}  // namespace lockkeeper::core
