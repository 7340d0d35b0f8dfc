// Files that git-lfs keeps: the repository has a few lines that name the content ("pointer").
#pragma once

#include <string>

namespace lockkeeper::git {

// Is the file what the blob with this id points to? Then only its filter, which does not run for
// us, makes git think that it has changed. False also for files that are too large to be read.
bool is_kept_by_lfs(const std::string& file, const std::string& blob_id);

}  // namespace lockkeeper::git
