// The report at the end of a run: what ran when, what waited for what and how long, what was
// changed, what went wrong.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "crew/record.h"

namespace lockkeeper::crew {

nlohmann::ordered_json record_json(const RunRecord& record);
// For a person who was not there: the outcome first, then one table of agents, then what waited,
// changed, went wrong. Names are escaped for Markdown.
std::string record_markdown(const RunRecord& record);
// The timeline of what really happened.
std::string record_svg(const RunRecord& record);

}  // namespace lockkeeper::crew
