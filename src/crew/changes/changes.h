// What an agent changed: the tree before it started against the tree after it ended.
//
// In a git repository git says which files count (tracked, and new ones that are not ignored) and
// which of them are unchanged although they were touched; elsewhere every file below the root
// counts, by its times, size and inode. The store's own folder and OUTPUT never count.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "crew/record/record.h"
#include "key/resource.h"

namespace lockkeeper::crew {

struct FileState {
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::uint64_t size = 0;
  std::uint64_t inode = 0;
  std::uint32_t mode = 0;  // kind and permissions
  bool dirty = false;      // git: differs from its HEAD, or is not in it
  // Of the content, where times alone would not tell: what git does not know, and what was written
  // so shortly before the look that writing it again might leave the same times. Else empty.
  std::string digest;
};

struct Tree {
  std::string head;  // git's commit; empty: outside git, or no commit yet
  bool by_git = false;
  std::map<std::string, FileState> files;  // by path from the root; any bytes
  // Submodules and repositories inside, by their folder ("libs/zlib/"): their commits.
  std::map<std::string, std::string> nested;
  std::int64_t looked_ns = 0;  // wall clock, when the look began
};

inline constexpr std::size_t kTreeFilesMax = 2'000'000;
// What is larger is compared by its times alone, and what goes beyond the total.
inline constexpr std::uint64_t kDigestFileBytesMax = 64U << 20;
inline constexpr std::uint64_t kDigestTotalBytesMax = 1U << 30;

// `root`: the realm's root, physical. `leave_out`: folders below it that never count, absolute or
// from the root; a store at the root is always left out. In a git worktree by asking git (its
// output is bounded, its configuration cannot run anything); if git is not installed or fails, by
// walking. No symlink is followed; folders themselves do not count. What may not be read is passed
// over. limit_exceeded beyond kTreeFilesMax files, timeout if git does not answer.
Result<Tree> look_at_tree(const std::string& root, const std::vector<std::string>& leave_out);

// What an agent may change.
struct WriteScope {
  std::string agent;
  std::vector<key::Resource> writes;
  std::vector<key::Resource> denies;
  bool fold_case = false;  // the realm's rule, by which the resources were made
};
// A name that is no resource (a line break in it, not UTF-8) goes with its folder.
bool may_write(const WriteScope& scope, const std::string& path);

// Every difference, in the order of paths; whose it is is not known here (crew/verdict.h). failed
// if one tree is git's and the other is not: nobody can compare them.
Result<std::vector<Change>> changes_between(const Tree& before, const Tree& after,
                                            const std::string& root);

}  // namespace lockkeeper::crew
