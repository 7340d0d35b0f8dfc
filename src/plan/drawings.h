// Pictures of a plan: who works when, and what keeps whom apart.
#pragma once

#include <string>

#include "draw/timeline_svg.h"
#include "plan/analysis.h"

namespace lockkeeper::plan {

// For timeline_svg(): one row for each job, in the order in which they begin.
draw::TimelinePicture timeline_picture(const Plan& plan, const Analysis& analysis,
                                       const std::string& title);

// The rounds from left to right, an arrow for each dependency, a dashed line for each conflict. A
// complete SVG document as timeline_svg() makes them. Beyond kJobsDrawn jobs the rest is counted;
// of conflicts the first kLinesDrawn are drawn.
inline constexpr std::size_t kJobsDrawn = 300;
inline constexpr std::size_t kLinesDrawn = 600;
std::string graph_svg(const Plan& plan, const Analysis& analysis, const std::string& title);

// The same as a Mermaid flowchart. Names are escaped.
std::string mermaid(const Plan& plan, const Analysis& analysis);

}  // namespace lockkeeper::plan
