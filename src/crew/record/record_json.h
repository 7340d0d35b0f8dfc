// Records as JSON, written and read: for the journal and for a supervisor's result.
#pragma once

#include "base/error.h"
#include "base/json.h"
#include "crew/record/record.h"

namespace lockkeeper::crew {

Json attempt_json(const Attempt& attempt);
Json agent_json(const AgentRecord& agent);
// The field names are those of the report. Null: it has none.
Json tree_json(const TreeRecord& tree);
Json run_trees_json(const RunTrees& trees);
RunTrees run_trees_from(const Json& json);  // throws
// Read what the first two wrote. invalid_input for anything else.
Result<Attempt> attempt_from(const Json& json);
Result<AgentRecord> agent_from(const Json& json);

// File names and arguments as text: every non-ASCII byte of invalid UTF-8 becomes U+FFFD.
std::string json_text(std::string_view bytes);

}  // namespace lockkeeper::crew
