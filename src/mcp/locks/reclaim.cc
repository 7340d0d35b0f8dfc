#include "mcp/locks/reclaim.h"

#include <set>

#include "core/sessions.h"

namespace lockkeeper::mcp::locks {
namespace {

constexpr std::int64_t kReclaimEveryMs = 5'000;
constexpr std::size_t kOwnersRemembered = 10'000;

}  // namespace

bool Reclaim::looked_lately(const core::Owner& owner) {
  const std::int64_t now = site_.runtime().clock->now().mono_ms;
  const std::lock_guard lock(mutex_);
  if (looked_ms_.size() > kOwnersRemembered) looked_ms_.clear();
  const auto [found, first] = looked_ms_.try_emplace({owner.agent, owner.session}, now);
  if (!first && now - found->second < kReclaimEveryMs) return true;
  found->second = now;
  return false;
}

void Reclaim::take_back(const core::Owner& owner, const Slot& slot) {
  service::Locks locks(site_, owner);
  const auto any = locks.has_orphans();
  if (!any || !*any) return;
  const auto here = slot();
  if (here) static_cast<void>(locks.reclaim(*here));
}

void Reclaim::for_owner(const core::Owner& owner, const Slot& slot) {
  if (!owner.session.empty() && !looked_lately(owner)) take_back(owner, slot);
}

void Reclaim::for_session(const std::string& session, const Slot& slot) {
  if (session.empty()) return;
  const core::Owner whole{"lockkeeper", session};
  service::Locks locks(site_, whole);
  const auto reply = locks.list({});
  if (!reply) return;
  std::set<std::pair<std::string, std::string>> owners;
  for (const service::ListedLease& each : reply->leases) {
    const core::Owner& owner = each.lease.owner;
    const bool ours = owner.session == session || core::is_part_of(owner, whole);
    if (!each.lease.foreign && ours) owners.insert({owner.agent, owner.session});
  }
  for (const auto& [agent, of] : owners) take_back({agent, of}, slot);
}

Result<std::vector<core::LostLease>> Reclaim::settle(const core::Owner& owner,
                                                     const core::Attachment& slot) {
  return service::Locks(site_, owner).resume_session(slot);
}

}  // namespace lockkeeper::mcp::locks
