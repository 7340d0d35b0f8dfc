// What could be done about each conflict of a plan: the resolutions of the workflow document as
// changes that can be written into the file, numbered, each with what it would gain.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/analysis.h"
#include "plan/resolutions.h"

namespace lockkeeper::plan {

// How a plan becomes another. Jobs are numbers of the old plan.
struct Change {
  struct Order {
    std::size_t later = 0;
    std::size_t earlier = 0;
  };
  struct Added {
    key::Resource resource;
    bool lock = true;  // else only something that it may write
  };
  struct Scope {
    std::size_t job = 0;
    std::vector<key::Resource> remove;  // from its locks and from what it may write
    std::vector<Added> add;
    std::vector<key::Resource> deny;
  };
  struct Merge {
    std::size_t into = 0;
    std::size_t from = 0;
  };
  std::optional<Order> order;
  std::vector<Scope> scopes;
  std::optional<Merge> merge;
};

// The plan as it is after that, with the same resources as the changed file would give.
Plan changed(const Plan& plan, const Change& change);
// One job of it, with another scope.
Job rescoped(Job job, const Change::Scope& change);
// What one agent has to do that does the work of both.
Job merged(const Job& into, const Job& from);

struct Proposal {
  std::size_t number = 0;    // from 1, in the order of the conflicts
  std::size_t conflict = 0;  // its place in ConflictGraph::listed
  Resolution resolution;     // in words and as JSON; agents are the jobs' names
  Change change;
  std::optional<Cost> after;  // nullopt: not worked out
};

struct Proposals {
  std::vector<Proposal> list;
  std::size_t conflicts_left = 0;  // beyond the first kConflictsResolved
  // Proposals without a cost: the plan is too large to be computed anew for each.
  std::size_t gains_left = 0;
};

inline constexpr std::size_t kConflictsResolved = 50;

struct ProposeOptions {
  AnalysisOptions analysis;
  key::Rules keys;
  Children children;  // what the disk knows
};

// Only what resolves its conflict, makes no ring and leaves nobody without work; none twice.
Result<Proposals> propose(const Plan& plan, const Analysis& analysis,
                          const ProposeOptions& options);

}  // namespace lockkeeper::plan
