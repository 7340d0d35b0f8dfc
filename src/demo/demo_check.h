// Did two workers ever hold the same resource? Checked twice: in the ledger that the workers wrote
// while they held it, and in the realm's history.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/encoding.h"

namespace lockkeeper::demo {

struct Verdict {
  std::size_t holds = 0;                // number of holds
  std::vector<std::string> violations;  // empty: mutual exclusion was kept
};

// A ledger has a line "B WORKER RESOURCE…" when a worker begins and "E WORKER" when it ends, in the
// order in which the kernel appended them. `killed` names a worker that was killed and has no end.
Result<Verdict> check_ledger(std::string_view ledger, std::string_view killed);

// Replays the history: a grant that overlaps what another owner holds at that moment is a
// violation.
Result<Verdict> check_history(const std::vector<core::Event>& events);

}  // namespace lockkeeper::demo
