// Keeps what a worktree was provided with out of an agent's own `git add -A`. Git has no list of
// ignored files for one worktree; so the agent's environment names one, with the user's own list in
// it. No file of the repository changes.
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "base/folder.h"
#include "crew/trees/provision.h"
#include "realm/environment.h"

namespace lockkeeper::crew {

// Writes the list into `marks` and returns the variables for the agent, on top of `env`. None:
// nothing was provided.
Result<std::map<std::string, std::string>> excluding(const std::string& tree,
                                                     const Provided& provided, const Folder& marks,
                                                     const realm::Environment& env);

}  // namespace lockkeeper::crew
