#include "linear/part.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

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

std::size_t arguments_of(const sim::Entry& entry) {
  std::string text = std::to_string(entry.ttl_ms);
  for (const sim::Want& want : entry.wants) {
    text += " " + std::to_string(want.resource) + (want.mode == core::Mode::kShared ? "s" : "x");
  }
  return std::hash<std::string>{}(text);
}

bool is_refusal(const std::string& word) {
  return word == "held" || word == "timeout" || word == "interrupted" || word == "deadlock";
}

// "p3.17" was started by "p3", and killed with it.
std::string starter_of(const std::string& process) {
  return process.substr(0, process.find('.'));
}

}  // namespace

Part::Part(const std::vector<const Call*>& calls, const History& history)
    : world(texts_of(calls)), history_(history) {
  std::vector<core::LeaseId> ids;
  std::map<std::pair<std::string, std::string>, core::LeaseId> of_request;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::string& request_id = calls[i]->asked.request_id;
    ids.push_back(id_of(i));
    if (request_id.empty()) continue;
    const auto [place, fresh] = of_request.try_emplace({calls[i]->owner, request_id}, ids.back());
    ids.back() = place->second;
    if (!fresh) repeated_.insert(ids.back());
    if (is_refusal(calls[i]->told.word)) {
      std::int64_t& last = refused_[ids.back()];
      last = std::max(last, calls[i]->invoked);
    }
  }
  first_name_ = id_of(calls.size());
  name_leases(calls, ids);
  find_keepers(calls);
  for (std::size_t i = 0; i < calls.size(); ++i) add(*calls[i], ids[i]);
  std::ranges::stable_sort(steps, {}, &Step::invoked);
  find_partners();
  find_repetitions();
  find_proven();
  for (Step& step : steps) {
    const Asked& asked = step.call->asked;
    step.named = named(asked.lease.empty() ? step.call->told.lease : asked.lease);
    step.under = named(asked.under);
    if (!asked.lease.empty()) ++uses[step.named];
    for (const std::string& lost : step.call->told.lost) {
      step.lost.push_back(named(lost));
      if (step.phase == Phase::kHear) ++uses[step.lost.back()];
    }
  }
}

// A lease has the name that somebody was told when it was granted to him. Of one that was granted
// without an answer only others are told, who meet it.
void Part::name_leases(const std::vector<const Call*>& calls,
                       const std::vector<core::LeaseId>& ids) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    owners_[ids[i]] = owner_of(calls[i]->owner);
    const Told& told = calls[i]->told;
    if (told.word != "granted" || told.lease.empty()) continue;
    if (names_.contains(told.lease) || told_.contains(ids[i])) continue;
    names_[told.lease] = ids[i];
    told_[ids[i]] = told.fence;
    fences_.insert(told.fence);
  }
  for (const Call* call : calls) {
    if (call->told.lease.empty() || names_.contains(call->told.lease)) continue;
    const core::LeaseId name = id_of(calls.size() + names_.size());
    owners_[name] = owner_of(call->owner);
    names_[call->told.lease] = name;
  }
}

core::LeaseId Part::named(const std::string& lease) const {
  const auto found = names_.find(lease);
  return found == names_.end() ? core::LeaseId{} : found->second;
}

void Part::find_partners() {
  std::map<const Call*, std::size_t> asks;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].phase == Phase::kAsk) asks[steps[i].call] = i;
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].phase != Phase::kGet) continue;
    steps[i].partner = asks.at(steps[i].call);
    steps[steps[i].partner].partner = i;
  }
}

void Part::find_repetitions() {
  std::map<std::string, std::size_t> latest;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Step& step = steps[i];
    step.before = step.first = i;
    const Asked& asked = step.call->asked;
    if (!step.asks() || !step.optional || asked.request_id.empty()) continue;
    // Who asks, for what and how: behind the call's number and time. Processes that were started
    // for one call each are as good as one.
    std::string text = invocation_line(*step.call);
    for (int word = 0; word < 4; ++word) text.erase(0, text.find(' ') + 1);
    text += starter_of(step.call->process) + " " + std::to_string(step.returned);
    const auto [place, fresh] = latest.try_emplace(text, i);
    if (fresh) continue;
    step.before = std::exchange(place->second, i);
    step.first = steps[step.before].first;
  }
  for (Step& step : steps) {
    if (step.phase == Phase::kGet) step.first = steps[step.partner].first;
  }
}

