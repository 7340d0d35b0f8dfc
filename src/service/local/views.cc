// Looking: changes nothing. Many rows are read page by page, so that nobody waits for a reader.
#include <algorithm>
#include <set>

#include "core/browse.h"
#include "core/history.h"
#include "layout/mirror.h"
#include "service/local/local_service.h"
#include "service/local/spelling.h"

namespace lockkeeper::service::local {
namespace {

// An empty list of resources overlaps everything.
Result<bool> overlaps(const std::vector<key::Resource>& resources, const core::Lease& lease) {
  for (const key::Resource& resource : resources) {
    for (const core::Claim& claim : lease.claims) {
      LK_ASSIGN(const std::optional<std::string> common, key::overlap(resource, claim.resource));
      if (common) return true;
    }
  }
  return resources.empty();
}

// A history line keeps texts, not kinds: read them as they were written.
Result<bool> overlaps(const key::Resource& resource, const core::Event& event,
                      const key::Rules& rules) {
  for (const std::string& text : event.resources) {
    for (const key::Syntax syntax : {key::Syntax::kAuto, key::Syntax::kLiteral}) {
      auto parsed = key::parse(text, rules, syntax);
      if (!parsed) continue;
      LK_ASSIGN(const std::optional<std::string> common, key::overlap(resource, parsed->resource));
      if (common) return true;
    }
  }
  return false;
}

bool holds_exactly(const std::vector<key::Resource>& resources, const core::Lease& lease) {
  return resources.empty() || std::ranges::any_of(lease.claims, [&](const core::Claim& claim) {
           return std::ranges::find(resources, claim.resource) != resources.end();
         });
}

Result<bool> matches(const ListCall& call, const core::Lease& lease) {
  if (!call.leases.empty() && std::ranges::find(call.leases, lease.id) == call.leases.end()) {
    return false;
  }
  if (call.owner && !lease.held_by(*call.owner)) return false;
  if (!call.agent.empty() && lease.owner.agent != call.agent) return false;
  if (!call.task.empty() && lease.terms.task != call.task) return false;
  if (!holds_exactly(call.exact, lease)) return false;
  return overlaps(call.overlapping, lease);
}

// The leases that may match, found through an index; nullopt: no index helps.
Result<std::optional<std::vector<core::LeaseId>>> candidates(core::Table& table,
                                                             const ListCall& call) {
  if (!call.leases.empty()) return call.leases;
  if (call.owner) return table.state().leases_of(*call.owner);
  std::set<core::LeaseId> found;
  for (const key::Resource& resource : call.exact) {
    LK_ASSIGN(const std::vector<core::LeaseId> ids, table.holders_of(resource));
    found.insert(ids.begin(), ids.end());
  }
  if (!call.exact.empty()) return std::vector<core::LeaseId>(found.begin(), found.end());
  for (const key::Resource& resource : call.overlapping) {
    for (const core::Mode mode : {core::Mode::kExclusive, core::Mode::kShared}) {
      core::State::Look where;
      where.mode = mode;
      const auto looked = table.state().overlapping(
          resource, where, [&](const core::State::Hit& hit) { found.insert(hit.id); });
      // Too many for the index: they are read page by page.
      if (!looked && looked.error().code == Code::kLimitExceeded) return std::nullopt;
      LK_CHECK(looked);
    }
  }
  if (!call.overlapping.empty()) return std::vector<core::LeaseId>(found.begin(), found.end());
  return std::nullopt;
}

Result<void> add_if_wanted(core::Table& table, const ListCall& call, core::Lease lease,
                           ListReply& reply) {
  LK_ASSIGN(const bool wanted, matches(call, lease));
  if (!wanted) return {};
  LK_ASSIGN(core::Condition now, condition(table.state(), lease));
  reply.leases.push_back({std::move(lease), std::move(now)});
  return {};
}

Result<void> list_candidates(core::Table& table, const ListCall& call,
                             const std::vector<core::LeaseId>& ids, ListReply& reply) {
  for (const core::LeaseId& id : ids) {
    LK_ASSIGN(const core::Lease* const lease, table.state().lease(id));
    if (lease != nullptr) LK_CHECK(add_if_wanted(table, call, *lease, reply));
    if (lease != nullptr || call.leases.empty()) continue;
    LK_ASSIGN(std::optional<core::LostLease> lost, table.lost(id));
    if (lost) reply.lost.push_back(std::move(*lost));
  }
  return {};
}

}  // namespace

Result<void> LocalService::scan_layouts() {
  layout::Mirror mirror(table_);
  LK_ASSIGN(const bool mirrored, mirror.open_to_write());
  return mirrored ? mirror.tick() : Result<void>();
}

// A process leaves no time of death, so the grace counts from the first sight of it. Best effort:
// looking works where nothing can be written.
void LocalService::note_deaths(const std::vector<core::LeaseId>& ids) {
  if (ids.empty()) return;
  static_cast<void>(table_.write([&](core::Table& table) -> Result<bool> {
    LK_CHECK(table.note_deaths(ids));
    return false;
  }));
}

Result<Reply<core::CheckReply>> LocalService::check(const CheckCall& call) {
  core::AcquireRequest request;
  request.owner = call.caller.owner;
  request.terms.worktree = call.worktree;
  request.under = call.caller.parent.lease;
  request.under_fence = call.caller.parent.fence;
  request.claims = call.claims;
  layout::Mirror mirror(table_);
  LK_ASSIGN(const bool mirrored, mirror.open());
  if (mirrored) LK_CHECK(mirror.scan(request.claims));
  core::CheckReply reply;
  for (bool verified = false;; verified = true) {
    reply = {};
    LK_ASSIGN(const bool there, table_.read([&](core::Table& table) -> Result<void> {
      LK_ASSIGN(reply, table.check(request, call.fence, call.lease));
      LK_CHECK(check_other_spellings(table, request, call.fence, call.lease, reply));
      return mirrored ? mirror.overlay(&table, request, reply) : Result<void>();
    }));
    if (!there) reply.free = true;
    if (!there && mirrored) LK_CHECK(mirror.overlay(nullptr, request, reply));
    if (!mirrored || !there || reply.free || verified) break;
    LK_ASSIGN(const bool changed, mirror.verify(reply.conflicts));
    if (!changed) break;
  }
  std::vector<core::LeaseId> dead;
  for (const core::Conflict& conflict : reply.conflicts) {
    const bool seen_first =
        conflict.alive == core::Alive::kDead && conflict.holder.orphaned_mono_ms == 0;
    if (seen_first && !conflict.waiting) dead.push_back(conflict.holder.id);
  }
  note_deaths(dead);
  return with_notices(call.caller, std::move(reply));
}

Result<Reply<ListReply>> LocalService::list(const ListCall& call) {
  if (call.scan_layouts) LK_CHECK(scan_layouts());
  ListReply reply;
  std::string from;
  int pages = 0;
  do {
    LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
      LK_ASSIGN(const auto ids, candidates(table, call));
      if (ids) return list_candidates(table, call, *ids, reply);
      LK_ASSIGN(core::LeasePage page, core::lease_page(table.state(), from));
      for (core::Lease& lease : page.leases) {
        LK_CHECK(add_if_wanted(table, call, std::move(lease), reply));
      }
      from = page.next;
      return {};
    }));
    ++pages;
  } while (!from.empty());
  while (call.with_waiters) {
    LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
      LK_ASSIGN(core::WaiterPage page, core::waiter_page(table.state(), from));
      for (core::Waiter& waiter : page.waiters) {
        LK_ASSIGN(const bool wanted, matches(call, waiter.request));
        if (!wanted) continue;
        // Whoever died in the queue stays there until somebody meets it, but waits no more.
        LK_ASSIGN(const core::Condition now, core::condition(table.state(), waiter));
        if (!now.over) reply.waiters.push_back(std::move(waiter));
      }
      from = page.next;
      return {};
    }));
    ++pages;
    if (from.empty()) break;
  }
  // As their turns come, not as the rows lie.
  std::ranges::sort(reply.waiters, {},
                    [](const core::Waiter& each) { return each.request.created; });
  reply.moved = pages > 2;
  std::vector<core::LeaseId> dead;
  for (const auto& listed : reply.leases) {
    if (listed.condition.newly_orphaned) dead.push_back(listed.lease.id);
  }
  note_deaths(dead);
  return with_notices(call.caller, std::move(reply));
}

