#include "model.h"

#include <deque>

namespace lockkeeper::sim {

using core::Alive;
using core::LeaseId;
using core::Prober;

namespace {

// "S/x" is a part of "S"; "-/x" is one of its agent that has no session. A command ("run-…") is a
// part of its own agent's session only.
bool is_part(const core::Owner& owner, const core::Owner& whole) {
  if (whole.session.empty()) {
    return owner.agent == whole.agent && owner.session.size() > 2 &&
           owner.session.starts_with("-/");
  }
  const std::string below = whole.session + "/";
  if (owner.session.size() <= below.size() || !owner.session.starts_with(below)) return false;
  return owner.session.compare(below.size(), 4, "run-") != 0 || owner.agent == whole.agent;
}

core::Owner owner_of(const OwnerKey& key) {
  return {key.first, key.second};
}

}  // namespace

bool Entry::attached() const {
  for (const core::Attachment& hold : holds) {
    if (!hold.attached()) return false;
  }
  return true;
}

Alive Model::seen(const Entry& entry, const Prober& view) const {
  bool unknown = false;
  for (const core::Attachment& hold : entry.holds) {
    const Alive one = hold.attached() ? view.probe(hold) : Alive::kUnknown;
    if (one == Alive::kAlive) return one;
    unknown = unknown || one == Alive::kUnknown;
  }
  return unknown ? Alive::kUnknown : Alive::kDead;
}

bool Model::dead(const Entry& entry) const {
  for (const core::Attachment& hold : entry.holds) {
    if (!processes_.dead(hold)) return false;
  }
  return true;
}

const Entry* Model::lease(const LeaseId& id) const {
  const auto found = leases.find(id);
  return found == leases.end() ? nullptr : &found->second;
}

void Model::reboot(const kv::Epoch& next) {
  epoch = next;
  now = next.start_mono_ms;
  for (auto& [id, entry] : leases) {
    if (entry.attached()) entry.rebooted = true;
    if (entry.ttl_ms != kNoEnd) entry.deadline = now + entry.ttl_ms;
    entry.carried = !entry.attached() && entry.ttl_ms != kNoEnd;
    if (!entry.attached()) entry.holds = {core::Attachment{}};
    if (entry.edit) {
      entry.edit->touched_mono_ms =
          entry.edit->confirmed ? -core::kUntouchedMs : -core::kUnreportedMs;
    }
  }
  activities.clear();
  for (auto& [id, entry] : waiters) entry.rebooted = true;
}

std::string Model::over_lease(const Entry& entry, const Prober& view) const {
  if (!entry.parent.empty()) {
    const Entry* parent = lease(entry.parent);
    if (parent == nullptr || !over_lease(*parent, view).empty()) return "parent_ended";
  }
  if (entry.rebooted) return "reboot";
  if (entry.confirm_by != 0 && now > entry.confirm_by) return "unconfirmed";
  if (entry.deadline != kNoEnd && now > entry.deadline) return "expired";
  if (!entry.attached()) return "";
  const Alive alive = seen(entry, view);
  if (alive == Alive::kDead && (entry.grace_ms == 0 || entry.confirm_by != 0)) return "died";
  const bool waited = entry.orphaned_at && now > *entry.orphaned_at + entry.grace_ms;
  return waited && alive != Alive::kAlive ? "died" : "";
}

std::string Model::over_waiter(const Entry& entry, const Prober& view) const {
  if (entry.rebooted) return "reboot";
  if (!entry.parent.empty()) {
    const Entry* parent = lease(entry.parent);
    if (parent == nullptr || !over_lease(*parent, view).empty()) return "parent_ended";
  }
  return seen(entry, view) == Alive::kDead ? "died" : "";
}

bool Model::is_orphan(const Entry& entry, const Prober& view) const {
  if (!entry.attached()) return false;
  const Alive alive = seen(entry, view);
  return alive == Alive::kDead || (entry.orphaned_at && alive != Alive::kAlive);
}

bool Model::yields(const Entry& entry) const {
  if (!entry.edit || entry.confirm_by != 0) return false;
  std::int64_t kept_until = entry.edit->touched_mono_ms;
  kept_until += entry.edit->confirmed ? core::kUntouchedMs : core::kUnreportedMs;
  const auto doing = activities.find(key_of(entry.owner));
  if (doing != activities.end()) {
    if (doing->second.idle) return now > 0;
    for (const core::RunningCall& call : doing->second.calls) {
      if (!entry.edit->confirmed) break;
      kept_until = std::max(kept_until, call.begun_mono_ms + core::kCallCountsMs);
    }
  }
  return now > kept_until;
}

bool Model::yields_to(const Entry& request, const Entry& lease, const Prober& view) const {
  if (!yields(lease)) return false;
  for (const auto& [id, inner] : leases) {
    const bool ours = descends(inner, lease.id) && on_side(request, inner);
    if (ours && over_lease(inner, view).empty()) return false;
  }
  return true;
}

bool Model::gives_way(const Entry& request, const std::set<Block>& blocks,
                      const Prober& view) const {
  for (const Block& block : blocks) {
    if (block.waiting || !yields_to(request, leases.at(block.id), view)) return false;
  }
  return true;
}

bool Model::meet(const Entry& a, const Entry& b) {
  return a.worktree.empty() || b.worktree.empty() || a.worktree == b.worktree;
}

bool Model::conflict(const Entry& a, const Entry& b) const {
  if (!meet(a, b)) return false;
  for (const Want& first : a.wants) {
    for (const Want& second : b.wants) {
      if (core::conflict(first.mode, second.mode) &&
          world_.overlap(first.resource, second.resource)) {
        return true;
      }
    }
  }
  return false;
}

bool Model::descends(const Entry& entry, const LeaseId& ancestor) const {
  LeaseId next = entry.parent;
  while (!next.empty()) {
    if (next == ancestor) return true;
    const Entry* parent = lease(next);
    if (parent == nullptr) return false;
    next = parent->parent;
  }
  return false;
}

std::size_t Model::depth(const Entry& entry) const {
  const Entry* parent = entry.parent.empty() ? nullptr : lease(entry.parent);
  return parent == nullptr ? 1 : 1 + depth(*parent);
}

bool Model::on_side(const Entry& request, const Entry& held) const {
  if (held.owner == request.owner || descends(request, held.id)) return true;
  for (const core::Owner& owner : owners_behind(request)) {
    if (is_part(owner, held.owner)) return true;
  }
  return false;
}

bool Model::works_under(const Entry& request, const LeaseId& host, const Prober& view) const {
  for (const auto& [id, held] : leases) {
    const bool ours = held.owner == request.owner || is_part(request.owner, held.owner);
    if (ours && descends(held, host) && over_lease(held, view).empty()) return true;
  }
  return false;
}

bool Model::may_both_hold(const Entry& a, const Entry& b) const {
  return on_side(a, b) || on_side(b, a);
}

std::set<Block> Model::blocks(const Entry& request, kv::Version before, const Prober& view) const {
  std::set<Block> found;
  const std::vector<core::Owner> behind = owners_behind(request);
  std::vector<const Entry*> side;
  for (const auto& [id, held] : leases) {
    if (on_side(request, held)) {
      if (over_lease(held, view).empty() && !yields(held)) side.push_back(&held);
      continue;
    }
    if (!meet(request, held)) continue;
    for (const Want& wanted : request.wants) {
      for (const Want& other : held.wants) {
        if (core::conflict(wanted.mode, other.mode) &&
            world_.overlap(wanted.resource, other.resource)) {
          found.insert({id, false, wanted.resource, other.resource});
        }
      }
    }
  }
  for (const auto& [id, waiter] : waiters) {
    if (id == request.id || waiter.owner == request.owner) continue;
    if (!meet(request, waiter) || (before != 0 && waiter.created >= before)) continue;
    bool passed = false;
    for (const core::Owner& owner : behind) passed = passed || is_part(owner, waiter.owner);
    for (const Entry* held : side) passed = passed || conflict(*held, waiter);
    if (passed) continue;
    for (const Want& wanted : request.wants) {
      for (const Want& other : waiter.wants) {
        if (core::conflict(wanted.mode, other.mode) &&
            world_.overlap(wanted.resource, other.resource)) {
          found.insert({id, true, wanted.resource, other.resource});
        }
      }
    }
  }
  return found;
}

std::set<Block> Model::without_over(const std::set<Block>& blocks, const Prober& view) const {
  std::set<Block> live;
  for (const Block& block : blocks) {
    const std::string over = block.waiting ? over_waiter(waiters.at(block.id), view)
                                           : over_lease(leases.at(block.id), view);
    if (over.empty()) live.insert(block);
  }
  return live;
}

std::set<OwnerKey> Model::owners_of(const Entry& request, const std::set<Block>& blocks,
                                    const Prober& view) const {
  std::set<OwnerKey> owners;
  for (const Block& block : without_over(blocks, view)) {
    if (!block.waiting && yields_to(request, leases.at(block.id), view)) continue;
    owners.insert(key_of(block.waiting ? waiters.at(block.id).owner : leases.at(block.id).owner));
  }
  return owners;
}

std::vector<core::Owner> Model::owners_behind(const Entry& request) const {
  std::vector<core::Owner> owners{request.owner};
  LeaseId next = request.parent;
  while (!next.empty()) {
    const Entry* parent = lease(next);
    if (parent == nullptr) break;
    owners.push_back(parent->owner);
    next = parent->parent;
  }
  return owners;
}

bool Model::for_sake_of(const Entry& request, const OwnerKey& owner) const {
  for (const core::Owner& behind : owners_behind(request)) {
    if (key_of(behind) == owner || is_part(behind, owner_of(owner))) return true;
  }
  return false;
}

std::set<OwnerKey> Model::waits_for(const OwnerKey& owner, const Prober& view) const {
  std::set<OwnerKey> targets;
  for (const auto& [id, waiter] : waiters) {
    if (!for_sake_of(waiter, owner) || !over_waiter(waiter, view).empty()) continue;
    targets.merge(owners_of(waiter, blocks(waiter, waiter.created, view), view));
  }
  return targets;
}

bool Model::closes_cycle(const Entry& request, const std::set<Block>& blocks,
                         const Prober& view) const {
  std::set<OwnerKey> reached = owners_of(request, blocks, view);
  std::deque<OwnerKey> frontier(reached.begin(), reached.end());
  while (!frontier.empty()) {
    const OwnerKey owner = frontier.front();
    frontier.pop_front();
    if (for_sake_of(request, owner)) return true;
    for (const OwnerKey& next : waits_for(owner, view)) {
      if (reached.insert(next).second) frontier.push_back(next);
    }
  }
  return false;
}

std::vector<LeaseId> Model::waiters_in_cycles(const Prober& view) const {
  struct Waiting {
    LeaseId id;
    const Entry* waiter;
    std::set<OwnerKey> targets;
  };
  std::vector<Waiting> all;
  for (const auto& [id, waiter] : waiters) {
    if (!over_waiter(waiter, view).empty()) continue;
    all.push_back({id, &waiter, owners_of(waiter, blocks(waiter, waiter.created, view), view)});
  }
  std::vector<LeaseId> found;
  for (const Waiting& from : all) {
    std::set<OwnerKey> reached = from.targets;
    std::deque<OwnerKey> frontier(reached.begin(), reached.end());
    bool cycle = false;
    while (!frontier.empty() && !cycle) {
      const OwnerKey owner = frontier.front();
      frontier.pop_front();
      cycle = for_sake_of(*from.waiter, owner);
      for (const Waiting& next : all) {
        if (!for_sake_of(*next.waiter, owner)) continue;
        for (const OwnerKey& target : next.targets) {
          if (reached.insert(target).second) frontier.push_back(target);
        }
      }
    }
    if (cycle) found.push_back(from.id);
  }
  return found;
}

std::size_t Model::claims_of_agent(const std::string& agent) const {
  std::size_t count = 0;
  for (const auto* entries : {&leases, &waiters}) {
    for (const auto& [id, entry] : *entries) {
      if (entry.owner.agent == agent) count += entry.wants.size();
    }
  }
  return count;
}

std::size_t Model::claims_of(const core::Owner& owner) const {
  std::size_t count = 0;
  for (const auto* entries : {&leases, &waiters}) {
    for (const auto& [id, entry] : *entries) {
      if (entry.owner == owner) count += entry.wants.size();
    }
  }
  return count;
}

}  // namespace lockkeeper::sim
