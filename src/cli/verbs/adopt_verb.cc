// `adopt`: turns another tool's lock into a lease of ours, with the same lock files.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/verbs/acquire_options.h"
#include "cli/verbs/keep_first.h"
#include "cli/verbs/verbs.h"
#include "service/names.h"

namespace lockkeeper::cli {

Result<int> adopt_verb(VerbContext& context) {
  std::vector<std::string> words;
  std::optional<std::string> reason, ttl;
  Arguments& arguments = context.arguments();
  arguments.words("PATH", words, "the other tool's lock, or what it holds");
  arguments.offer(Arguments::Complete::kFiles);
  arguments.value("--reason", reason, "TEXT", "why (default: what the lock says)");
  arguments.value("--ttl", ttl, "DURATION", "how long it lasts: 1h, or none for no end");
  if (const auto status = context.parse_some(words, "the lock to adopt")) return *status;
  Output& out = context.out();
  if (words.size() > 1) {
    return fail(Code::kUsage, "adopt takes one lock, not " + std::to_string(words.size()),
                "adopt them one by one");
  }
  service::AcquireCommand how;
  how.terms.reason = reason.value_or("");
  if (ttl) {
    LK_ASSIGN(how.ttl_ms, parse_duration_ms(*ttl, {.allow_none = true}));
  }
  LK_ASSIGN(auto wanted, context.wanted(words));
  LK_ASSIGN(auto open, context.open(words));
  keep_first(context, *open, snapshot::Why::kTakeover);
  LK_ASSIGN(const auto adopted, open->locks.adopt(wanted, how));
  out.object(service::acquire_json(adopted));
  for (const std::string& text : service::spelled_texts(adopted.lease)) {
    out.text("adopted " + shown(text) + ", fence " + std::to_string(adopted.lease.fence()));
  }
  for (const auto& hidden : adopted.unmirrored) out.note(service::unmirrored_text(hidden));
  return 0;
}

}  // namespace lockkeeper::cli
