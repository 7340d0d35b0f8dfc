// How our leases appear in other tools' folders: prepared beside and recorded in the commit that
// grants, published after it by a step that never replaces another's, shown again where somebody
// removed it.
//
// At any moment, also after a crash, an artefact with a row of ours is ours, and any other is not.
// Two rules see to that. An artefact appears only under lock_layouts(), for a lease that the table
// has recorded there since the lock was taken. And what is prepared belongs to its row: it is
// removed with it (see cleaner.h), and by its maker only if the row never came.
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

  // In the granting commit: prepares and records how the lease is shown. A lease that is recorded
  // already is planned again where it is still to be published.
  Result<void> record(core::Table& table, const core::LeaseId& id);
  // An artefact of another tool that the recorded lease takes over, as it is now.
  void may_replace(const std::string& layout, const std::string& artefact,
                   const std::string& identity);
  // Where the commit of record() did not come: inside the next transaction, or outside of any. What
  // has a row is left alone, since others may be about to publish it.
  Result<void> discard_unrecorded(core::State& state);
  void discard_unrecorded();
  // After the commit. Opens the layouts again if they have changed since. nullopt: shown
  // everywhere. Else who was first: the lease must be withdrawn, and cleaned up after.
  Result<std::optional<core::ForeignLock>> publish(const core::Lease& lease);
  // Artefacts of ours that a look did not find: shown again, unless the lease was taken through it;
  // then it ends.
  Result<void> show_again(const std::vector<core::MirrorArtefact>& missing);

 private:
  struct Plan {
    Layout* layout = nullptr;
    std::string artefact;
    core::LeaseId lease;
    std::string replaces = {};  // identity of another tool's artefact that it takes over
    Standing standing = {};     // as publish() finds it
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
