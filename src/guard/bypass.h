// Commits that were made without our hooks: HEAD has moved by a commit, and no post-commit of ours
// saw it. They cannot be refused any more. What they carry of others is recorded; one with what was
// refused before is not pushed.
#pragma once

#include <cstddef>

#include "guard/scene.h"

namespace lockkeeper::guard {

// `seen`: so many of the last ones are known to this hook.
Result<void> notice_bypass(Scene& scene, std::size_t seen);

// At the start of a session: HEAD is known from here on, unless it is already.
void note_start(realm::Realm realm, const realm::Environment& env);

}  // namespace lockkeeper::guard
