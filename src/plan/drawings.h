// Pictures of a plan: who works when, and which jobs conflict.
#pragma once

#include <string>

#include "draw/timeline_svg.h"
#include "plan/analysis.h"

namespace lockkeeper::plan {

// For timeline_svg(): one row for each job, by its start.
draw::TimelinePicture timeline_picture(const Plan& plan, const Analysis& analysis,
                                       const std::string& title);

// A complete SVG document as from timeline_svg(): rounds from left to right, an arrow for each
// dependency, a dashed line for each of the first kLinesDrawn conflicts. Jobs beyond kJobsDrawn are
// only counted.
inline constexpr std::size_t kJobsDrawn = 300;
inline constexpr std::size_t kLinesDrawn = 600;
std::string graph_svg(const Plan& plan, const Analysis& analysis, const std::string& title);

// The same as a Mermaid flowchart. Names are escaped.
std::string mermaid(const Plan& plan, const Analysis& analysis);

}  // namespace lockkeeper::plan
