// Checks work packages before anybody starts on them.
//
// Thread safety: free functions on plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "key/resource.h"
#include "plan/finding.h"
#include "plan/model.h"
#include "plan/resolutions.h"

namespace lockkeeper::plan {

struct ValidateOptions {
  NameRule agent_name;
  key::Rules keys;      // the realm's prefixes and purposes
  bool strict = false;  // warnings are errors
  Children children;    // what is on disk, for the names in overlaps; empty: it is not known
};

struct Validated {
  WorkPackages plan;              // as far as it could be read
  std::vector<Finding> findings;  // by rule, then by place
  std::size_t packages = 0;
  std::size_t locks = 0;
  std::size_t keys = 0;

  std::size_t count(Severity severity) const;
};

// The whole file. A file that is not YAML or JSON gives one finding of rule `document`.
Validated validate(std::string_view text, const ValidateOptions& options);

// More packages are not compared. The schema's limit is lower, the limit of scopes is the same.
inline constexpr std::size_t kPackagesMax = 20'000;

// Findings of one rule that are listed; a last finding counts the rest.
inline constexpr std::size_t kFindingsListed = 1'000;
// The same for overlaps.
inline constexpr std::size_t kOverlapsListed = 200;

}  // namespace lockkeeper::plan
