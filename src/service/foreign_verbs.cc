// Other tools' locks as somebody's business: adopting them, breaking them, keeping an eye on them.
#include <algorithm>

#include "base/text.h"
#include "layout/mirror.h"
#include "service/acquisition.h"
#include "service/locks.h"

namespace lockkeeper::service {
namespace {

// The lock of another tool that is meant: by the path of its artefact, or by what it holds.
std::optional<core::Lease> foreign_named(const ListReply& all, const Wanted& wanted,
                                         const key::Resource* resource) {
  const std::string& typed = wanted.texts.front();
  for (const ListedLease& listed : all.leases) {
    const core::Lease& lease = listed.lease;
    if (!lease.foreign) continue;
    const std::string path = core::foreign_path(lease);
    if (path == typed || path == wanted.base.folder + "/" + typed) return lease;
    const auto is_named = [&](const core::Claim& claim) { return claim.resource == *resource; };
    if (resource != nullptr && std::ranges::any_of(lease.claims, is_named)) return lease;
  }
  return std::nullopt;
}

}  // namespace

Result<void> Locks::look_at_layouts() {
  layout::Mirror mirror(table_);
  LK_ASSIGN(const bool mirrored, mirror.open_to_write());
  return mirrored ? mirror.tick() : Result<void>();
}

Result<std::vector<core::Lease>> Locks::break_foreign(const BreakCommand& command,
                                                      const std::vector<core::LeaseId>& ids) {
  layout::Mirror mirror(table_);
  LK_ASSIGN(const bool mirrored, mirror.open_to_write());
  if (!mirrored) return std::vector<core::Lease>();
  std::vector<core::Lease> broken;
  for (const core::LeaseId& id : ids) {
    std::optional<core::Lease> lease;
    LK_CHECK(table_.read([&](core::Table& table) -> Result<void> {
      LK_ASSIGN(const core::Lease* found, table.state().lease(id));
      if (found != nullptr) lease = *found;
      return {};
    }));
    layout::Layout* const layout = lease ? mirror.find(lease->terms.layout) : nullptr;
    if (layout == nullptr) continue;
    const std::string name = core::foreign_artefact(*lease);
    LK_CHECK(mirror.remove_foreign(*lease));
    LK_CHECK(table_.write([&](core::Table& table) -> Result<bool> {
      LK_CHECK(core::end_foreign(table, {lease->terms.layout, name, id, 0},
                                 {"broken", "foreign", command.reason, owner_}));
      return false;
    }));
    broken.push_back(std::move(*lease));
  }
  return broken;
}

Result<AcquireResult> Locks::adopt(const Wanted& wanted, const AcquireCommand& how) {
  layout::Mirror mirror(table_);
  LK_ASSIGN(const bool mirrored, mirror.open_to_write());
  if (mirrored) LK_CHECK(mirror.tick());
  AcquireResult result;
  LK_ASSIGN(core::AcquireRequest request, this->request(how, result));
  LK_ASSIGN(const ListReply all, list({}));
  const auto resolved = resolve(wanted);
  const key::Resource* const named =
      resolved && !resolved->resources.empty() ? &resolved->resources.front() : nullptr;
  const std::optional<core::Lease> adopted = foreign_named(all, wanted, named);
  if (!adopted) {
    return fail(Code::kNotFound, "no other tool's lock is at " + quote(wanted.texts.front()),
                "name its artefact or what it holds; see: lockkeeper list");
  }
  for (const core::Claim& claim : adopted->claims) {
    LK_CHECK(realm::check_allowed(table_.settings(), owner_.agent, claim.resource));
  }
  layout::Layout* const layout = mirror.find(adopted->terms.layout);
  const std::string name = core::foreign_artefact(*adopted);
  LK_ASSIGN(const layout::ScanResult seen, layout->scan_source(layout::source_of(name)));
  const auto there = std::ranges::find(
      seen.sightings, name, [](const layout::Sighting& one) { return one.lock.artefact; });
  if (there == seen.sightings.end()) {
    return fail(Code::kNotFound, quote(core::foreign_path(*adopted)) + " is not there any more",
                "ask for it: lockkeeper acquire");
  }
  request.claims = adopted->claims;
  request.terms.layout = layout->id();
  request.terms.artefact = name;
  if (request.terms.reason.empty()) request.terms.reason = adopted->terms.reason;
  if (request.terms.task.empty()) request.terms.task = adopted->terms.task;
  return Acquisition(table_, writer(), {{how, std::move(request), std::move(result)}})
      .take_over({layout->id(), name, adopted->id, 0}, there->identity);
}

}  // namespace lockkeeper::service
