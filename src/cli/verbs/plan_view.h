// A plan for people and programs.
#pragma once

#include <string>
#include <vector>

#include "cli/output.h"
#include "plan/analysis.h"
#include "plan/proposals.h"
#include "plan/worth.h"

namespace lockkeeper::cli {

// One plan with its analysis.
struct Planned {
  std::string file;  // as named
  plan::Loaded loaded;
  std::size_t errors = 0;  // that `validate` finds and planning can do without
  plan::AnalysisOptions options;
  plan::Analysis analysis;
  plan::Worth worth;
  plan::Proposals proposals;
};

// `columns`: 0 in a pipe, where lines are not cut and pictures are 80 columns wide.
std::vector<Line> plan_lines(const Planned& planned, std::size_t columns);
service::Json plan_json(const Planned& planned);
service::Json cost_json(const plan::Cost& cost);

// The findings of a plan that cannot be used, or those that were ignored.
std::vector<Line> finding_lines(const std::string& file, const std::vector<plan::Finding>& findings,
                                std::size_t columns);

// "plan.yaml:3:5", or only the file.
std::string place_of(const std::string& file, const plan::Finding& finding);

// "1h 30m"
std::string minutes_text(std::int64_t minutes);

}  // namespace lockkeeper::cli
