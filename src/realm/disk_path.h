// Walks from a typed path to the physical place it names, with one lstat per name. It follows the
// kernel's rules: `..` after a symlink goes up from where the symlink led. What does not exist is
// kept as written, so that a file can be locked before it is created.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace lockkeeper::realm {

inline constexpr int kSymlinksMax = 40;  // as the kernel

// What to do with names that contain * ? [ { or a backslash, which may escape one of them.
enum class Patterns {
  kNone,         // they are names like any other
  kUnlessThere,  // a name that exists exactly as written is a name; the first other is a pattern
  kAlways,       // the first one begins the pattern
};

struct DiskPath {
  enum class Type { kMissing, kFolder, kOther };

  std::string path;             // absolute and physical, no '/' at the end except for "/" itself
  std::string pattern;          // the rest of the text from the first pattern name on, as written
  Type type = Type::kMissing;   // of `path`
  bool folder_written = false;  // the text ends in '/', "." or ".."
  std::string existing_folder;  // the innermost existing folder on the way: `path` or above it
  std::string link;             // the last symlink that was followed; empty if none was
};

// Walks `text` from `start` ("/" where text is absolute). REQUIRES: start is absolute and physical,
// text is not empty and has no NUL.
// invalid_resource: a loop of symlinks, `..` after a pattern. failed: the disk did not answer
// (permission, I/O), because a place that cannot be seen has no identity.
Result<DiskPath> walk_disk(const std::string& start, std::string_view text, Patterns patterns);

// "/a/b" + "c" → "/a/b/c"; "/" + "c" → "/c".
std::string join_path(std::string_view folder, std::string_view name);

// "/a/b" → "/a", "/a" → "/". REQUIRES: absolute, no '/' at the end, not "/".
std::string parent_path(std::string_view path);

// "/a/b" → "b", "b" → "b", "/" → "".
std::string_view last_name(std::string_view path);

}  // namespace lockkeeper::realm
