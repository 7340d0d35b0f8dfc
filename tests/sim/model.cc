#include "model.h"

#include <deque>

namespace lockkeeper::sim {

using core::Alive;
using core::LeaseId;
using core::Prober;

const Entry* Model::lease(const LeaseId& id) const {
  const auto found = leases.find(id);
  return found == leases.end() ? nullptr : &found->second;
}

void Model::reboot(const kv::Epoch& next) {
  epoch = next;
  now = next.start_mono_ms;
  for (auto& [id, entry] : leases) {
    if (entry.attachment.attached()) entry.rebooted = true;
    if (entry.ttl_ms != kNoEnd) entry.deadline = now + entry.ttl_ms;
    entry.carried = !entry.attachment.attached() && entry.ttl_ms != kNoEnd;
  }
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
  if (!entry.attachment.attached()) return "";
  const Alive seen = view.probe(entry.attachment);
  if (seen == Alive::kDead && (entry.grace_ms == 0 || entry.confirm_by != 0)) return "died";
  const bool waited = entry.orphaned_at && now > *entry.orphaned_at + entry.grace_ms;
  return waited && seen != Alive::kAlive ? "died" : "";
}

std::string Model::over_waiter(const Entry& entry, const Prober& view) const {
  if (entry.rebooted) return "reboot";
  if (!entry.parent.empty()) {
    const Entry* parent = lease(entry.parent);
    if (parent == nullptr || !over_lease(*parent, view).empty()) return "parent_ended";
  }
  return view.probe(entry.attachment) == Alive::kDead ? "died" : "";
}

bool Model::is_orphan(const Entry& entry, const Prober& view) const {
  if (!entry.attachment.attached()) return false;
  const Alive seen = view.probe(entry.attachment);
  return seen == Alive::kDead || (entry.orphaned_at && seen != Alive::kAlive);
}

bool Model::conflict(const Entry& a, const Entry& b) const {
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
  return held.owner == request.owner || descends(request, held.id) ||
         (!held.owner.session.empty() &&
          request.owner.session.starts_with(held.owner.session + "/"));
}

bool Model::may_both_hold(const Entry& a, const Entry& b) const {
  return on_side(a, b) || on_side(b, a);
}

std::set<Block> Model::blocks(const Entry& request, kv::Version before, const Prober& view) const {
  std::set<Block> found;
  std::vector<const Entry*> side;
  for (const auto& [id, held] : leases) {
    if (on_side(request, held)) {
      if (over_lease(held, view).empty()) side.push_back(&held);
      continue;
    }
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
    if (before != 0 && waiter.created >= before) continue;
    bool passed = false;
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

std::set<OwnerKey> Model::owners_of(const std::set<Block>& blocks, const Prober& view) const {
  std::set<OwnerKey> owners;
  for (const Block& block : without_over(blocks, view)) {
    owners.insert(key_of(block.waiting ? waiters.at(block.id).owner : leases.at(block.id).owner));
  }
  return owners;
}

std::set<OwnerKey> Model::side_of(const Entry& request) const {
  std::set<OwnerKey> side{key_of(request.owner)};
  LeaseId next = request.parent;
  while (!next.empty()) {
    const Entry* parent = lease(next);
    if (parent == nullptr) break;
    side.insert(key_of(parent->owner));
    next = parent->parent;
  }
  return side;
}

std::set<OwnerKey> Model::waits_for(const OwnerKey& owner, const Prober& view) const {
  std::set<OwnerKey> targets;
  for (const auto& [id, waiter] : waiters) {
    if (!side_of(waiter).contains(owner) || !over_waiter(waiter, view).empty()) continue;
    targets.merge(owners_of(blocks(waiter, waiter.created, view), view));
  }
  return targets;
}

bool Model::closes_cycle(const Entry& request, const std::set<Block>& blocks,
                         const Prober& view) const {
  const std::set<OwnerKey> goal = side_of(request);
  std::set<OwnerKey> seen = owners_of(blocks, view);
  std::deque<OwnerKey> frontier(seen.begin(), seen.end());
  while (!frontier.empty()) {
    const OwnerKey owner = frontier.front();
    frontier.pop_front();
    if (goal.contains(owner)) return true;
    for (const OwnerKey& next : waits_for(owner, view)) {
      if (seen.insert(next).second) frontier.push_back(next);
    }
  }
  return false;
}

std::vector<LeaseId> Model::waiters_in_cycles(const Prober& view) const {
  struct Waiting {
    LeaseId id;
    std::set<OwnerKey> side;
    std::set<OwnerKey> targets;
  };
  std::vector<Waiting> all;
  for (const auto& [id, waiter] : waiters) {
    if (!over_waiter(waiter, view).empty()) continue;
    all.push_back({id, side_of(waiter), owners_of(blocks(waiter, waiter.created, view), view)});
  }
  std::vector<LeaseId> found;
  for (const Waiting& from : all) {
    std::set<OwnerKey> seen = from.targets;
    std::deque<OwnerKey> frontier(seen.begin(), seen.end());
    bool cycle = false;
    while (!frontier.empty() && !cycle) {
      const OwnerKey owner = frontier.front();
      frontier.pop_front();
      cycle = from.side.contains(owner);
      for (const Waiting& next : all) {
        if (!next.side.contains(owner)) continue;
        for (const OwnerKey& target : next.targets) {
          if (seen.insert(target).second) frontier.push_back(target);
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
