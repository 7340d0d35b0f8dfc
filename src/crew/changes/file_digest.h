// What a file is, without following it anywhere.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>

#include "base/fd.h"
#include "crew/changes/changes.h"

namespace lockkeeper::crew {

// "c.txt" of "a/b/c.txt".
inline std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// SHA-256 of the content of the file `name` in `folder`, or of the target of a symlink. Empty: it
// cannot be read, is neither, or is larger than kDigestFileBytesMax.
std::string file_digest(int folder, const std::string& name);

FileState file_state(const struct stat& found);

// Written within a tick of the kernel's clock before the tree was looked at, or after: writing it
// again may have left the same times.
bool is_young(const Tree& tree, const FileState& state);

// Whether all that the disk tells is the same. The digest and git's opinion are no part of it.
bool same_on_disk(const FileState& a, const FileState& b);

}  // namespace lockkeeper::crew
