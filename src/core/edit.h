// Edits (rule 16): leases that are taken for the calls of a coding agent, not on purpose. They are
// as exclusive as others, but give way once their owner has moved on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockkeeper::core {

// What makes a lease an edit.
struct Edit {
  std::vector<std::string> calls;    // those on it that were not reported yet, the newest last
  bool confirmed = false;            // a call on it was reported done
  std::int64_t touched_mono_ms = 0;  // when a call on it last began or was reported
  friend bool operator==(const Edit&, const Edit&) = default;
};

// A call that an owner is making, whether or not it has an edit.
struct RunningCall {
  std::string id;
  std::string worktree;  // where it runs; empty: not known
  std::int64_t begun_mono_ms = 0;
  friend bool operator==(const RunningCall&, const RunningCall&) = default;
};

// What an owner of edits is doing: one row for each.
struct Activity {
  std::vector<RunningCall> calls;  // on the boot of `epoch`
  std::vector<std::string> parts;  // sessions that are parts of its own, and edited something
  bool idle = false;               // its client says that nothing happens until somebody asks it to
  bool gone = false;               // its client says that its session is over
  std::int64_t turn_wall_ms = 0;   // when its turn began; 0: not known
  std::vector<std::string> refused = {};  // what it was refused in this turn, and still waits for
  std::vector<std::string> told = {};     // words of whoever reports: what was said once already
  std::vector<std::string> also_in = {};  // roots of other tables in which this turn has edits
  std::int64_t noted_mono_ms = 0;         // when this was last written
  std::uint64_t clock = 0;                // and by whose clock: sightings.h
  std::uint64_t epoch = 0;
};

// Nobody reports a call that its user denies or interrupts: so long an edit is kept for it.
inline constexpr std::int64_t kUnreportedMs = 60'000;
// So long after the last call on it an edit is kept, unless its owner is in the middle of a call.
inline constexpr std::int64_t kUntouchedMs = 300'000;
// So long a call that is never reported counts as running.
inline constexpr std::int64_t kCallCountsMs = 600'000;
inline constexpr std::size_t kCallsMax = 256;  // of one owner, and on one edit
inline constexpr std::size_t kWordsMax = 256;  // of each list of an activity; the oldest go

}  // namespace lockkeeper::core
