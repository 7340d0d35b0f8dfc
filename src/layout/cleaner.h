// Removes the artefacts of our leases, or updates them while the leases change. The steps are: end
// the lease, commit, remove the artefact, forget its row. If a process dies on the way, the next
// one continues.
#pragma once

#include <string>
#include <vector>

#include "core/mirrored.h"
#include "layout/open_layouts.h"

namespace lockkeeper::layout {

// Removes the artefacts of ended leases, whoever ended them.
Result<void> clean(LockTable& table, const OpenLayouts& layouts);

// Call in the commit in which the owner's leases shrank: schedules the removal of artefacts that no
// longer mirror them.
Result<void> trim(core::Table& table, const OpenLayouts& layouts, const core::Owner& owner);

// After leases were renewed or have shrunk: updates their artefacts.
Result<void> refresh(LockTable& table, const OpenLayouts& layouts,
                     const std::vector<core::Lease>& leases);

// Removes another tool's artefact, because a person said so; not if it mirrors one of ours by now.
Result<void> remove_foreign(LockTable& table, const OpenLayouts& layouts, const core::Lease& lease);

// Removes what shows this lease of ours, if the table does not know the lease: it was lost with its
// store, so nobody else would ever recognise its artefacts. REQUIRES: whoever worked under it is
// gone.
Result<void> forget_lost(LockTable& table, const core::Lease& lease);

enum class OnError { kFail, kSkip };
// Removes these artefacts, live or not, and forgets their rows. REQUIRES: lock_layouts().
Result<void> unmirror(LockTable& table, Layout& layout,
                      const std::vector<core::MirrorArtefact>& rows, OnError on_error);
// The layout mirrors less from now on: removes what it mirrored before. If it is switched off, the
// table forgets everything about it.
Result<void> retire(LockTable& table, const LayoutEntry& was, LayoutMode now, OnError on_error);

}  // namespace lockkeeper::layout
