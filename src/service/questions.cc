#include "service/questions.h"

#include <algorithm>

#include "service/report.h"

namespace lockkeeper::service {
namespace {

Result<ListReply> look_up(Site& site, ListCall call) {
  call.with_waiters = false;
  call.scan_layouts = false;
  LK_ASSIGN(Service* const service, site.service());
  LK_ASSIGN(Reply<ListReply> reply, service->list(call));
  return std::move(reply.value);
}

// A name that the claim and one of the resources cover.
Result<std::optional<std::string>> witness_of(const core::Claim& claim,
                                              std::span<const key::Resource> resources) {
  for (const key::Resource& resource : resources) {
    LK_ASSIGN(std::optional<std::string> common, key::overlap(resource, claim.resource));
    if (common) return common;
  }
  return std::nullopt;
}

std::optional<std::string> how_it_ended(const ListReply& found, const LeaseAndFence& asked) {
  const std::string name = "lease " + asked.id.text();
  const auto lease = std::ranges::find(found.leases, asked.id,
                                       [](const ListedLease& one) { return one.lease.id; });
  if (lease == found.leases.end()) {
    const auto lost = std::ranges::find(found.lost, asked.id, &core::LostLease::id);
    return lost != found.lost.end() ? lost_text(*lost) : "there is no " + name + " any more";
  }
  const core::Condition& now = lease->condition;
  if (lease->lease.fence() == asked.fence && !now.over) return std::nullopt;
  return name + " has ended" + (now.over ? " (" + now.cause + ")" : "");
}

}  // namespace

Result<std::optional<ListedLease>> find_lease(Site& site, const core::LeaseId& id) {
  ListCall call;
  call.leases = {id};
  LK_ASSIGN(ListReply found, look_up(site, std::move(call)));
  if (found.leases.empty()) return std::nullopt;
  return std::move(found.leases.front());
}

Result<std::vector<ListedLease>> leases_of(Site& site, const core::Owner& owner) {
  ListCall call;
  call.owner = owner;
  LK_ASSIGN(ListReply found, look_up(site, std::move(call)));
  return std::move(found.leases);
}

Result<std::vector<ListedLease>> holders_of(Site& site, std::span<const key::Resource> resources) {
  if (resources.empty()) return std::vector<ListedLease>();
  ListCall call;
  call.exact.assign(resources.begin(), resources.end());
  LK_ASSIGN(ListReply found, look_up(site, std::move(call)));
  return std::move(found.leases);
}

Result<std::vector<OverlappingClaim>> overlapping_claims(Site& site,
                                                         std::span<const key::Resource> resources) {
  std::vector<OverlappingClaim> claims;
  if (resources.empty()) return claims;
  ListCall call;
  call.overlapping.assign(resources.begin(), resources.end());
  LK_ASSIGN(const ListReply found, look_up(site, std::move(call)));
  for (const auto& [lease, now] : found.leases) {
    if (now.over) continue;
    for (const core::Claim& claim : lease.claims) {
      LK_ASSIGN(std::optional<std::string> witness, witness_of(claim, resources));
      if (witness) claims.push_back({lease, claim, now, std::move(*witness)});
    }
  }
  return claims;
}

Result<std::uint64_t> newest_event(Site& site) {
  LK_ASSIGN(const std::vector<core::Event> last, last_events(site, 1));
  return last.empty() ? 0 : last.back().seq;
}

Result<std::vector<core::Event>> last_events(Site& site, std::size_t most) {
  EventsCall call;
  call.most = most;
  call.newest = true;
  LK_ASSIGN(Service* const service, site.service());
  LK_ASSIGN(Reply<std::vector<core::Event>> reply, service->events(call));
  return std::move(reply.value);
}

Result<std::optional<core::LostLease>> find_lost(Site& site, const core::LeaseId& id) {
  ListCall call;
  call.leases = {id};
  LK_ASSIGN(ListReply found, look_up(site, std::move(call)));
  if (found.lost.empty()) return std::nullopt;
  return std::move(found.lost.front());
}

Result<std::vector<std::optional<std::string>>> how_they_ended(
    Site& site, std::span<const LeaseAndFence> leases) {
  std::vector<std::optional<std::string>> ended;
  if (leases.empty()) return ended;
  ListCall call;
  for (const LeaseAndFence& one : leases) call.leases.push_back(one.id);
  LK_ASSIGN(const ListReply found, look_up(site, std::move(call)));
  for (const LeaseAndFence& one : leases) ended.push_back(how_it_ended(found, one));
  return ended;
}

std::vector<std::string> ended_texts(Site& site, const core::Owner& owner) {
  std::vector<std::string> texts;
  const auto leases = leases_of(site, owner);
  if (!leases) return texts;
  for (const ListedLease& listed : *leases) {
    if (!listed.condition.over) continue;
    for (const std::string& key : spelled_texts(listed.lease)) {
      texts.push_back(ended_before_text(key, listed.condition.cause));
    }
  }
  return texts;
}

}  // namespace lockkeeper::service