// Whoever repeats a request and is told `lost` shows that it was granted before. If one call alone
// can have been that, it has happened, answered or not: to try without it first takes very long.
void Part::find_proven() {
  for (const Step& told : steps) {
    const Asked& asked = told.call->asked;
    const bool proves = told.phase == Phase::kWhole && asked.verb == Verb::kAcquire &&
                        asked.under.empty() && told.call->told.word == "lost";
    if (!proves || !is_repeated(told.entry.id)) continue;
    std::vector<Step*> perhaps;
    for (Step& step : steps) {
      if (step.entry.id != told.entry.id || !step.asks() || step.call == told.call) continue;
      const std::string& word = step.call->told.word;
      if (step.invoked > told.returned || is_refusal(word)) continue;
      if (word == "misused" || word == "failed") continue;
      perhaps.push_back(&step);
    }
    if (perhaps.size() == 1) perhaps.front()->optional = false;
  }
}

void Part::find_keepers(const std::vector<const Call*>& calls) {
  for (const Call* asker : calls) {
    for (const std::string& process : {asker->process, asker->asked.attach}) {
      if (process.empty() || keepers_.contains(process)) continue;
      Keeper& keeper = keepers_[process];
      keeper.death = death_of(process);
      keeper.found_from = keeper.death.from;
      for (const Call* call : calls) {
        const bool under_way =
            call->invoked < keeper.death.from && call->returned > keeper.death.from;
        if (!under_way || starter_of(call->process) == starter_of(process)) continue;
        keeper.found_from = std::min(keeper.found_from, call->invoked);
      }
      if (keeper.death.from == kNever) continue;
      keeper.found_from = std::max(keeper.found_from, keeper.death.from - kSlackNs);
    }
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
  step.entry.holds = {core::Attachment{}};  // whoever is over is taken out of the model
  step.arguments = arguments_of(step.entry);
  const bool unknown = !call.answered() || call.told.word == "unknown";
  // What was killed did nothing after its death.
  step.returned = call.answered() ? call.returned : death_of(call.process).to;
  step.optional = unknown;
  if (!call.told.lost.empty()) {
    Step hear = step;
    hear.phase = Phase::kHear;
    steps.push_back(std::move(hear));
  }
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

core::Owner Part::owner_of_lease(const core::LeaseId& id) const {
  return owners_.at(id);
}

bool Part::is_refused_after(const core::LeaseId& id, std::int64_t moment) const {
  const auto found = refused_.find(id);
  return found != refused_.end() && found->second > moment;
}

std::size_t Part::untold(const core::Owner& owner, std::int64_t by) const {
  return static_cast<std::size_t>(std::ranges::count_if(steps, [&](const Step& step) {
    return step.asks() && step.call->asked.verb == Verb::kAcquire &&
           (step.entry.owner == owner || whole_of(step.entry.owner) == owner) &&
           step.invoked <= by && step.call->untold();
  }));
}

std::uint64_t Part::fence_of(const core::LeaseId& id) const {
  const auto found = told_.find(id);
  return found == told_.end() ? 0 : found->second;
}

bool Part::is_fence_between(std::uint64_t low, std::uint64_t high) const {
  const auto above = fences_.upper_bound(low);
  return above != fences_.end() && *above < high;
}

Keeper Part::keeper(const std::string& process) const {
  const auto found = keepers_.find(process);
  return found == keepers_.end() ? Keeper{} : found->second;
}

Death Part::death_of(const std::string& process) const {
  auto found = history_.deaths.find(process);
  if (found == history_.deaths.end()) found = history_.deaths.find(starter_of(process));
  return found == history_.deaths.end() ? Death{} : found->second;
}

core::LeaseId State::real(const Part& part, const core::LeaseId& named) const {
  if (!part.is_name(named)) return named;
  const auto found = names.find(named);
  return found == names.end() ? core::LeaseId{} : found->second;
}

}  // namespace lockkeeper::linear
