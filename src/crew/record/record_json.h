// Records as JSON, there and back: for the journal, for a supervisor's result and for the report.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "crew/record/record.h"

namespace lockkeeper::crew {

using Json = nlohmann::ordered_json;

Json attempt_json(const Attempt& attempt);
Json agent_json(const AgentRecord& agent);
// What the two above wrote. invalid_input says what is wrong with anything else.
Result<Attempt> attempt_from(const Json& json);
Result<AgentRecord> agent_from(const Json& json);

// Bytes that are not UTF-8, from names of files and words of commands, as JSON can carry them.
std::string json_text(std::string_view bytes);

}  // namespace lockkeeper::crew
