// What could be done about each conflict of a plan: the workflow protocol's resolutions as numbered
// changes that can be written into the file, each with its gain.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/analysis.h"
#include "plan/change.h"
#include "plan/resolutions.h"

namespace lockkeeper::plan {

struct Proposal {
  std::size_t number = 0;    // from 1, in the order of the conflicts
  std::size_t conflict = 0;  // its place in ConflictGraph::listed
  Resolution resolution;     // its agents are the jobs' names
  Change change;
  std::optional<Cost> after;  // nullopt: not computed
};

struct Proposals {
  std::vector<Proposal> list;
  std::size_t conflicts_left = 0;  // beyond the first kConflictsResolved
  std::size_t gains_left = 0;      // proposals without a cost: the plan is too large
};

inline constexpr std::size_t kConflictsResolved = 50;

struct ProposeOptions {
  AnalysisOptions analysis;
  key::Rules keys;
  Children children;  // the names on disk
};

// Each proposal resolves its conflict, makes no cycle and leaves no job without work. No doubles.
Result<Proposals> propose(const Plan& plan, const Analysis& analysis,
                          const ProposeOptions& options);

}  // namespace lockkeeper::plan
