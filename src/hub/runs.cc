#include "hub/runs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "crew/record/record_json.h"
#include "crew/record/run_list.h"
#include "crew/report/report.h"
#include "host/file_ops.h"

namespace lockkeeper::hub {
namespace {

constexpr std::size_t kRunsTold = 20;

// Its foreman may have been killed.
Result<std::string> outcome_of(const crew::ListedRun& run, const crew::FoundRun& found) {
  const crew::RunRecord& record = found.state.record;
  if (record.ended_ms != 0) return crew::outcome_name(record);
  if (!found.is_last) return "interrupted";
  LK_ASSIGN(const Folder output, crew::open_run_files(run.output));
  LK_ASSIGN(const bool at_work, host::is_locked(output, crew::kRunLockName));
  return at_work ? "running" : "interrupted";
}

}  // namespace

Result<Json> runs_json(const std::string& store) {
  Json json{{"runs", Json::array()}};
  LK_ASSIGN(const auto runs, crew::listed_runs(store));
  for (const crew::ListedRun& run : runs) {
    if (json["runs"].size() == kRunsTold) break;
    const auto found = crew::read_run(run);
    if (!found) continue;  // its files were removed, or are being moved
    const auto outcome = outcome_of(run, *found);
    if (!outcome) continue;
    const crew::RunRecord& record = found->state.record;
    json["runs"].push_back({{"run", run.id},
                            {"plan", crew::json_text(record.plan)},
                            {"feature", text_or_null(crew::json_text(record.feature))},
                            {"outcome", *outcome},
                            {"text", crew::outcome_text(record)},
                            {"started_at", time_or_null(record.started_ms)},
                            {"ended_at", time_or_null(record.ended_ms)},
                            {"agents", record.agents.size()}});
  }
  return json;
}

Result<Json> run_json(const std::string& store, const std::string& id) {
  LK_ASSIGN(const auto runs, crew::listed_runs(store));
  const auto run = std::ranges::find(runs, id, &crew::ListedRun::id);
  if (run == runs.end()) {
    return fail(Code::kNotFound, "there is no run " + quote(id), "see: GET /v1/runs");
  }
  LK_ASSIGN(const auto found, crew::read_run(*run));
  const crew::RunRecord& record = found.state.record;
  Json json = crew::report_json(record);
  LK_ASSIGN(json["outcome"], outcome_of(*run, found));
  json["text"] = crew::outcome_text(record);
  json["markdown"] = crew::report_markdown(record);
  return json;
}

}  // namespace lockkeeper::hub
