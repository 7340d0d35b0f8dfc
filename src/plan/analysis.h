// What follows from a plan: conflicts, rounds, who works when, what takes longest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/conflicts.h"

namespace lockkeeper::plan {

struct AnalysisOptions {
  ConflictOptions conflicts;
  std::size_t jobs = 0;  // the most agents at once; 0: no limit
};

// How many agents are busy during a span of time.
struct Busy {
  std::int64_t begin = 0;  // minutes
  std::int64_t end = 0;
  std::size_t agents = 0;
};

// `later` needs `earlier`. These two may share anything.
struct Dependency {
  std::size_t later = 0;
  std::size_t earlier = 0;
  std::string witness;  // something they share; empty: nothing
};

// What a plan costs, to compare two of them.
struct Cost {
  std::size_t rounds = 0;
  std::int64_t minutes = 0;  // from the first start to the last end
};

struct Analysis {
  Graph needs{0};
  ConflictGraph conflicts;
  std::vector<Dependency> dependencies;
  Waves waves;
  std::vector<std::size_t> round_of;  // each job's, from 0
  std::vector<Slot> slots;            // by beginning
  std::vector<std::size_t> critical;  // the jobs of the longest chain, first to last
  std::int64_t critical_minutes = 0;
  std::int64_t sequential_minutes = 0;
  Cost cost;
  std::vector<Busy> busy;
  std::size_t most_busy = 0;
  std::size_t limit = 0;  // AnalysisOptions::jobs
};

// REQUIRES: the plan is usable. limit_exceeded as find_conflicts.
Result<Analysis> analyse(const Plan& plan, AnalysisOptions options);

// The time estimates, in the order of the jobs.
std::vector<std::int64_t> minutes_of(const Plan& plan);
Cost cost_of(const Waves& waves, const std::vector<Slot>& slots);

}  // namespace lockkeeper::plan
