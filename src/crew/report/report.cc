#include "crew/report/report.h"

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "crew/record/record_json.h"
#include "crew/report/report_parts.h"

namespace lockkeeper::crew {
namespace {

// In the order in which they are reported.
constexpr Standing kShownStandings[] = {Standing::kDone,    Standing::kFailed,  Standing::kSkipped,
                                        Standing::kStopped, Standing::kRunning, Standing::kWaiting,
                                        Standing::kPending};

// File names and arguments may be any bytes.
Json any_text_or_null(const std::string& text) {
  return text_or_null(json_text(text));
}

Json list_json(const std::vector<std::string>& texts) {
  Json json = Json::array();
  for (const std::string& text : texts) json.push_back(json_text(text));
  return json;
}

Json change_row(const Change& change) {
  return {{"path", json_text(change.path)},
          {"change", change_name(change.kind)},
          {"outside", change.outside},
          {"or_by", list_json(change.or_by)}};
}

Json attempt_json(const Attempt& attempt, std::int64_t now_ms) {
  Json json;
  json["number"] = attempt.number;
  json["ending"] = attempt.ending == Ending::kNone ? Json() : Json(ending_name(attempt.ending));
  json["exit_status"] = attempt.ending == Ending::kDone || attempt.ending == Ending::kFailed
                            ? Json(attempt.exit_status)
                            : Json();
  json["why"] = any_text_or_null(attempt.why);
  json["started_at"] = time_or_null(attempt.started_ms);
  json["ended_at"] = time_or_null(attempt.ended_ms);
  json["duration_ms"] =
      attempt.started_ms == 0 ? 0 : length_ms(attempt.started_ms, attempt.ended_ms, now_ms);
  json["lease"] = any_text_or_null(attempt.lease);
  json["fence"] = attempt.fence == 0 ? Json() : Json(attempt.fence);
  json["processes_ended"] = attempt.processes_ended;
  json["log_bytes"] = attempt.log_bytes;
  json["log_cut"] = attempt.log_cut;
  json["changes"] = Json::array();
  for (const Change& change : attempt.changes) json["changes"].push_back(change_row(change));
  json["changes_unknown"] = any_text_or_null(attempt.changes_unknown);
  return json;
}

Json wait_json(const Wait& wait, std::int64_t now_ms) {
  return {{"for", wait_name(wait.what)},
          {"on", any_text_or_null(wait.on)},
          {"began_at", time_or_null(wait.begin_ms)},
          {"ended_at", time_or_null(wait.end_ms)},
          {"duration_ms", length_ms(wait.begin_ms, wait.end_ms, now_ms)}};
}

Json agent_json(const AgentRecord& agent, std::int64_t now_ms) {
  Json json;
  json["id"] = json_text(agent.id);
  json["standing"] = standing_name(agent.standing);
  json["why"] = any_text_or_null(agent.why);
  json["worked_ms"] = worked_ms(agent, now_ms);
  json["waited_ms"] = waited_ms(agent, now_ms);
  json["locks"] = list_json(agent.locks);
  json["waits"] = Json::array();
  for (const Wait& wait : agent.waits) json["waits"].push_back(wait_json(wait, now_ms));
  json["attempts"] = Json::array();
  for (const Attempt& one : agent.attempts) json["attempts"].push_back(attempt_json(one, now_ms));
  json["worktree"] = tree_json(agent.tree);
  return json;
}

}  // namespace

const char* outcome_name(const RunRecord& record) {
  const auto any = [&](Standing standing) { return count_of(record, standing) > 0; };
  if (record.ended_ms == 0) return "running";
  if (any(Standing::kStopped) || any(Standing::kPending) || any(Standing::kWaiting) ||
      any(Standing::kRunning)) {
    return "stopped";
  }
  const bool all_merged = unmerged_count(record) == 0;
  return any(Standing::kFailed) || any(Standing::kSkipped) || !all_merged ? "failed" : "done";
}

std::string outcome_text(const RunRecord& record) {
  const std::size_t all = record.agents.size();
  if (all == 0) return "no agents";
  const std::size_t done = count_of(record, Standing::kDone);
  std::string words =
      done == all ? std::to_string(all) : std::to_string(done) + " of " + std::to_string(all);
  words += all == 1 ? " agent done" : " agents done";
  for (const Standing standing : kShownStandings) {
    const std::size_t count = standing == Standing::kDone ? 0 : count_of(record, standing);
    if (count > 0) words += ", " + std::to_string(count) + " " + standing_name(standing);
  }
  if (const std::size_t count = unmerged_count(record); count > 0) {
    words += ", " + std::to_string(count) + " not merged";
  }
  return words;
}

Json report_json(const RunRecord& record) {
  const std::int64_t now_ms = last_moment(record);
  Json json;
  json["run"] = json_text(record.id);
  json["outcome"] = outcome_name(record);
  json["plan"] = json_text(record.plan);
  json["feature"] = any_text_or_null(record.feature);
  json["realm"] = json_text(record.realm);
  json["jobs"] = record.jobs == 0 ? Json() : Json(record.jobs);
  json["started_at"] = time_or_null(record.started_ms);
  json["ended_at"] = time_or_null(record.ended_ms);
  json["duration_ms"] = length_ms(record.started_ms, record.ended_ms, now_ms);
  json["resumed"] = record.resumed;
  json["worktrees"] = run_trees_json(record.trees);
  Json& counts = json["counts"];
  counts["agents"] = record.agents.size();
  for (const Standing standing : kShownStandings) {
    counts[standing_name(standing)] = count_of(record, standing);
  }
  counts["unmerged"] = unmerged_count(record);
  json["problems"] = list_json(record.problems);
  json["agents"] = Json::array();
  for (const AgentRecord& one : record.agents) json["agents"].push_back(agent_json(one, now_ms));
  return json;
}

}  // namespace lockkeeper::crew
