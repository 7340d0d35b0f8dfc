// A plan thought through: conflicts, rounds, who works when, what takes longest, and whether locks
// are worth their trouble.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/conflicts.h"

namespace lockkeeper::plan {

struct AnalysisOptions {
  ConflictOptions conflicts;
  std::size_t jobs = 0;  // at most so many agents at once; 0: no limit
};

// How many agents are busy, from one change to the next.
struct Busy {
  std::int64_t begin = 0;  // minutes
  std::int64_t end = 0;
  std::size_t agents = 0;
};

// One arrow of the plan: `later` needs `earlier`. Those two may share what they like.
struct Dependency {
  std::size_t later = 0;
  std::size_t earlier = 0;
  std::string witness;  // what they share; empty: they only depend
};

// What one plan costs; to compare two.
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

// One rule of the workflow document on when to lock, and what this plan says to it.
struct WorthRule {
  const char* rule;  // "3+ agents running in parallel"
  bool for_locking;  // else: a reason to do without
  bool applies;
  std::string value;  // "5 at once"
};

struct Worth {
  enum class Verdict { kYes, kNo, kEither };  // kEither: rules apply on both sides
  Verdict verdict = Verdict::kNo;
  std::string because;  // one sentence
  std::vector<WorthRule> rules;
};

Result<Worth> is_locking_worth_it(const Plan& plan, const Analysis& analysis);

}  // namespace lockkeeper::plan
