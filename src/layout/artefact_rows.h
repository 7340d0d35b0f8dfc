// What the table records of one artefact, for the dialects whose verbs are about lock files: which
// leases of ours it shows, and whose lock of another tool it is.
#pragma once

#include <string>
#include <vector>

#include "core/foreign.h"
#include "layout/lock_table.h"

namespace lockkeeper::layout {

struct MirroredLease {
  core::Lease lease;
  std::string identity;  // of the artefact on disk, as recorded
  bool live = false;     // the lease is still shown by it
  bool over = false;
};
// The leases of ours that this artefact shows, or has shown and nobody has removed it yet.
Result<std::vector<MirroredLease>> leases_mirrored_as(LockTable& table, const std::string& layout,
                                                      const std::string& artefact);

// Another tool's lock that a person had removed.
struct RemovedForeign {
  std::string layout;
  std::string artefact;
  core::Owner holder;                  // used if the table has never seen the lock
  std::vector<std::string> resources;  // likewise
};
// Ends it on record, whether or not the table knew it.
Result<void> record_removed_foreign(LockTable& table, const RemovedForeign& removed,
                                    const core::EndedBy& how);

}  // namespace lockkeeper::layout
