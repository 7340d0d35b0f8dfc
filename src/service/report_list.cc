// What is asked about everybody's leases, as JSON: see report.h.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/sessions.h"
#include "service/report.h"

namespace lockkeeper::service {
namespace {

Json listed_alive(core::Alive alive) {
  return alive == core::Alive::kUnknown ? Json() : Json(alive == core::Alive::kAlive);
}

}  // namespace

Json list_json(const ListReply& reply) {
  Json json;
  json["leases"] = Json::array();
  for (const ListedLease& listed : reply.leases) {
    Json lease = lease_json(listed.lease);
    lease["alive"] = listed_alive(listed.condition.alive);
    json["leases"].push_back(std::move(lease));
  }
  json["waiters"] = Json::array();
  for (const core::Waiter& waiter : reply.waiters) {
    Json request = lease_json(waiter.request);
    request["waiting_since"] = request["acquired_at"];
    for (const char* const field : {"fence", "acquired_at", "expires_at", "attached"}) {
      request.erase(field);
    }
    request["waits_for"] = text_or_null(waiter.blocker.empty() ? "" : waiter.blocker.text());
    json["waiters"].push_back(std::move(request));
  }
  if (reply.moved) json["moved"] = true;
  return json;
}

Json list_json(const ListReply& reply, const core::Owner& asker) {
  Json json = list_json(reply);
  for (std::size_t i = 0; i < reply.leases.size(); ++i) {
    Json& lease = json["leases"][i];
    const ListedLease& listed = reply.leases[i];
    lease["mine"] = is_own(listed.lease, asker);
    if (listed.lease.edit) lease["edit"]["gives_way"] = listed.condition.yields;
  }
  for (std::size_t i = 0; i < reply.waiters.size(); ++i) {
    json["waiters"][i]["mine"] = is_own(reply.waiters[i].request, asker);
  }
  return json;
}

bool is_own(const core::Lease& lease, const core::Owner& asker) {
  return lease.held_by(asker) || (!lease.foreign && core::is_part_of(lease.owner, asker));
}

bool is_held(const core::CheckReply& reply) {
  const bool works_inside = std::ranges::any_of(
      reply.conflicts, [](const core::Conflict& each) { return !each.holder.foreign; });
  return !reply.free && (!reply.mine || works_inside);
}

}  // namespace lockkeeper::service
