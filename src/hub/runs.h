// The runs of `workflow run` in a realm, for the page: what the foreman has written down so far.
//
// Thread safety: free functions; safe to call from any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"
#include "base/json.h"

namespace lockkeeper::hub {

// {"runs":[{"run","plan","feature","outcome","text","started_at","ended_at","agents"}]}, the newest
// first. `store`: the realm's. "outcome" is "interrupted" where the run has not ended, and nobody
// works on it.
Result<Json> runs_json(const std::string& store);
// The report as JSON (docs/workflow-run.md), with "text" and "markdown". not_found: no such run.
Result<Json> run_json(const std::string& store, const std::string& id);

}  // namespace lockkeeper::hub
