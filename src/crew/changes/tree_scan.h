// The files below a realm's root at one moment.
//
// In a git worktree git says which files count: tracked ones, and new ones that are not ignored.
// Elsewhere every file counts. The store's own folder and OUTPUT never count.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"

namespace lockkeeper::crew {

struct FileState {
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::uint64_t size = 0;
  std::uint64_t inode = 0;
  std::uint32_t mode = 0;  // kind and permissions
  bool dirty = false;      // git: differs from HEAD, or is not in it
  // Of the content, where the times alone do not tell: files that git does not know, and files
  // written so shortly before the scan that another write might leave the same times. Else empty.
  std::string digest;
};

struct Tree {
  std::string head;  // git's commit; empty: outside git, or no commit yet
  bool by_git = false;
  std::map<std::string, FileState> files;  // by path from the root; any bytes
  // The commits of submodules and nested repositories, by their folder ("libs/zlib/").
  std::map<std::string, std::string> nested;
  std::int64_t scanned_ns = 0;  // wall clock, when the scan began
};

inline constexpr std::size_t kTreeFilesMax = 2'000'000;
// Larger files, and files beyond the total, are compared by their times alone.
inline constexpr std::uint64_t kDigestFileBytesMax = 64U << 20;
inline constexpr std::uint64_t kDigestTotalBytesMax = 1U << 30;

// `root`: the realm's root, a physical path. `leave_out`: folders below it that do not count,
// absolute or from the root; a store at the root never counts. Asks git in a git worktree (its
// output is bounded, its configuration cannot run anything); if git is not installed or fails,
// walks the folders. Symlinks are not followed, folders themselves do not count, and what may not
// be read is ignored. limit_exceeded beyond kTreeFilesMax files; timeout if git does not answer.
Result<Tree> scan_tree(const std::string& root, const std::vector<std::string>& leave_out);

}  // namespace lockkeeper::crew
