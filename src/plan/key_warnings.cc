#include "plan/key_warnings.h"

#include <string_view>

#include "base/text.h"

namespace lockkeeper::plan {

std::vector<std::string> key_warnings(const key::Parsed& parsed, const key::Rules& rules) {
  const std::string_view text = parsed.resource.text();
  const bool configured = rules.feature_purposes != key::Rules().feature_purposes;
  if (configured || parsed.resource.space() != "feature") return parsed.warnings;
  const std::vector<std::string_view> known(rules.feature_purposes.begin(),
                                            rules.feature_purposes.end());
  if (nearest(text.substr(text.rfind(':') + 1), known)) return parsed.warnings;
  return {};
}

}  // namespace lockkeeper::plan
