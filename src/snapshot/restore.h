// Puts a version back in its place, in one step, through no symlink.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "snapshot/version.h"

namespace lockkeeper::snapshot {

// At `path` below `root`, with the folders on the way. What is there is replaced, unless it is a
// folder. invalid_input: something on the way is a symlink or not a folder. REQUIRES: a file or a
// symlink
Result<void> put_back(const std::string& root, const std::string& path, const Version& version,
                      std::string_view content);

// As a new file; failed if something has that name. The folder must exist.
Result<void> put_elsewhere(const std::string& file, const Version& version,
                           std::string_view content);

}  // namespace lockkeeper::snapshot
