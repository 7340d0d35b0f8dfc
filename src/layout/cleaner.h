// How what shows our leases goes away again, or stays true while they change. Removing is: end the
// lease, commit, remove the artefact, forget its row; whoever comes next goes on where another
// stopped.
#pragma once

#include <string>
#include <vector>

#include "core/mirrored.h"
#include "layout/open_layouts.h"

namespace lockkeeper::layout {

// Removes the artefacts of ended leases, whoever ended them.
Result<void> clean(LockTable& table, const OpenLayouts& layouts);

// In the commit in which the owner's leases shrank: what does not show them any more is to be
// removed.
Result<void> trim(core::Table& table, const OpenLayouts& layouts, const core::Owner& owner);

// After leases were renewed, or have shrunk: their artefacts say so.
Result<void> refresh(LockTable& table, const OpenLayouts& layouts,
                     const std::vector<core::Lease>& leases);

// Another tool's artefact, on a person's word; not what shows one of ours there meanwhile.
Result<void> remove_foreign(LockTable& table, const OpenLayouts& layouts, const core::Lease& lease);

enum class OnError { kFail, kSkip };
// Takes these of a layout away, live or not, and forgets their rows. REQUIRES: lock_layouts().
Result<void> unmirror(LockTable& table, Layout& layout,
                      const std::vector<core::MirrorArtefact>& rows, OnError on_error);
// The layout shows less from now on: what it showed before is taken away. Switched off, all that
// the table knows of it is forgotten.
Result<void> retire(LockTable& table, const LayoutEntry& was, LayoutMode now, OnError on_error);

}  // namespace lockkeeper::layout
