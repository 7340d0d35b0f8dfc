// From calls to steps.
#include <algorithm>
#include <set>

#include "linear/spec.h"

namespace lockkeeper::linear {
namespace {

std::vector<std::string> texts_of(const std::vector<const Call*>& calls) {
  std::set<std::string> texts;
  for (const Call* call : calls) {
    for (const Wish& wish : call->asked.wishes) texts.insert(wish.resource);
  }
  return {texts.begin(), texts.end()};
}

core::LeaseId id_of(std::size_t index) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(index >> static_cast<unsigned>(shift) & 0xFFU));
  }
  return {bytes};
}

std::vector<sim::Want> wants_of(const Asked& asked, const sim::World& world) {
  std::map<int, core::Mode> strongest;
  for (const Wish& wish : asked.wishes) {
    auto [place, fresh] = strongest.try_emplace(world.index_of(wish.resource), wish.mode);
    place->second = std::max(place->second, wish.mode);
  }
  std::vector<sim::Want> wants;
  for (const auto& [resource, mode] : strongest) wants.push_back({resource, mode});
  return wants;
}

}  // namespace

Part::Part(const std::vector<const Call*>& calls, const History& history)
    : world(texts_of(calls)), history_(history) {
  std::map<std::string, core::LeaseId> names;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const Told& told = calls[i]->told;
    if (told.word == "granted" && !told.lease.empty()) names[told.lease] = id_of(i);
  }
  for (std::size_t i = 0; i < calls.size(); ++i) add(*calls[i], id_of(i));
  // Partners find each other again after the sort by the id that they share.
  std::ranges::stable_sort(steps, {}, &Step::invoked);
  std::map<core::LeaseId, std::size_t> asks;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Step& step = steps[i];
    if (step.phase == Phase::kAsk) asks[step.entry.id] = i;
    if (step.phase != Phase::kAsk) asker_[step.entry.id] = i;
    const auto named = [&](const std::string& name) {
      const auto found = names.find(name);
      if (found == names.end()) return core::LeaseId{};
      return found->second;
    };
    step.named =
        named(step.call->asked.lease.empty() ? step.call->told.lease : step.call->asked.lease);
    for (const std::string& lost : step.call->told.lost) {
      step.lost.push_back(named(lost));
      if (step.phase != Phase::kGet) ++uses[step.lost.back()];
    }
    if (!step.call->asked.lease.empty()) ++uses[step.named];
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].phase != Phase::kGet) continue;
    steps[i].partner = asks.at(steps[i].entry.id);
    steps[steps[i].partner].partner = i;
  }
}

void Part::add(const Call& call, const core::LeaseId& id) {
  Step step;
  step.call = &call;
  step.invoked = call.invoked;
  step.entry.id = id;
  step.entry.owner = owner_of(call.owner);
  step.entry.wants = wants_of(call.asked, world);
  step.entry.ttl_ms = call.asked.ttl_ms;
  const bool unknown = !call.answered() || call.told.word == "unknown";
  // What was killed did nothing after its death.
  step.returned = call.answered() ? call.returned : death_of(call.process).to;
  step.optional = unknown;
  if (call.asked.verb != Verb::kAcquire || !call.asked.wait) {
    steps.push_back(std::move(step));
    return;
  }
  Step get = step;
  step.phase = Phase::kAsk;
  get.phase = Phase::kGet;
  if (call.queued != kNever) {
    step.returned = call.queued;
    step.optional = false;
    get.invoked = call.queued;
  }
  steps.push_back(std::move(step));
  steps.push_back(std::move(get));
}

const Step* Part::asker_of(const core::LeaseId& id) const {
  return &steps[asker_.at(id)];
}

std::size_t Part::untold(const core::Owner& owner, std::int64_t by) const {
  return static_cast<std::size_t>(std::ranges::count_if(steps, [&](const Step& step) {
    return step.phase != Phase::kGet && step.call->asked.verb == Verb::kAcquire &&
           step.entry.owner == owner && step.invoked <= by && step.call->untold();
  }));
}

Death Part::death_of(const std::string& process) const {
  auto found = history_.deaths.find(process);
  // "p3.17" was started by "p3", and killed with it.
  if (found == history_.deaths.end()) {
    found = history_.deaths.find(process.substr(0, process.find('.')));
  }
  return found == history_.deaths.end() ? Death{} : found->second;
}

}  // namespace lockkeeper::linear
