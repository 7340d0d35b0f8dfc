#include "linear/matters.h"

#include <algorithm>

namespace lockkeeper::linear {
namespace {

using core::LeaseId;
using sim::Entry;
using sim::Want;

// Does the step make way for those who wait?
bool hands_off(const Step& step) {
  if (step.phase == Phase::kHear) return false;
  if (step.phase == Phase::kGet) return step.optional || step.call->told.word != "granted";
  const Verb verb = step.call->asked.verb;
  return verb == Verb::kRelease || verb == Verb::kBreak;
}

// Is a lease on the step's side inside another? Then whoever holds that one lets it in.
bool is_guest(const State& state, const Entry& asker) {
  return std::ranges::any_of(state.model.leases, [&](const auto& lease) {
    return !lease.second.parent.empty() && state.model.on_side(asker, lease.second);
  });
}

bool asks_about(const Part& part, const State& state, const Step& step, const Entry& entry) {
  const Asked& asked = step.call->asked;
  if (!asked.lease.empty()) return entry.id == state.real(part, step.named);
  if (step.phase == Phase::kHear) {
    return std::ranges::any_of(
        step.lost, [&](const LeaseId& lost) { return state.real(part, lost) == entry.id; });
  }
  if (step.phase == Phase::kGet) {
    const std::string& word = step.call->told.word;
    return word == "deadlock" || (word == "lost" && entry.id == step.entry.id);
  }
  if (asked.wait && !state.model.waiters.empty()) return true;  // there may be cycles
  Entry asker = step.entry;
  asker.parent = state.real(part, step.under);
  return state.model.on_side(asker, entry) || asked.fence == entry.fence ||
         std::ranges::any_of(step.entry.wants,
                             [&](const Want& want) { return has(entry, want.resource); }) ||
         state.model.conflict(entry, step.entry) || is_guest(state, asker);
}

const Entry& entry_of(const State& state, const LeaseId& id) {
  const auto lease = state.model.leases.find(id);
  return lease != state.model.leases.end() ? lease->second : state.model.waiters.at(id);
}

}  // namespace

bool has(const Entry& entry, int resource) {
  return std::ranges::any_of(entry.wants, [&](const Want& w) { return w.resource == resource; });
}

std::vector<LeaseId> passing_by(const sim::Model& model, const Entry& lease) {
  std::vector<LeaseId> passing;
  for (const auto& [id, waiter] : model.waiters) {
    if (!model.on_side(waiter, lease)) continue;
    const bool passes = std::ranges::any_of(model.waiters, [&](const auto& other) {
      const Entry& passed = other.second;
      return passed.created < waiter.created && passed.owner != waiter.owner &&
             model.conflict(passed, lease) && model.conflict(passed, waiter);
    });
    if (passes) passing.push_back(id);
  }
  return passing;
}

bool passes(const sim::Model& model, const Entry& waiter) {
  return std::ranges::any_of(model.leases, [&](const auto& lease) {
    return std::ranges::count(passing_by(model, lease.second), waiter.id) != 0;
  });
}

bool may_pass(const Part& part, const State& state, const Step& step, const Entry& waiter) {
  Entry asker = step.entry;
  asker.parent = state.real(part, step.under);
  if (state.model.on_side(asker, waiter)) return true;
  if (!state.model.conflict(asker, waiter)) return false;
  // By a lease on its side, or of one that lets it in, which is on his side too: a session passes
  // its part's request by what it holds, and the part is served in spite of that.
  return std::ranges::any_of(state.model.leases, [&](const auto& lease) {
    const Entry& held = lease.second;
    return state.model.conflict(held, waiter) && state.model.on_side(waiter, held) &&
           (state.model.on_side(asker, held) || is_guest(state, asker));
  });
}

bool stood_under(const State& state, const Entry& waiter, const Former& former) {
  const Entry& ended = former.entry;
  const bool in_his_way =
      former.waited ? ended.created < waiter.created : !state.model.on_side(waiter, ended);
  return waiter.created < former.place && in_his_way && state.model.conflict(ended, waiter);
}

bool is_late(const State& state, const Entry& waiter) {
  return std::ranges::any_of(
      state.formers, [&](const Former& former) { return stood_under(state, waiter, former); });
}

bool matters(const Part& part, const State& state, const Step& step, const LeaseId& id) {
  const Entry& entry = entry_of(state, id);
  if (asks_about(part, state, step, entry)) return true;
  // What ends takes along what lies in it.
  for (const auto& [other, life] : state.lives) {
    const Entry& below = entry_of(state, other);
    if (!below.parent.empty() && state.model.descends(below, id) &&
        asks_about(part, state, step, below)) {
      return true;
    }
  }
  // What ends can only make way for others, but for its owner: who may pass nobody any more is not
  // served.
  return hands_off(step) && state.model.leases.contains(id) &&
         !passing_by(state.model, entry).empty();
}

}  // namespace lockkeeper::linear
