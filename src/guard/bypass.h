// Commits that were made without our hooks: HEAD has moved by a commit, and no post-commit of ours
// saw it. They cannot be refused any more. What they carry of others is recorded; one with what was
// refused before is not pushed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "guard/scene.h"

namespace lockkeeper::guard {

// The ids of commits that the log of HEAD (git's own, text) tells of after `known`, oldest first.
// Only those that somebody made: not what a merge, a rebase or a reset moved HEAD to.
std::vector<std::string> commits_since(std::string_view log, std::string_view known);

// `seen`: so many of the last ones are known to this hook.
Result<void> notice_bypass(Scene& scene, std::size_t seen);

}  // namespace lockkeeper::guard
