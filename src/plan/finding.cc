#include "plan/finding.h"

#include <algorithm>

#include "base/text.h"

namespace lockkeeper::plan {

std::string shown_name(std::string_view name) {
  constexpr std::size_t kLongest = 64;

  if (name.empty()) return "a package without a name";
  if (name.size() <= kLongest && std::ranges::all_of(name, is_name_character))
    return std::string(name);
  return quote(name, kLongest);
}

const std::vector<Rule>& rules() {
  static const std::vector<Rule> kRules = {
      {"document", "the file is plain YAML or JSON"},
      {"schema", "it has the structure of work packages or scopes"},
      {"duplicate-id", "each package has its own name"},
      {"depends-on", "packages depend only on packages in the plan"},
      {"cycle", "no package waits for itself, directly or not"},
      {"lock-file", "each file lock is a canonical path"},
      {"lock-key", "each logical key is known and canonical"},
      {"purpose", "feature keys have a known purpose"},
      {"contract", "contract keys name a listed contract"},
      {"scope", "a package locks only what it may write"},
      {"lock-overlap", "packages that may run at the same time lock different things"},
      {"scope-overlap", "packages that may run at the same time write different things"},
  };
  return kRules;
}

}  // namespace lockkeeper::plan
