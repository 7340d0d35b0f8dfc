// The realm's history: reading it, and forgetting events beyond its retention. State::append adds
// events. Each has a number that rises in commit order and never changes (rule 13).
#pragma once

#include <cstdint>
#include <vector>

#include "core/state.h"

namespace lockkeeper::core {

// At most `most` events with a number greater than `after`, in order. Fewer: there are no more.
// These three functions peek.
Result<std::vector<Event>> events_after(State& state, std::uint64_t after, std::size_t most);
// The last ones, oldest first.
Result<std::vector<Event>> last_events(State& state, std::size_t most);
Result<std::uint64_t> newest_event(State& state);  // its number; 0: no event

// Forgets at most `most` events beyond Limits::events_kept, oldest first. maintain and acquire call
// it now and then. It updates the count of events in a row of its own, so that no other commit has
// to write that row.
Result<void> trim_history(State& state, std::size_t most);

// Forgets at most `most` events, ignoring the retention. True: there are more.
Result<bool> forget_history(State& state, std::size_t most);

}  // namespace lockkeeper::core
