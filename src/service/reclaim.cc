// What earlier processes of a session left behind, bound to one that lives (rule 8).
#include "core/conflicts.h"
#include "service/locks.h"
#include "service/questions.h"

namespace lockkeeper::service {
namespace {

constexpr std::size_t kEndedAtOnce = 100;

bool is_orphan_of(const core::Owner& owner, const core::Lease& lease, const core::Condition& now) {
  return lease.terms.orphan_grace_ms != 0 && lease.held_by(owner) && !now.over &&
         core::is_orphan(lease, now);
}

Result<void> reclaim_in(core::Table& table, const core::Owner& owner,
                        const core::Attachment& attachment) {
  std::vector<core::LeaseId> orphans;
  LK_ASSIGN(const std::vector<core::LeaseId> ids, table.state().leases_of(owner));
  for (const core::LeaseId& id : ids) {
    LK_ASSIGN(const core::Lease* const lease, table.state().lease(id));
    if (lease == nullptr) continue;
    LK_ASSIGN(const core::Condition now, core::condition(table.state(), *lease));
    if (is_orphan_of(owner, *lease, now)) orphans.push_back(id);
  }
  LK_CHECK(table.renew(owner, orphans, std::nullopt, attachment));
  return {};
}

}  // namespace

Result<bool> Locks::has_orphans() {
  LK_ASSIGN(const std::vector<ListedLease> own, leases_of(table_, owner_));
  bool any = false;
  for (const auto& [lease, now] : own) any |= is_orphan_of(owner_, lease, now);
  return any;
}

Result<void> Locks::reclaim(const core::Attachment& attachment) {
  LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
    LK_CHECK(reclaim_in(table, owner_, attachment));
    return false;
  }));
  return {};
}

Result<std::vector<core::LostLease>> Locks::settle(const core::Attachment& attachment) {
  std::vector<core::LostLease> lost;
  LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
    LK_ASSIGN(const bool more, table.maintain(kEndedAtOnce));
    if (more) return true;
    if (!owner_.session.empty()) LK_CHECK(reclaim_in(table, owner_, attachment));
    LK_ASSIGN(lost, table.take_lost_notices(owner_));
    return false;
  }));
  return lost;
}

}  // namespace lockkeeper::service
