// Deadlocks that nobody closes by asking (L5): is somebody about to look for them?
#include <algorithm>

#include "judge.h"

namespace lockkeeper::sim {

using core::LeaseId;
using Kind = Op::Kind;

// Whoever was woken after its look began looks again.
void Judge::note_looking(const Done& done) {
  if (done.op.kind == Kind::kPoll) {
    const auto looks = about_to_look_.find(done.op.ids.front());
    const bool saw = looks != about_to_look_.end() && looks->second <= done.begun;
    if (saw) about_to_look_.erase(looks);
  }
  for (const auto& [id, waiter] : model_.waiters) {
    if (std::ranges::find(done.wake, waiter.wake) == done.wake.end()) continue;
    if (!about_to_look_.contains(id)) probe("woken to look for a cycle");
    about_to_look_[id] = done.version;
  }
}

bool Judge::lies_in_dead(const Entry& entry) const {
  return std::ranges::any_of(model_.leases, [&](const auto& lease) {
    return model_.descends(entry, lease.first) && model_.dead(lease.second);
  });
}

void Judge::check_cycles(const std::set<LeaseId>& looking, const core::Prober& view) {
  std::erase_if(about_to_look_,
                [&](const auto& looks) { return !model_.waiters.contains(looks.first); });
  if (model_.waiters.size() < 2) return;
  const std::vector<LeaseId> cycle = model_.waiters_in_cycles(view);
  if (cycle.empty()) return;
  // A death that is seen in one pid namespace alone can make a cycle: whoever could pass another
  // because of that lease no longer does. There the next poll finds it; elsewhere there is none.
  constexpr std::uint64_t kNobodysNamespace = ~0ULL;
  if (model_.waiters_in_cycles(View(model_.processes(), kNobodysNamespace)).empty()) return;
  probe("a cycle without an enqueue");
  std::string members;
  for (const LeaseId& id : cycle) {
    if (looking.contains(id) || about_to_look_.contains(id)) return;
    const Entry& waiter = model_.waiters.at(id);
    // Dead, and from here it cannot be seen: for those who can see it there is no cycle.
    if (lies_in_dead(waiter)) return;
    for (const Block& block : model_.blocks(waiter, waiter.created, view)) {
      const Entry& before = (block.waiting ? model_.waiters : model_.leases).at(block.id);
      const std::string over =
          block.waiting ? model_.over_waiter(before, view) : model_.over_lease(before, view);
      if (!over.empty() || model_.dead(before) || lies_in_dead(before)) return;
    }
    members += "\n  " + describe(waiter, model_.world());
    for (const Block& block : model_.blocks(waiter, waiter.created, view)) {
      const Entry& before = (block.waiting ? model_.waiters : model_.leases).at(block.id);
      members += "\n    behind " + describe(before, model_.world());
    }
  }
  fail("L5: a deadlock that nobody looks for:" + members);
}

}  // namespace lockkeeper::sim
