// Did two workers ever hold the same thing? Judged twice, from what the workers themselves wrote
// down while they held it, and from the realm's history.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/encoding.h"

namespace lockkeeper::demo {

struct Verdict {
  std::size_t holds = 0;                // how often something was held
  std::vector<std::string> violations;  // empty: nobody ever held what another held
};

// A ledger has a line "B WORKER RESOURCE…" when a worker begins and "E WORKER" when it ends, in the
// order in which the kernel appended them. A worker that was killed has no end; `killed` names it.
Result<Verdict> check_ledger(std::string_view ledger, std::string_view killed);

// Replays the history: a grant of something that overlaps what another owner holds at that moment
// is a violation.
Result<Verdict> check_history(const std::vector<core::Event>& events);

}  // namespace lockkeeper::demo
