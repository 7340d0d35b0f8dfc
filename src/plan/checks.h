// The parts of validate(): what each name of a plan means, and the rules about meanings. Internal
// to this room.
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

namespace lockkeeper::plan {

// Collects findings: of each rule so many, and how many more there were.
class Findings {
 public:
  Findings(std::vector<Finding>& into, bool strict) : into_(into), strict_(strict) {}

  // `package` may be null: of the file as a whole. What is given back is the caller's to complete.
  Finding& add(const char* rule, Severity severity, yaml::Place place, const Package* package,
               std::string message, std::string hint = {});
  // Of those beyond the limit one finding for each rule; after the last add().
  void count_the_rest();

 private:
  struct Count {
    std::size_t all = 0;
    bool errors = false;  // among those beyond
  };
  std::vector<Finding>& into_;
  const bool strict_;
  std::map<std::string_view, Count> counts_;
  Finding beyond_;  // of which nothing is kept
};

// What was written, and what it means; nothing where it breaks a rule.
struct Meaning {
  const Name* name = nullptr;
  std::optional<key::Resource> resource;
};

struct PackageMeaning {
  std::vector<Meaning> files;  // folders and globs among them
  std::vector<Meaning> keys;
  std::vector<Meaning> writes;
  std::vector<Meaning> denied;
  std::vector<bool> inside;  // of each of `files`: is it in the package's own write scope?
};

// Rules lock-file, lock-key, purpose, contract and scope; the meanings point into `plan`.
std::vector<PackageMeaning> check_names(const WorkPackages& plan, const key::Rules& rules,
                                        Findings& findings);

// Rules lock-overlap and scope-overlap, between packages of which neither waits for the other.
void check_overlaps(const WorkPackages& plan, const std::vector<PackageMeaning>& meanings,
                    const Closure& closure, Findings& findings);

// The package that puts the others' work together. Systems that use work packages exempt it from
// overlap, because it is meant to come last: an overlap with it is a warning that a dependency is
// missing.
inline constexpr std::string_view kIntegration = "wp-integration";

}  // namespace lockkeeper::plan
