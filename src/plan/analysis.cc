#include "plan/analysis.h"

#include <algorithm>
#include <map>

namespace lockkeeper::plan {
namespace {

constexpr std::size_t kDependenciesCompared = 20'000;

Result<std::vector<Dependency>> dependencies_of(const Plan& plan, const Graph& needs,
                                                ConflictOptions options) {
  std::vector<Dependency> all;
  for (std::size_t later = 0; later < plan.jobs.size(); ++later) {
    for (const std::size_t earlier : needs.needs(later)) {
      Dependency dependency{later, earlier, {}};
      if (all.size() < kDependenciesCompared) {
        LK_ASSIGN(const std::optional<Shared> meeting,
                  meeting_of(plan.jobs[earlier], plan.jobs[later], options));
        if (meeting) dependency.witness = meeting->witness;
      }
      all.push_back(std::move(dependency));
    }
  }
  return all;
}

std::vector<Busy> profile(const std::vector<Slot>& slots) {
  std::map<std::int64_t, std::int64_t> change;
  for (const Slot& slot : slots) {
    ++change[slot.begin];
    --change[slot.end];
  }
  std::vector<Busy> busy;
  std::int64_t agents = 0, since = 0;
  for (const auto& [at, by] : change) {
    if (by == 0) continue;
    if (at > since) busy.push_back({since, at, static_cast<std::size_t>(agents)});
    agents += by;
    since = at;
  }
  return busy;
}

}  // namespace

std::vector<std::int64_t> minutes_of(const Plan& plan) {
  std::vector<std::int64_t> minutes;
  for (const Job& job : plan.jobs) minutes.push_back(job.minutes);
  return minutes;
}

Cost cost_of(const Waves& waves, const std::vector<Slot>& slots) {
  Cost cost{waves.rounds.size(), 0};
  for (const Slot& slot : slots) cost.minutes = std::max(cost.minutes, slot.end);
  return cost;
}

Result<Analysis> analyse(const Plan& plan, AnalysisOptions options) {
  Analysis result;
  result.limit = options.jobs;
  result.needs = needs_of(plan);
  LK_ASSIGN(result.conflicts, find_conflicts(plan, result.needs, options.conflicts));
  LK_ASSIGN(result.dependencies, dependencies_of(plan, result.needs, options.conflicts));
  result.waves = fewest_rounds(result.needs, result.conflicts.others);
  result.round_of.assign(plan.jobs.size(), 0);
  for (std::size_t round = 0; round < result.waves.rounds.size(); ++round) {
    for (const std::size_t job : result.waves.rounds[round]) result.round_of[job] = round;
  }
  const std::vector<std::int64_t> minutes = minutes_of(plan);
  result.slots = timeline(result.needs, result.conflicts.others, minutes, options.jobs);
  std::tie(result.critical, result.critical_minutes) = critical_path(result.needs, minutes);
  for (const std::int64_t each : minutes) result.sequential_minutes += each;
  result.cost = cost_of(result.waves, result.slots);
  result.busy = profile(result.slots);
  for (const Busy& busy : result.busy) result.most_busy = std::max(result.most_busy, busy.agents);
  return result;
}

}  // namespace lockkeeper::plan
