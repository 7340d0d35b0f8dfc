// What makes the git of one environment run our hooks: core.hooksPath in GIT_CONFIG_COUNT and its
// pairs. No file of the repository changes, and nobody else's git does.
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "realm/environment.h"

namespace lockkeeper::guard {

// Variables to set on top of `env` for work in this worktree (absolute); none if that environment
// has them already. Makes the folders of hooks if they are missing or their program is gone.
// `program`: what the hooks are to start: absolute.
Result<std::map<std::string, std::string>> arming(const realm::Environment& env,
                                                  const std::string& worktree,
                                                  const std::string& program);

// The same as lines for a shell. Empty: `text`, the file that they would be added to, has them.
std::string arming_lines(const std::map<std::string, std::string>& variables,
                         const std::string& text);

}  // namespace lockkeeper::guard
