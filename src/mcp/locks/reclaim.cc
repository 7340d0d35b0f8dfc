#include "mcp/locks/reclaim.h"

#include <set>

namespace lockkeeper::mcp {
namespace {

constexpr std::int64_t kLookEveryMs = 5'000;
constexpr std::size_t kOwnersRemembered = 10'000;
constexpr std::size_t kEndedAtOnce = 100;

Result<std::vector<core::LeaseId>> orphans(core::Table& table, const core::Owner& owner) {
  std::vector<core::LeaseId> found;
  LK_ASSIGN(const std::vector<core::LeaseId> ids, table.state().leases_of(owner));
  for (const core::LeaseId& id : ids) {
    LK_ASSIGN(const core::Lease* const lease, table.state().lease(id));
    if (lease == nullptr || lease->terms.orphan_grace_ms == 0 || !lease->held_by(owner)) continue;
    LK_ASSIGN(const core::Condition now, core::condition(table.state(), *lease));
    if (!now.over && core::is_orphan(*lease, now)) found.push_back(id);
  }
  return found;
}

}  // namespace

bool Reclaim::looked_lately(const core::Owner& owner) {
  const std::int64_t now = table_.runtime().clock->now().mono_ms;
  const std::lock_guard lock(mutex_);
  if (looked_ms_.size() > kOwnersRemembered) looked_ms_.clear();
  const auto [found, first] = looked_ms_.try_emplace({owner.agent, owner.session}, now);
  if (!first && now - found->second < kLookEveryMs) return true;
  found->second = now;
  return false;
}

Result<bool> Reclaim::has_orphans(const core::Owner& owner) {
  bool any = false;
  LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
    LK_ASSIGN(const std::vector<core::LeaseId> found, orphans(table, owner));
    any = !found.empty();
    return {};
  }));
  return any;
}

void Reclaim::for_owner(const core::Owner& owner) {
  if (owner.session.empty() || looked_lately(owner)) return;
  const auto any = has_orphans(owner);
  if (!any || !*any) return;
  const auto slot = table_.own_slot();
  if (!slot) return;
  static_cast<void>(table_.write([&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(const std::vector<core::LeaseId> found, orphans(table, owner));
    LK_CHECK(table.renew(owner, found, std::nullopt, *slot));
    return false;
  }));
}

void Reclaim::for_session(const std::string& session) {
  if (session.empty()) return;
  service::Locks locks(table_, {"lockkeeper", session});
  const auto reply = locks.list({});
  if (!reply) return;
  std::set<std::string> agents;
  for (const service::ListedLease& each : reply->leases) {
    if (!each.lease.foreign && each.lease.owner.session == session) {
      agents.insert(each.lease.owner.agent);
    }
  }
  for (const std::string& agent : agents) for_owner({agent, session});
}

Result<std::vector<core::LostLease>> Reclaim::settle(const core::Owner& owner) {
  LK_ASSIGN(const core::Attachment slot, table_.own_slot());
  std::vector<core::LostLease> lost;
  LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(const bool more, table.maintain(kEndedAtOnce));
    if (more) return true;
    LK_ASSIGN(const std::vector<core::LeaseId> found, orphans(table, owner));
    if (!owner.session.empty()) LK_CHECK(table.renew(owner, found, std::nullopt, slot));
    LK_ASSIGN(lost, table.take_lost_notices(owner));
    return false;
  }));
  return lost;
}

}  // namespace lockkeeper::mcp
