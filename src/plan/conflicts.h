// Which jobs of a plan cannot run at the same time, and why.
//
// Two jobs conflict if neither waits for the other, directly or not, and both want the same thing:
// by their locks (the lock table will keep them apart), or by what they may write (nothing will).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/graph.h"
#include "plan/overlaps.h"
#include "plan/plan_file.h"
#include "plan/resolutions.h"
#include "plan/schedule.h"

namespace lockkeeper::plan {

inline constexpr std::size_t kConflictsListed = 1'000;    // with their overlaps
inline constexpr std::size_t kOverlapsOfConflict = 5;     // listed for each conflict
inline constexpr std::size_t kConflictPairs = 2'000'000;  // more are an error

enum class Cause { kLocks, kScopes };

struct Shared {
  key::Resource a;  // of the job with the smaller number
  key::Resource b;
  std::string witness;                      // a name that both cover
  bool made_up = false;                     // the witness is only an example
  std::optional<bool> witness_exists = {};  // on disk; nullopt: cannot be told
};

struct Conflict {
  std::size_t a = 0;  // jobs; a < b
  std::size_t b = 0;
  Cause cause = Cause::kLocks;
  std::vector<Shared> shared;
};

struct ConflictGraph {
  std::vector<Conflict> listed;  // by (a, b); the first kConflictsListed that were found
  std::size_t pairs = 0;         // all pairs
  std::size_t by_locks = 0;      // pairs that share locks
  Conflicts others;              // of each job, in order
};

struct ConflictOptions {
  bool locks_only = false;  // ignore what both may write
};

// What each job waits for. REQUIRES: the plan is usable.
Graph needs_of(const Plan& plan);

// limit_exceeded beyond kConflictPairs, and for pathological patterns.
Result<ConflictGraph> find_conflicts(const Plan& plan, const Graph& needs, ConflictOptions options);

// Replaces witnesses that are made up by names that are on disk, where there are any.
void name_existing(const Plan& plan, const Children& children, ConflictGraph& graph);

// The first thing that two jobs share, whatever their order: find_conflicts for one pair. What one
// of them is denied is not shared.
Result<std::optional<Shared>> meeting_of(const Job& a, const Job& b, ConflictOptions options);

}  // namespace lockkeeper::plan
