#include "layout/artefact_rows.h"

#include "core/conflicts.h"
#include "core/mirrored.h"

namespace lockkeeper::layout {

Result<std::vector<MirroredLease>> leases_mirrored_as(LockTable& table, const std::string& layout,
                                                      const std::string& artefact) {
  return table.get([&](core::Table& rows) -> Result<std::vector<MirroredLease>> {
    std::vector<MirroredLease> found;
    LK_ASSIGN(const std::vector<core::MirrorArtefact> shown,
              core::mirrored_as(rows.state(), layout, artefact));
    for (const core::MirrorArtefact& each : shown) {
      LK_ASSIGN(const core::Lease* const lease, rows.state().lease(each.lease));
      if (lease == nullptr) continue;
      LK_ASSIGN(const core::Condition now, core::condition(rows.state(), *lease));
      found.push_back({*lease, each.identity, each.live, now.over});
    }
    return found;
  });
}

Result<void> record_removed_foreign(LockTable& table, const RemovedForeign& removed,
                                    const core::EndedBy& how) {
  LK_CHECK(table.write([&](core::Table& rows) -> Result<bool> {
    LK_ASSIGN(const std::optional<core::KnownForeign> known,
              core::known_foreign(rows.state(), removed.layout, removed.artefact));
    if (known) {
      LK_CHECK(core::end_foreign(rows, *known, how));
      return false;
    }
    LK_CHECK(rows.state().append(core::Event::unseen(removed.holder, removed.resources, how)));
    return false;
  }));
  return {};
}

}  // namespace lockkeeper::layout
