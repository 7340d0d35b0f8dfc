// What the table records about one artefact, for dialects whose verbs are about lock files: which
// of our leases it mirrors, or which other tool's lock it is.
#pragma once

#include <string>
#include <vector>

#include "core/foreign.h"
#include "layout/lock_table.h"

namespace lockkeeper::layout {

struct MirroredLease {
  core::Lease lease;
  std::string identity;  // of the artefact on disk, as recorded
  bool live = false;     // it still mirrors the lease
  bool over = false;
};
// The leases that this artefact mirrors, or mirrored and was not removed since.
Result<std::vector<MirroredLease>> leases_mirrored_as(LockTable& table, const std::string& layout,
                                                      const std::string& artefact);

// Another tool's lock that a person had removed.
struct RemovedForeign {
  std::string layout;
  std::string artefact;
  core::Owner holder;                  // used if the table has never seen the lock
  std::vector<std::string> resources;  // the same
};
// Ends it on record, whether or not the table knew it.
Result<void> record_removed_foreign(LockTable& table, const RemovedForeign& removed,
                                    const core::EndedBy& how);

}  // namespace lockkeeper::layout
