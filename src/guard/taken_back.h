// Commits that were taken back (`git reset --soft`): the changes in them are not committed any
// more, and are again those of whoever made them.
#pragma once

#include <vector>

#include "core/trace.h"
#include "guard/scene.h"

namespace lockkeeper::guard {

// Remembers the changes that a commit has now.
void note_committed(const Scene& scene, const std::string& commit,
                    const std::vector<core::Trace>& traces);

// Has HEAD ever left one of those commits by a reset? Git is not started.
bool may_be_taken_back(const Scene& scene);
// Of those changes, what the last commit does not have at these paths, because HEAD has left the
// commit and no branch or tag has it. After a rebase other commits have the changes: they do not
// count.
Result<std::vector<core::Trace>> taken_back(const Scene& scene,
                                            const std::vector<CommittedPath>& paths);

}  // namespace lockkeeper::guard
