// Looking at many: list and log, page by page so that nobody waits for a reader.
#include "core/browse.h"
#include "core/history.h"
#include "service/locks.h"

namespace lockkeeper::service {
namespace {

Result<bool> overlaps(const std::optional<key::Resource>& under, const core::Lease& lease) {
  if (!under) return true;
  for (const core::Claim& claim : lease.claims) {
    LK_ASSIGN(const std::optional<std::string> common, key::overlap(*under, claim.resource));
    if (common) return true;
  }
  return false;
}

// A history line keeps texts, not kinds: read them as they were written.
Result<bool> overlaps(const std::optional<key::Resource>& under, const core::Event& event,
                      const key::Rules& rules) {
  if (!under) return true;
  for (const std::string& text : event.resources) {
    for (const key::Syntax syntax : {key::Syntax::kAuto, key::Syntax::kLiteral}) {
      auto parsed = key::parse(text, rules, syntax);
      if (!parsed) continue;
      LK_ASSIGN(const std::optional<std::string> common, key::overlap(*under, parsed->resource));
      if (common) return true;
    }
  }
  return false;
}

}  // namespace

Result<ListReply> Locks::list(const ListCommand& command) {
  ListReply reply;
  LK_CHECK(look_at_layouts());
  LK_ASSIGN(const Resolved resolved, resolve(command.under));
  std::optional<key::Resource> under;
  if (!resolved.resources.empty()) under = resolved.resources.front();
  const auto wanted = [&](const core::Lease& lease) -> Result<bool> {
    if (!command.agent.empty() && lease.owner.agent != command.agent) return false;
    if (!command.task.empty() && lease.terms.task != command.task) return false;
    return overlaps(under, lease);
  };
  std::string from;
  int pages = 0;
  do {
    LK_CHECK(read([&](core::Table& table) -> Result<void> {
      LK_ASSIGN(core::LeasePage page, core::lease_page(table.state(), from));
      for (core::Lease& lease : page.leases) {
        LK_ASSIGN(const bool keep, wanted(lease));
        if (!keep) continue;
        LK_ASSIGN(core::Condition now, condition(table.state(), lease));
        reply.leases.push_back({std::move(lease), std::move(now)});
      }
      from = page.next;
      return {};
    }));
    ++pages;
  } while (!from.empty());
  do {
    LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
      LK_ASSIGN(core::WaiterPage page, core::waiter_page(table.state(), from));
      for (core::Waiter& waiter : page.waiters) {
        LK_ASSIGN(const bool keep, wanted(waiter.request));
        if (keep) reply.waiters.push_back(std::move(waiter));
      }
      from = page.next;
      return {};
    }));
    ++pages;
  } while (!from.empty());
  reply.moved = pages > 2;
  return reply;
}

Result<std::vector<core::Event>> Locks::log(const LogCommand& command) {
  std::vector<core::Event> events;
  LK_ASSIGN(const Resolved resolved, resolve(command.under));
  std::optional<key::Resource> under;
  if (!resolved.resources.empty()) under = resolved.resources.front();
  const key::Rules rules = table_.settings().key_rules(table_.realm());
  std::uint64_t after = command.since_seq;
  bool more = true;
  while (more && events.size() < command.most) {
    more = false;
    LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
      LK_ASSIGN(std::vector<core::Event> page,
                core::events_after(table.state(), after, core::kPageRows));
      more = page.size() == core::kPageRows;
      for (core::Event& event : page) {
        after = event.seq;
        const bool other_agent = !command.agent.empty() && event.owner.agent != command.agent &&
                                 event.by.agent != command.agent;
        if (other_agent || event.at_wall_ms < command.since_wall_ms) continue;
        LK_ASSIGN(const bool keep, overlaps(under, event, rules));
        if (keep && events.size() < command.most) events.push_back(std::move(event));
      }
      return {};
    }));
  }
  return events;
}

}  // namespace lockkeeper::service
