// A scopes file of any text: agents with what each is going to change, or refused in words.
#include "dialect/workflow/scopes.h"

#include <set>

#include "fuzz.h"

namespace lockkeeper::fuzz {

void run(Input input) {
  const auto scopes = dialect::workflow::parse_scopes(input.rest());
  if (!scopes) {
    require(
        scopes.error().code == Code::kInvalidInput || scopes.error().code == Code::kLimitExceeded,
        "refused with another code");
    return require_readable(scopes.error());
  }
  require(!scopes->empty(), "nobody");
  require(scopes->size() <= dialect::workflow::kScopesAgentsMax, "more agents than the limit");
  std::set<std::string> names;
  for (const dialect::workflow::ScopeEntry& entry : *scopes) {
    require(!entry.agent.empty(), "an agent without a name");
    require(names.insert(entry.agent).second, "an agent twice");
    if (entry.ttl_ms) require(*entry.ttl_ms >= 0, "a length below nothing");
  }
}

}  // namespace lockkeeper::fuzz
