// The realm's history: reading it, and forgetting what is beyond its retention. Events are appended
// by State::append; each has a number that rises in commit order and stays what it is (rule 13).
#pragma once

#include <cstdint>
#include <vector>

#include "core/state.h"

namespace lockkeeper::core {

// At most `most` events with a number greater than `after`, in order. Fewer: there are no more.
// Peeks, as are the next two.
Result<std::vector<Event>> events_after(State& state, std::uint64_t after, std::size_t most);
// The last ones, oldest first.
Result<std::vector<Event>> last_events(State& state, std::size_t most);
Result<std::uint64_t> newest_event(State& state);  // its number; 0: there is none

// Forgets at most `most` events beyond Limits::events_kept, oldest first. Called now and then by
// maintain and acquire. It goes by a count of the events, which is kept in a row of its own and
// brought up to date here, so that no commit but this one has to write it.
Result<void> trim_history(State& state, std::size_t most);

// Forgets at most `most` events, whatever is to be kept. True: there are more.
Result<bool> forget_history(State& state, std::size_t most);

}  // namespace lockkeeper::core
