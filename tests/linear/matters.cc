#include "linear/matters.h"

#include <algorithm>

namespace lockkeeper::linear {
namespace {

using core::LeaseId;
using sim::Entry;
using sim::Want;

// Does the step make way for those who wait?
bool hands_off(const Step& step) {
  if (step.phase == Phase::kGet) return step.optional || step.call->told.word != "granted";
  const Verb verb = step.call->asked.verb;
  return verb == Verb::kRelease || verb == Verb::kBreak;
}

bool asks_about(const State& state, const Step& step, const Entry& entry) {
  const Asked& asked = step.call->asked;
  if (!asked.lease.empty()) return entry.id == step.named;
  if (step.phase == Phase::kGet) {
    const std::string& word = step.call->told.word;
    return word == "deadlock" || (word == "lost" && entry.id == step.entry.id);
  }
  const bool cycles = asked.wait && !state.model.waiters.empty();
  return cycles || entry.owner == step.entry.owner || asked.fence == entry.fence ||
         std::ranges::find(step.lost, entry.id) != step.lost.end() ||
         std::ranges::any_of(step.entry.wants,
                             [&](const Want& want) { return has(entry, want.resource); }) ||
         state.model.conflict(entry, step.entry);
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

bool matters(const State& state, const Step& step, const Entry& entry) {
  if (asks_about(state, step, entry)) return true;
  // What ends can only make way for others, but for its owner: who may pass nobody any more is not
  // served.
  return hands_off(step) && state.model.leases.contains(entry.id) &&
         !passing_by(state.model, entry).empty();
}

}  // namespace lockkeeper::linear
