// A plan of any text: read or refused with a place, checked without end of memory or time, and
// reported in all three ways.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "fuzz.h"
#include "plan/findings_report.h"
#include "plan/plan_file.h"

namespace lockkeeper::fuzz {

void run(Input input) {
  plan::ValidateOptions options;
  options.strict = input.byte() % 2 == 1;
  const std::string text(input.rest());
  const plan::FileReport report{"plan.yaml", plan::validate(text, options)};
  for (const plan::Finding& finding : report.result.findings) {
    require(!finding.message.empty(), "a finding without words");
    const auto rule = std::ranges::find(plan::rules(), finding.rule, &plan::Rule::name);
    require(rule != plan::rules().end(), "an unknown rule");
    require(!options.strict || finding.severity == plan::Severity::kError, "not strict");
    require((finding.place.line == 0) == (finding.place.column == 0), "half a place");
  }
  // Both would throw on a text that is not UTF-8.
  (void)plan::findings_json(report).dump();
  (void)plan::sarif_json({report}, "0").dump();
  const plan::Loaded loaded = plan::load_plan(text, {});
  if (report.result.count(plan::Severity::kError) == 0) {
    require(loaded.usable(), "valid, and yet it cannot be planned");
  }
}

}  // namespace lockkeeper::fuzz
