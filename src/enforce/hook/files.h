// What a hook reads of files: how they look, and what is in them.
#pragma once

#include <string>

#include "core/trace.h"

namespace lockkeeper::enforce::hook {

// A worktree's files by their paths from its root. Opened once, because a look at the disk may
// stat thousands.
class Files {
 public:
  explicit Files(const std::string& root);
  ~Files();
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  // All zero: there is no such file, or it cannot be seen. A symlink is not followed.
  core::FileMark mark(const std::string& path) const;
  // The id that git would give to the content, in hexadecimal digits. Empty: not a regular file, or
  // one that is too large to be read by every hook.
  std::string content(const std::string& path) const;

  core::Change change(const std::string& path) const { return {path, mark(path), content(path)}; }

 private:
  int folder_;
};

}  // namespace lockkeeper::enforce::hook
