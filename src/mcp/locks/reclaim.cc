#include "mcp/locks/reclaim.h"

#include <set>

namespace lockkeeper::mcp::locks {
namespace {

constexpr std::int64_t kLookEveryMs = 5'000;
constexpr std::size_t kOwnersRemembered = 10'000;

}  // namespace

bool Reclaim::looked_lately(const core::Owner& owner) {
  const std::int64_t now = site_.runtime().clock->now().mono_ms;
  const std::lock_guard lock(mutex_);
  if (looked_ms_.size() > kOwnersRemembered) looked_ms_.clear();
  const auto [found, first] = looked_ms_.try_emplace({owner.agent, owner.session}, now);
  if (!first && now - found->second < kLookEveryMs) return true;
  found->second = now;
  return false;
}

void Reclaim::for_owner(const core::Owner& owner) {
  if (owner.session.empty() || looked_lately(owner)) return;
  service::Locks locks(site_, owner);
  const auto any = locks.has_orphans();
  if (!any || !*any) return;
  const auto slot = site_.table().own_slot();
  if (slot) static_cast<void>(locks.reclaim(*slot));
}

void Reclaim::for_session(const std::string& session) {
  if (session.empty()) return;
  service::Locks locks(site_, {"lockkeeper", session});
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
  LK_ASSIGN(const core::Attachment slot, site_.table().own_slot());
  return service::Locks(site_, owner).resume_session(slot);
}

}  // namespace lockkeeper::mcp::locks
