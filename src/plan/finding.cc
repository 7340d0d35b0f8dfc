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
      {"document", "the file is not plain YAML or JSON"},
      {"schema", "something is missing, unknown or of the wrong kind"},
      {"duplicate-id", "two packages have the same name", "two agents have the same name"},
      {"depends-on", "a package depends on one that is not in the plan",
       "an agent comes after one that is not in the plan"},
      {"cycle", "packages wait for each other and can never start",
       "agents wait for each other and can never start"},
      {"lock-file", "a file lock is not a canonical path"},
      {"lock-key", "a logical key is unknown or not canonical"},
      {"purpose", "a feature key has an unusual purpose"},
      {"contract", "a contract key names no listed contract"},
      {"scope", "a package locks what it may not write"},
      {"lock-overlap", "packages that may run at the same time lock the same things",
       "agents lock the same things and will take turns"},
      {"scope-overlap", "packages that may run at the same time may write the same things"},
  };
  return kRules;
}

}  // namespace lockkeeper::plan
