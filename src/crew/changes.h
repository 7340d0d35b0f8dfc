// What an agent changed: the tree before it started against the tree after it ended.
//
// In a git repository git says which files count (tracked, and new ones that are not ignored) and
// which of them are unchanged although they were touched; elsewhere every file below the root
// counts, by its times, size and inode. The store's own folder and OUTPUT never count.
//
// Nobody can see which process wrote a file. What lies in the scope of another agent that was at
// work meanwhile is that one's; what lies in nobody's scope may have been any of them, and says so.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "crew/record.h"
#include "key/resource.h"

namespace lockkeeper::crew {

struct FileState {
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::uint64_t size = 0;
  std::uint64_t inode = 0;
  bool dirty = false;  // git: differs from its HEAD
  friend bool operator==(const FileState&, const FileState&) = default;
};

struct Tree {
  std::string head;  // git's commit; empty: outside git, or no commit yet
  bool by_git = false;
  std::map<std::string, FileState> files;  // by path from the root
};

inline constexpr std::size_t kTreeFilesMax = 2'000'000;

// `root`: the realm's root, physical. `leave_out`: folders below it that never count. In a git
// worktree by asking git (its output is bounded, its configuration cannot run anything); if git is
// not installed or fails, by walking. limit_exceeded beyond kTreeFilesMax files.
Result<Tree> look_at_tree(const std::string& root, const std::vector<std::string>& leave_out);

// What an agent may change.
struct WriteScope {
  std::string agent;
  std::vector<key::Resource> writes;
  std::vector<key::Resource> denies;
};
bool may_write(const WriteScope& scope, const std::string& path);

// Every difference that is not certainly another's: what `mine` covers, and what nobody covers.
// `others` were at work at some time between the two trees. In the order of paths.
Result<std::vector<Change>> changes_between(const Tree& before, const Tree& after,
                                            const std::string& root, const WriteScope& mine,
                                            const std::vector<WriteScope>& others);

}  // namespace lockkeeper::crew
