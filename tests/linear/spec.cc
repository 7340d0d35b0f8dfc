#include "linear/spec.h"

#include <algorithm>

#include "linear/matters.h"
#include "linear/move.h"

namespace lockkeeper::linear {
namespace {

using core::LeaseId;
using sim::Entry;

enum class Ending { kNo, kPerhaps, kSurely };

// Is it over when the step takes effect?
Ending ending_of(const State& state, const Step& step, const LeaseId& id, std::int64_t latest) {
  const Life& life = state.lives.at(id);
  if (life.from() > latest) return Ending::kNo;
  const bool before_asked = life.to() <= step.invoked;  // every clock was read after that
  const bool long_ago =
      life.to() < kNever - kSlackNs && life.to() + kSlackNs <= std::max(state.now, step.invoked);
  if (before_asked || long_ago) return Ending::kSurely;
  const auto lease = state.model.leases.find(id);
  const Entry& entry =
      lease != state.model.leases.end() ? lease->second : state.model.waiters.at(id);
  return matters(state, step, entry) ? Ending::kPerhaps : Ending::kNo;
}

// The state as it is, and those in which somebody had been served, unseen, before this step ends
// the lease that let him pass another: afterwards that could not be understood any more.
std::vector<State> starts_of(const Part& part, const State& before, const Step& step,
                             std::int64_t latest) {
  std::vector<State> starts{before};
  if (before.model.waiters.empty()) return starts;
  const bool breaks = step.call->asked.verb == Verb::kBreak;
  for (const auto& [id, lease] : before.model.leases) {
    const std::vector<LeaseId> passing = passing_by(before.model, lease);
    if (passing.empty()) continue;
    const bool broken = breaks && has(lease, step.entry.wants.front().resource);
    if (!broken && ending_of(before, step, id, latest) == Ending::kNo) continue;
    for (const LeaseId& waiter : passing) {
      for (std::size_t i = 0, known = starts.size(); i < known; ++i) {
        State served = starts[i];
        if (Move(part, served, step, latest).serve_before(waiter, id)) starts.push_back(served);
      }
    }
  }
  return starts;
}

void apply_from(const Part& part, State start, const Step& step, std::int64_t latest,
                std::vector<Next>& found) {
  std::vector<LeaseId> sure, perhaps;
  for (const auto& [id, life] : start.lives) {
    const Ending ending = ending_of(start, step, id, latest);
    if (ending == Ending::kSurely) sure.push_back(id);
    if (ending == Ending::kPerhaps) perhaps.push_back(id);
  }
  start.now = std::max(start.now, step.invoked);
  Move nature(part, start, step, latest);
  for (const LeaseId& id : sure) {
    if (!nature.end_over(id)) return;
  }
  constexpr std::size_t kPerhapsMax = 10;
  if (perhaps.size() > kPerhapsMax) throw BadHistory("too many ends at one moment");
  const bool two_ways = step.phase == Phase::kGet ? step.optional
                                                  : step.call->asked.verb == Verb::kBreak ||
                                                        step.call->asked.verb == Verb::kRelease;
  const std::size_t ways = std::size_t{two_ways ? 2U : 1U} << perhaps.size();
  for (std::size_t set = 0; set < ways; ++set) {
    Next next{start, false};
    Move move(part, next.state, step, latest, set >> perhaps.size() != 0);
    bool possible = true;
    for (std::size_t i = 0; i < perhaps.size() && possible; ++i) {
      if ((set >> i & 1U) != 0) possible = move.end_over(perhaps[i]);
    }
    if (!possible || !move.happen()) continue;
    next.decided = move.decided();
    found.push_back(std::move(next));
  }
}

}  // namespace

std::vector<Next> apply(const Part& part, const State& before, const Step& step,
                        std::int64_t latest) {
  std::vector<Next> found;
  if (std::max(before.now, step.invoked) > latest) return found;
  for (State& start : starts_of(part, before, step, latest)) {
    apply_from(part, std::move(start), step, latest, found);
  }
  return found;
}

}  // namespace lockkeeper::linear
