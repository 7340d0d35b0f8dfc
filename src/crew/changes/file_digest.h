// The state and the content of one file; symlinks are not followed.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>

#include "base/fd.h"
#include "crew/changes/tree_scan.h"

namespace lockkeeper::crew {

// "c.txt" of "a/b/c.txt".
inline std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}
// The rest: "a/b/". Empty: the root.
inline std::string_view folder_of(std::string_view path) {
  return path.substr(0, path.rfind('/') + 1);  // npos + 1 is 0
}

std::int64_t nanoseconds(const timespec& time);

// SHA-256 of the content of the file `name` in `folder`, or of a symlink's target. Empty: it is
// something else, cannot be read, or is larger than kDigestFileBytesMax.
std::string file_digest(int folder, const std::string& name);

FileState file_state(const struct stat& found);

// Was it written so shortly before the scan, or after it, that another write may leave the same
// times?
bool is_young(const Tree& tree, const FileState& state);

// Are times, size, inode and mode the same?
bool same_on_disk(const FileState& a, const FileState& b);

}  // namespace lockkeeper::crew
