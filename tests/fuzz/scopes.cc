// A scopes file of any text: agents with what each is going to change, or refused in words.
#include "plan/scopes.h"

#include <set>

#include "base/clock.h"
#include "fuzz.h"

namespace lockkeeper::fuzz {

void run(Input input) {
  const auto scopes = plan::parse_scopes(input.rest());
  if (!scopes) {
    require(
        scopes.error().code == Code::kInvalidInput || scopes.error().code == Code::kLimitExceeded,
        "refused with another code");
    // One mistake a line.
    Error each = scopes.error();
    std::string_view rest = scopes.error().message;
    for (;;) {
      each.message = rest.substr(0, rest.find('\n'));
      require_readable(each);
      if (each.message.size() == rest.size()) return;
      rest.remove_prefix(each.message.size() + 1);
    }
  }
  require(!scopes->empty(), "nobody");
  require(scopes->size() <= plan::kScopesAgentsMax, "more agents than the limit");
  std::set<std::string> names;
  for (const plan::ScopeEntry& entry : *scopes) {
    require(!entry.agent.text.empty(), "an agent without a name");
    require(names.insert(entry.agent.text).second, "an agent twice");
    if (entry.ttl_ms)
      require(*entry.ttl_ms >= 0 || *entry.ttl_ms == kNoEnd, "a length below nothing");
  }
}

}  // namespace lockkeeper::fuzz
