// The report at the end of a run: what ran when, what waited for what and how long, what was
// changed, what went wrong.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "crew/record/record.h"

namespace lockkeeper::crew {

// "done": every agent is. "failed": some failed or were skipped. "stopped": it was asked to end
// before all had their turn. "running": it has not ended.
const char* outcome_name(const RunRecord& record);

// "3 of 5 agents done, 1 failed, 1 skipped".
std::string outcome_text(const RunRecord& record);

// Valid UTF-8 throughout: what is not in a name of any bytes is replaced.
nlohmann::ordered_json report_json(const RunRecord& record);
// For a person who was not there: the outcome first, then what went wrong, one table of agents,
// what waited, what was changed. Names are escaped for Markdown. Long lists are cut: the JSON has
// them whole.
std::string report_markdown(const RunRecord& record);
// The timeline of what really happened. Long times in which nobody was at work, between an end and
// going on, are left out, and it says so.
std::string report_svg(const RunRecord& record);

}  // namespace lockkeeper::crew
