// A change of a plan: another order, other scopes, or two jobs merged into one.
#pragma once

#include <optional>
#include <vector>

#include "plan/plan_file.h"

namespace lockkeeper::plan {

// Jobs are numbers of the old plan.
struct Change {
  struct Order {
    std::size_t later = 0;
    std::size_t earlier = 0;
  };
  struct Added {
    key::Resource resource;
    bool lock = true;  // false: only something that it may write
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

// The plan after the change, with the same resources as the changed file would give.
Plan changed(const Plan& plan, const Change& change);
// One job with another scope.
Job rescoped(Job job, const Change::Scope& change);
// One job that does the work of both.
Job merged(const Job& into, const Job& from);

}  // namespace lockkeeper::plan
