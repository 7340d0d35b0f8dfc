// What a hook reads of files: how they look, and what is in them.
#pragma once

#include <string>

#include "core/trace.h"
#include "snapshot/tree.h"

namespace lockkeeper::enforce::hook {

// A mark as a trace has it.
core::FileMark trace_mark(const snapshot::Mark& mark);

// A worktree's files by their paths from its root. Opened once, because a look at the disk may
// stat thousands.
class Files {
 public:
  explicit Files(const std::string& root) : tree_(root) {}

  // All zero: there is no such file, or it cannot be seen. No symlink is followed.
  core::FileMark mark(const std::string& path) const { return trace_mark(tree_.look(path).mark); }
  // The id that git would give to the content, in hexadecimal digits. Empty: not a regular file, or
  // one that is too large to be read by every hook.
  std::string content(const std::string& path) const;

  core::Change change(const std::string& path) const { return {path, mark(path), content(path)}; }

 private:
  mutable snapshot::Tree tree_;  // it remembers the folder that it looked into last
};

}  // namespace lockkeeper::enforce::hook
