// The commit guard for the commands that a verb starts.
#pragma once

#include <map>
#include <string>

#include "cli/context.h"

namespace lockkeeper::cli {

// What their environment needs so that their git runs our hooks. Nothing where there is no
// repository, or no home for the hooks. What keeps us from it is a warning: the command runs all
// the same.
std::map<std::string, std::string> git_arming(VerbContext& context, const realm::Realm& realm);

}  // namespace lockkeeper::cli
