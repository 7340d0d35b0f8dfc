#include "linear/spec.h"

#include <algorithm>

#include "linear/matters.h"
#include "linear/move.h"

namespace lockkeeper::linear {
namespace {

using core::LeaseId;

enum class Ending { kNo, kPerhaps, kSurely };

Ending ending_between(const State& state, const Step& step, const Death& when, bool matters) {
  const bool before_asked = when.to <= step.invoked;  // every clock was read after that
  const bool long_ago =
      when.to < kNever - kSlackNs && when.to + kSlackNs <= std::max(state.now, step.invoked);
  if (before_asked || long_ago) return Ending::kSurely;
  return matters ? Ending::kPerhaps : Ending::kNo;
}

// Is it over when the step takes effect?
Ending ending_of(const Part& part, const State& state, const Step& step, const LeaseId& id,
                 std::int64_t latest) {
  const Life& life = state.lives.at(id);
  if (life.from() > latest) return Ending::kNo;
  return ending_between(state, step, {life.from(), life.to()}, matters(part, state, step, id));
}

// Are its processes found dead by the step, while its grace runs?
Ending orphaning_of(const State& state, const Step& step, const LeaseId& id, std::int64_t latest) {
  const Life& life = state.lives.at(id);
  const auto lease = state.model.leases.find(id);
  if (life.grace_ms == 0 || life.orphaned || lease == state.model.leases.end()) return Ending::kNo;
  const bool own = lease->second.owner == step.entry.owner && step.asks();
  if (!own || life.gone().from > latest) return Ending::kNo;
  return ending_between(state, step, life.gone(), true);
}

// Does the step break it, or give it back?
bool is_ended_by(const Part& part, const State& state, const Step& step, const sim::Entry& lease) {
  const Verb verb = step.call->asked.verb;
  if (verb != Verb::kBreak && verb != Verb::kRelease) return false;
  if (!step.call->asked.lease.empty()) return state.real(part, step.named) == lease.id;
  const bool may = verb == Verb::kBreak || lease.owner == step.entry.owner;
  return may && has(lease, step.entry.wants.front().resource);
}

struct Start {
  State state;
  // Those that had been served, perhaps by the same commit, and their fence.
  std::set<LeaseId> served;
  std::uint64_t issued = 0;
};

// The state as it is, and those in which somebody had been served, unseen, before this step: past
// another, by a lease that the step ends, or where the step would pass him while he waits.
std::vector<Start> starts_of(const Part& part, const State& before, const Step& step,
                             std::int64_t latest) {
  std::vector<Start> starts{{before, {}, 0}};
  if (before.model.waiters.empty() || step.phase == Phase::kHear) return starts;
  Choices none;
  const auto serve = [&](const auto& how) {
    for (std::size_t i = 0, known = starts.size(); i < known; ++i) {
      Start served = starts[i];
      Move move(part, served.state, step, latest, none);
      move.share_commit(served.issued, served.served);
      if (!how(move)) continue;
      served.issued = std::max(served.issued, move.issued());
      served.served.insert(move.granted().begin(), move.granted().end());
      starts.push_back(std::move(served));
    }
  };
  for (const auto& [id, lease] : before.model.leases) {
    const std::vector<LeaseId> passing = passing_by(before.model, lease);
    if (passing.empty()) continue;
    const bool ends = is_ended_by(part, before, step, lease) ||
                      ending_of(part, before, step, id, latest) != Ending::kNo;
    if (!ends) continue;
    for (const LeaseId& waiter : passing) {
      serve([&](Move& move) { return move.serve_before(waiter, id); });
    }
  }
  for (const auto& [id, waiter] : before.model.waiters) {
    // Handed over before it died, its request is lost; otherwise it is forgotten.
    if (part.is_repeated(id) && before.lives.at(id).from() <= latest) {
      serve([&](Move& move) { return move.serve_before(id, id); });
    }
    if (id == step.entry.id || !may_pass(part, before, step, waiter)) continue;
    serve([&](Move& move) { return move.serve(id); });
  }
  return starts;
}

// What ends by itself, or is left behind, before the step takes effect.
struct Natural {
  LeaseId id;
  bool over = false;
};

void apply_from(const Part& part, Start from, const Step& step, std::int64_t latest,
                std::vector<Next>& found) {
  State& start = from.state;
  std::vector<Natural> sure, perhaps;
  for (const auto& [id, life] : start.lives) {
    const auto add = [&](Ending ending, bool over) {
      if (ending == Ending::kSurely) sure.push_back({id, over});
      if (ending == Ending::kPerhaps) perhaps.push_back({id, over});
    };
    add(ending_of(part, start, step, id, latest), true);
    add(orphaning_of(start, step, id, latest), false);
  }
  start.now = std::max(start.now, step.invoked);
  const auto comes_true = [](Move& move, const Natural& natural) {
    return natural.over ? move.end_over(natural.id) : move.orphan(natural.id);
  };
  Choices choices;
  Move nature(part, start, step, latest, choices);
  for (const Natural& natural : sure) {
    if (!comes_true(nature, natural)) return;
  }
  constexpr std::size_t kPerhapsMax = 12;
  if (perhaps.size() > kPerhapsMax) throw BadHistory("too many ends at one moment");
  do {
    Next next{start, false};
    Move move(part, next.state, step, latest, choices);
    move.share_commit(from.issued, from.served);
    bool possible = true;
    for (std::size_t i = 0; i < perhaps.size() && possible; ++i) {
      if (choices.pick(2) == 1) possible = comes_true(move, perhaps[i]);
    }
    if (!possible || !move.happen()) continue;
    next.decided = move.decided();
    found.push_back(std::move(next));
  } while (choices.next());
}

}  // namespace

std::vector<Next> apply(const Part& part, const State& before, const Step& step,
                        std::int64_t latest) {
  std::vector<Next> found;
  if (std::max(before.now, step.invoked) > latest) return found;
  for (Start& start : starts_of(part, before, step, latest)) {
    apply_from(part, std::move(start), step, latest, found);
  }
  return found;
}

}  // namespace lockkeeper::linear
