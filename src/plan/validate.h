// Everything that can be known to be wrong with work packages before anybody starts on them.
//
// Thread safety: free functions on plain values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "key/resource.h"
#include "plan/finding.h"
#include "plan/model.h"

namespace lockkeeper::plan {

struct ValidateOptions {
  key::Rules keys;      // the realm's prefixes and purposes
  bool strict = false;  // warnings are errors
};

struct Validated {
  WorkPackages plan;              // as far as it could be read
  std::vector<Finding> findings;  // by rule, then by place
  std::size_t packages = 0;
  std::size_t locks = 0;
  std::size_t keys = 0;

  std::size_t count(Severity severity) const;
};

// The whole file. What is no document at all is one finding of rule `document`.
Validated validate(std::string_view text, const ValidateOptions& options);

// More are not compared with one another. The schema's limit is lower, that of scopes the same.
inline constexpr std::size_t kPackagesMax = 20'000;

// Of one rule; a last finding counts the rest.
inline constexpr std::size_t kFindingsListed = 1'000;
// At most so many overlaps are listed one by one; a last finding counts the rest.
inline constexpr std::size_t kOverlapsListed = 200;

}  // namespace lockkeeper::plan
