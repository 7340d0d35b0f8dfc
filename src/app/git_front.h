// A `git` in front of PATH: a symlink to this program. For what `run` and `workflow run` start, it
// judges its words as the hooks judge a shell command. In the shells of an agent it judges nothing:
// its hooks do. Then it becomes the real git. `git config` and `git rev-parse` do not see our
// core.hooksPath: tools that manage hooks ask them where to write.
#pragma once

#include <string>

#include "service/runtime.h"

namespace lockkeeper::app {

// The folder with that symlink, made if it is not there: $XDG_STATE_HOME/lockkeeper/git-in-front/…,
// one for each place of this program. Only its user can write there.
Result<std::string> make_git_front(const realm::Environment& env, bool judges);

// Was this program started under the name of git?
bool is_git_front(const char* name);
// Returns only if git was refused, or cannot be started: the exit status.
int run_git_front(int argc, char** argv, const service::Runtime& runtime);

}  // namespace lockkeeper::app
