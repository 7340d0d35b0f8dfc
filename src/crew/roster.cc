#include "crew/roster.h"

#include <algorithm>
#include <numeric>

#include "plan/analysis.h"

namespace lockkeeper::crew {

Result<Roster> Roster::of(const plan::Plan& plan) {
  const std::size_t count = plan.jobs.size();
  std::vector<plan::Want> wants;
  for (std::size_t i = 0; i < count; ++i) {
    for (const key::Resource& lock : plan.jobs[i].locks) {
      wants.push_back({lock, static_cast<std::uint32_t>(i), 0});
    }
  }
  Roster roster;
  roster.rivals_.resize(count);
  const plan::Graph graph = plan::needs_of(plan);
  const plan::Closure closure(graph);
  LK_CHECK(plan::find_overlaps(
      wants, [&](std::uint32_t a, std::uint32_t b) { return closure.ordered(a, b); },
      [&](const plan::Overlap& overlap) {
        roster.rivals_[overlap.a->package].push_back(overlap.b->package);
        roster.rivals_[overlap.b->package].push_back(overlap.a->package);
        return true;
      }));
  for (std::vector<std::size_t>& rivals : roster.rivals_) {
    std::ranges::sort(rivals);
    rivals.erase(std::ranges::unique(rivals).begin(), rivals.end());
  }
  const std::vector<std::int64_t> time = graph.time_to_end(plan::minutes_of(plan));
  roster.order_.resize(count);
  std::iota(roster.order_.begin(), roster.order_.end(), 0);
  std::ranges::stable_sort(roster.order_, [&](std::size_t a, std::size_t b) {
    const plan::Job& first = plan.jobs[a];
    const plan::Job& second = plan.jobs[b];
    return first.priority != second.priority ? first.priority < second.priority : time[a] > time[b];
  });
  return roster;
}

}  // namespace lockkeeper::crew
