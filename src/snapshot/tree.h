// A worktree's files by their paths from its root. No symlink is followed, neither at the end of a
// path nor on the way.
//
// REQUIRES: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "snapshot/version.h"

namespace lockkeeper::snapshot {

// The id that git gives to this content: 40 hexadecimal digits.
std::string content_id(std::string_view bytes);

struct Entry {
  enum class Is { kNothing, kFile, kSymlink, kFolder, kOther };
  Is is = Is::kNothing;
  Mark mark = {};
  std::uint32_t mode = 0;
};

class Tree {
 public:
  explicit Tree(const std::string& root);

  // kNothing also where a folder on the way is a symlink; kOther where that cannot be told, because
  // a folder may not be searched. Neighbours of one folder cost one stat() each.
  Entry look(std::string_view path);
  // A regular file's bytes; nullopt: it is not one, is larger, or cannot be read.
  std::optional<std::string> read(std::string_view path, std::uint64_t limit);
  // Where a symlink leads; nullopt: it is not one.
  std::optional<std::string> target(std::string_view path);
  // content_id() of a regular file of at most `limit` bytes, which need not fit into memory. Empty:
  // there is none.
  std::string hash(std::string_view path, std::uint64_t limit);
  // The files and symlinks below a folder, at most `most`; git's own folder is left out.
  std::vector<std::string> below(const std::string& folder, std::size_t most);

 private:
  // The opened folder of the path, or -1.
  int parent_of(std::string_view path);
  Fd open(std::string_view path, std::uint64_t limit, std::uint64_t& size);

  Fd root_;
  int root_errno_;
  std::string folder_ = "/";  // what parent_ is; "/": nothing yet
  Fd parent_;
  int parent_errno_ = 0;  // why there is none
};

// Was the file changed so shortly before `now_wall_ms` that another change may leave the same mark?
bool is_young(const Mark& mark, std::int64_t now_wall_ms);

}  // namespace lockkeeper::snapshot
