// The parts of validate(): what each name of a plan means, and the rules about meanings. For this
// folder only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "key/resource.h"
#include "plan/finding.h"
#include "plan/graph.h"
#include "plan/model.h"
#include "plan/resolutions.h"

namespace lockkeeper::plan {

// Collects findings: a limited number for each rule, and the count of the rest.
class Findings {
 public:
  Findings(std::vector<Finding>& into, bool strict) : into_(into), strict_(strict) {}

  // `package` null: about the whole file. The caller may complete what is returned.
  Finding& add(const char* rule, Severity severity, yaml::Place place, const Package* package,
               std::string message, std::string hint = {});
  // Adds one finding for each rule that is beyond its limit. Call it after the last add().
  void count_the_rest();

 private:
  struct Count {
    std::size_t all = 0;
    bool errors = false;  // among those beyond the limit
  };
  std::vector<Finding>& into_;
  const bool strict_;
  std::map<std::string_view, Count> counts_;
  Finding beyond_;  // discarded
};

// A name and the resource it means; none if the name breaks a rule.
struct Meaning {
  const Name* name = nullptr;
  std::optional<key::Resource> resource;
};

struct PackageMeaning {
  std::vector<Meaning> files;  // folders and globs among them
  std::vector<Meaning> keys;
  std::vector<Meaning> writes;
  std::vector<Meaning> denied;
  std::vector<bool> inside;  // for each of `files`: is it in the package's write scope?
};

// Rules lock-file, lock-key, purpose, contract and scope; the meanings point into `plan`.
std::vector<PackageMeaning> check_names(const WorkPackages& plan, const key::Rules& rules,
                                        Findings& findings);

// Rules lock-overlap and scope-overlap, for packages of which neither waits for the other. In a
// scopes file overlaps are warnings: its agents lock all that they may change, so they take turns.
void check_overlaps(const WorkPackages& plan, const std::vector<PackageMeaning>& meanings,
                    const Closure& closure, const Children& children, Findings& findings);

// The package that integrates the others' work. It is meant to come last, so an overlap with it is
// only a warning that a dependency is missing.
inline constexpr std::string_view kIntegration = "wp-integration";

}  // namespace lockkeeper::plan
