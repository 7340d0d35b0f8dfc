// What the disk knows about a folder that a plan wants to split up.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lockkeeper::realm {

// Names of a folder's children; folders end in '/'. nullopt: the folder is missing, cannot be read,
// or has too many children.
using Children = std::function<std::optional<std::vector<std::string>>(const std::string& folder)>;

// The children below `root`, without `.git` and our own store; at most `most` of a folder. Never
// follows a symlink.
Children children_on_disk(std::string root, std::size_t most = 200);

}  // namespace lockkeeper::realm
