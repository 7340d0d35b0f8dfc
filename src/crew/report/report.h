// The report on a run: what ran when, what waited for what and how long, what was changed, what
// went wrong.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "crew/record/record.h"

namespace lockkeeper::crew {

// "done": every agent is done. "failed": some failed or were skipped. "stopped": it was stopped
// before all had run. "running": it has not ended.
const char* outcome_name(const RunRecord& record);

// "3 of 5 agents done, 1 failed, 1 skipped".
std::string outcome_text(const RunRecord& record);

// Valid UTF-8: invalid bytes in file names are replaced.
nlohmann::ordered_json report_json(const RunRecord& record);
// For people: the outcome, what went wrong, a table of agents, what waited, what was changed. Names
// are escaped for Markdown. Long lists are cut; the JSON has all of them.
std::string report_markdown(const RunRecord& record);
// The timeline of what happened. Long gaps before a resume are left out, and it says so.
std::string report_svg(const RunRecord& record);

}  // namespace lockkeeper::crew
