// How our leases appear in other tools' folders. The granting commit prepares and records an
// artefact. After it, one step publishes the artefact without replacing another tool's. If somebody
// removes it, it is shown again.
//
// At any moment, even after a crash, an artefact with a row of ours is ours, and any other is not.
// Two rules ensure that. An artefact appears only under lock_layouts(), for a lease that the table
// still records there under that lock. And what is prepared belongs to its row: it is removed with
// the row (see cleaner.h), or by its maker if the row was never committed.
//
// Thread safety: none; for one operation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "layout/mirrored_rows.h"
#include "layout/open_layouts.h"

namespace lockkeeper::layout {

class Publisher {
 public:
  // Both must outlive it.
  Publisher(LockTable& table, OpenLayouts& layouts) : table_(table), layouts_(layouts) {}

  // In the granting commit: prepares and records the lease's artefacts. If the lease is already
  // recorded, plans again what is still to be published.
  Result<void> record(core::Table& table, const core::LeaseId& id);
  // Another tool's artefact that the recorded lease takes over, as it is now.
  void may_replace(const std::string& layout, const std::string& artefact,
                   const std::string& identity);
  // After record() whose commit failed: inside the next transaction, or outside any. Leaves alone
  // what has a row, because others may be about to publish it.
  Result<void> discard_unrecorded(core::State& state);
  void discard_unrecorded();
  // After the commit. Opens the layouts again if they have changed. nullopt: published everywhere.
  // Otherwise the lock that was first: the caller must withdraw the lease and clean up.
  Result<std::optional<core::ForeignLock>> publish(const core::Lease& lease);
  // Artefacts of ours that a scan did not find are shown again. If the lease was taken through the
  // missing artefact, it ends instead.
  Result<void> show_again(const std::vector<core::MirrorArtefact>& missing);

 private:
  struct Plan {
    Layout* layout = nullptr;
    std::string artefact;
    core::LeaseId lease;
    std::optional<std::string> replaces = {};  // identity of another tool's that it takes over
    Standing standing = {};                    // as publish() finds it
  };

  Result<void> record_in(core::State& state, Layout& layout, const core::Lease& lease,
                         StillMirrored& still_mirrored, std::vector<core::MirrorArtefact>& rows);
  Result<std::vector<Plan>> take_plans(const core::Lease& lease);
  Result<std::optional<core::ForeignLock>> publish(const core::Lease& lease, const Plan& plan);
  Result<Published> publish_anew(const core::Lease& lease, const Plan& plan);
  Result<void> show_one_again(const core::MirrorArtefact& missing);

  LockTable& table_;
  OpenLayouts& layouts_;
  std::vector<Plan> plans_;  // recorded and not published yet
};

}  // namespace lockkeeper::layout
