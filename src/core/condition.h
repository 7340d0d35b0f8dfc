// Is a lease over, and why? And what times it has. Whatever the table decides by the clock is
// decided here: when a lease ends, until when a handoff must be confirmed, how long an orphan
// waits, how long something is remembered. All of it is in milliseconds on the monotonic clock of
// one boot; a store that keeps time in another way replaces this file and nothing else.
#pragma once

#include <cstdint>
#include <string>

#include "core/state.h"

namespace lockkeeper::core {

// Nothing is written: over means that it counts for nobody any more and must be ended before
// anything else is decided about what it holds.
struct Condition {
  bool over = false;
  std::string cause;            // expired died reboot unconfirmed parent_ended
  bool newly_orphaned = false;  // its processes are gone; the grace begins when that is recorded
  Alive alive = Alive::kUnknown;
};

// May read, guarded, what the answer depends on: a lease's parents. (The Prober may not: it knows
// no transaction.)
Result<Condition> condition(State& state, const Lease& lease);
Result<Condition> condition(State& state, const Waiter& waiter);
// The condition it will be in once its handoff is confirmed: whoever asks for it stands for the
// process that waited, and what counts is what it will be bound to.
Result<Condition> condition_confirmed(State& state, const Lease& lease);

bool is_confirmed(const Lease& lease);
// Its processes are gone, as seen now or recorded before; it lives by its grace.
bool is_orphan(const Lease& lease, const Condition& now);
// May its owner have it back, bound to `attachment` (rule 8)? A run without a session cannot be
// told from another one.
bool may_reclaim(const Lease& orphan, const Attachment& attachment);

// When the lease ends by time, on the current boot; kNoEnd: never. After a reboot a detached lease
// has its full length again from the new epoch's start (rule 9).
std::int64_t effective_deadline(const Lease& lease, const kv::Epoch& epoch);
// When the table must look at this lease again, from its other times.
std::int64_t due_of(const Lease& lease);

// What happens to a lease, as its times have it. Each sets `due_mono_ms` too.
void extend(Lease& lease, std::int64_t ttl_ms, const Context& context);  // never ends it earlier
void hand_over(Lease& lease, const Context& context);  // granted, and to be confirmed soon
void confirm_handoff(Lease& lease, const Context& context);
void keep_handoff(Lease& lease);                    // confirmed, with the end it has
void orphan(Lease& lease, const Context& context);  // its grace begins
void reclaim(Lease& lease, const Attachment& attachment);
void carry_over(Lease& lease, const Context& context);   // from an earlier epoch into this one
void look_again(Lease& lease, const Context& context);   // it was due, and is not over
void bring_along(Lease& lease, const Context& context);  // into an epoch that a repair began
void end_at_wall(Lease& lease, std::int64_t wall_ms, const Context& context);  // another tool's

// Until when what has ended is remembered, and how often one refusal is recorded.
std::int64_t remembered_until(const Context& context);
inline constexpr std::int64_t kRefusalWindowMs = 60'000;
std::int64_t refusal_until(const Context& context);
// What is due now: rows of the index, the earliest last.
kv::Range due_now(const Context& context);
// A due row that was filed in another boot tells nothing of how much time has passed since.
bool is_of_this_boot(const DueRow& due, const Context& context);

}  // namespace lockkeeper::core