Result<Reply<std::vector<core::Event>>> LocalService::events(const EventsCall& call) {
  std::vector<core::Event> events;
  if (call.newest) {
    LK_ASSIGN(events, table_.get([&](core::Table& table) {
      return core::last_events(table.state(), call.most);
    }));
    return with_notices(call.caller, std::move(events));
  }
  std::uint64_t after = call.since_seq;
  bool more = true;
  while (more && events.size() < call.most) {
    more = false;
    LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
      LK_ASSIGN(std::vector<core::Event> page,
                core::events_after(table.state(), after, core::kPageRows));
      more = page.size() == core::kPageRows;
      for (core::Event& event : page) {
        after = event.seq;
        const bool other_agent =
            !call.agent.empty() && event.owner.agent != call.agent && event.by.agent != call.agent;
        if (other_agent || event.at_wall_ms < call.since_wall_ms) continue;
        bool wanted = true;
        if (call.overlapping) {
          LK_ASSIGN(wanted, overlaps(*call.overlapping, event, rules()));
        }
        if (wanted && events.size() < call.most) events.push_back(std::move(event));
      }
      return {};
    }));
  }
  return with_notices(call.caller, std::move(events));
}

Result<Notices> LocalService::notices(const Caller& caller) {
  LK_ASSIGN(Reply<Done> reply, with_notices(caller, Done{}));
  return std::move(reply.notices);
}

}  // namespace lockkeeper::service::local
