// What makes the git of one environment run our hooks: core.hooksPath in GIT_CONFIG_COUNT and its
// pairs. No file of the repository changes, and nobody else's git does.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "realm/environment.h"

namespace lockkeeper::guard {

// What GIT_CONFIG_COUNT and its variables set, in order: a key and its value. One that is not
// complete ends them, as it does for git.
using ConfigPair = std::pair<std::string, std::string>;
std::vector<ConfigPair> config_pairs(const realm::Environment& env);

// Variables to set on top of `env` for work in this worktree (absolute); none if that environment
// has them already. Makes the folders of hooks if they are missing or their program is gone.
// `program`: what the hooks are to start: absolute.
Result<std::map<std::string, std::string>> arming(const realm::Environment& env,
                                                  const std::string& worktree,
                                                  const std::string& program);

// The other way: what to set, or to unset (nullopt), so that our folder is not named any more.
// Nothing if it is not. For tools that manage hooks: they write where core.hooksPath points.
// `ours`: another folder that is ours; may be empty.
std::map<std::string, std::optional<std::string>> disarming(const realm::Environment& env,
                                                            const std::string& ours);
// The same in this process, for the program that it is about to become.
void disarm_process(const realm::Environment& env, const std::string& ours);

// arming() as lines for a shell, and `front` in front of its PATH; that may be empty. Empty:
// `text`, the file that they would be added to, has them.
std::string arming_lines(const std::map<std::string, std::string>& variables,
                         const std::string& front, const std::string& text);

}  // namespace lockkeeper::guard
