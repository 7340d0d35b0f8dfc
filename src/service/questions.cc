#include "service/questions.h"

#include <set>

#include "core/history.h"
#include "core/table.h"
#include "layout/lock_table.h"
#include "service/report.h"

namespace lockkeeper::service {
namespace {

Result<std::vector<ListedLease>> with_conditions(core::Table& table,
                                                 const std::vector<core::LeaseId>& ids) {
  std::vector<ListedLease> found;
  for (const core::LeaseId& id : ids) {
    LK_ASSIGN(const core::Lease* const lease, table.state().lease(id));
    if (lease == nullptr) continue;
    LK_ASSIGN(core::Condition now, core::condition(table.state(), *lease));
    found.push_back({*lease, std::move(now)});
  }
  return found;
}

Result<std::optional<std::string>> how_it_ended(core::Table& table, const LeaseAndFence& asked) {
  const std::string name = "lease " + asked.id.text();
  LK_ASSIGN(const core::Lease* const lease, table.state().lease(asked.id));
  if (lease == nullptr) {
    LK_ASSIGN(const std::optional<core::LostLease> lost, table.lost(asked.id));
    return lost ? lost_text(*lost) : "there is no " + name + " any more";
  }
  LK_ASSIGN(const core::Condition now, core::condition(table.state(), *lease));
  if (lease->fence() == asked.fence && !now.over) return std::nullopt;
  return name + " has ended" + (now.over ? " (" + now.cause + ")" : "");
}

}  // namespace

Result<std::optional<ListedLease>> find_lease(layout::LockTable& table, const core::LeaseId& id) {
  std::vector<ListedLease> found;
  LK_CHECK(table.read([&](core::Table& rows) -> Result<void> {
    LK_ASSIGN(found, with_conditions(rows, {id}));
    return {};
  }));
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

Result<std::vector<ListedLease>> leases_of(layout::LockTable& table, const core::Owner& owner) {
  std::vector<ListedLease> found;
  LK_CHECK(table.read([&](core::Table& rows) -> Result<void> {
    LK_ASSIGN(const std::vector<core::LeaseId> ids, rows.state().leases_of(owner));
    LK_ASSIGN(found, with_conditions(rows, ids));
    return {};
  }));
  return found;
}

Result<std::vector<ListedLease>> holders_of(layout::LockTable& table,
                                            std::span<const key::Resource> resources) {
  std::vector<ListedLease> found;
  LK_CHECK(table.read([&](core::Table& rows) -> Result<void> {
    found.clear();
    for (const key::Resource& resource : resources) {
      LK_ASSIGN(const std::vector<core::LeaseId> ids, rows.holders_of(resource));
      LK_ASSIGN(std::vector<ListedLease> some, with_conditions(rows, ids));
      for (ListedLease& one : some) found.push_back(std::move(one));
    }
    return {};
  }));
  return found;
}

Result<std::vector<OverlappingClaim>> overlapping_claims(layout::LockTable& table,
                                                         std::span<const key::Resource> resources) {
  std::vector<OverlappingClaim> found;
  LK_CHECK(table.read([&](core::Table& rows) -> Result<void> {
    std::vector<core::State::Hit> hits;
    for (const key::Resource& resource : resources) {
      core::State::Look where;
      for (const core::Mode mode : {core::Mode::kExclusive, core::Mode::kShared}) {
        where.mode = mode;
        LK_CHECK(rows.state().overlapping(
            resource, where, [&](core::State::Hit hit) { hits.push_back(std::move(hit)); }));
      }
    }
    std::set<std::pair<core::LeaseId, std::string>> seen;
    for (const core::State::Hit& hit : hits) {
      if (!seen.emplace(hit.id, hit.resource.text()).second) continue;
      LK_ASSIGN(const std::vector<ListedLease> lease, with_conditions(rows, {hit.id}));
      if (lease.empty() || lease.front().condition.over) continue;
      found.push_back({lease.front().lease, {hit.resource, hit.mode, 0}});
    }
    return {};
  }));
  return found;
}

Result<std::uint64_t> newest_event(layout::LockTable& table) {
  std::uint64_t newest = 0;
  LK_CHECK(table.read([&](core::Table& rows) -> Result<void> {
    LK_ASSIGN(newest, core::newest_event(rows.state()));
    return {};
  }));
  return newest;
}

Result<std::vector<core::Event>> last_events(layout::LockTable& table, std::size_t most) {
  std::vector<core::Event> events;
  LK_CHECK(table.read([&](core::Table& rows) -> Result<void> {
    LK_ASSIGN(events, core::last_events(rows.state(), most));
    return {};
  }));
  return events;
}

Result<std::vector<std::optional<std::string>>> how_they_ended(
    layout::LockTable& table, std::span<const LeaseAndFence> leases) {
  std::vector<std::optional<std::string>> ended;
  LK_CHECK(table.read([&](core::Table& rows) -> Result<void> {
    ended.clear();
    for (const LeaseAndFence& one : leases) {
      LK_ASSIGN(std::optional<std::string> why, how_it_ended(rows, one));
      ended.push_back(std::move(why));
    }
    return {};
  }));
  return ended;
}

}  // namespace lockkeeper::service
