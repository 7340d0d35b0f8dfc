// One folder of another tool's artefacts, opened without following a symlink anywhere below its
// layout's root; everything in it is reached through the descriptor, so a folder that is replaced
// under our hands cannot lead us elsewhere. Modes follow the umask: other tools must read them.
//
// Names are single: no '/', not "." or "..". Errors: not_found only from open(); no_space on a full
// disk; store_unavailable else, each naming the path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace lockkeeper {

struct FileStamp {
  std::uint64_t stamp = 0;  // device, inode, size, mtime, mode in one number
  std::int64_t mtime_ms = 0;
  bool folder = false;
  bool regular = false;
};

class ArtefactFolder {
 public:
  // `below` may have several names ("spec/.locks"); "" is the root itself. not_found: a name is
  // missing. store_unavailable: one is a symlink or no folder.
  static Result<ArtefactFolder> open(const std::string& root, std::string_view below);
  // The same, making what is missing below the root.
  static Result<ArtefactFolder> create(const std::string& root, std::string_view below);

  const std::string& path() const { return path_; }
  std::string path_of(std::string_view name) const { return path_ + "/" + std::string(name); }

  Result<std::vector<std::string>> names() const;  // unordered, without "." and ".."
  Result<FileStamp> own_stamp() const;
  Result<std::optional<FileStamp>> stamp(const std::string& name) const;  // of the name itself
  // A regular file's bytes; nullopt: there is none. limit_exceeded beyond `limit`. Waits for who
  // has a lease on it (fcntl), at most a few seconds.
  Result<std::optional<std::string>> read(const std::string& name, std::size_t limit) const;
  // A folder in this one; nullopt: there is none, or it is no folder.
  Result<std::optional<ArtefactFolder>> folder(const std::string& name) const;

  // A new file with all its bytes from the moment it is there; fails if the name is taken.
  Result<void> write_new(const std::string& name, std::string_view bytes) const;
  // The same, and it stays open for reading and writing.
  Result<Fd> create_file(const std::string& name, std::string_view bytes) const;
  Result<bool> is_named(const std::string& name, int fd) const;  // is that open file called so?
  Result<void> make_folder(const std::string& name) const;
  // In one step; false: `to` is taken. Works for files and folders. A file system that cannot do it
  // in one step gets rename_by_steps().
  Result<bool> rename_new(const std::string& from, const std::string& to) const {
    return rename_new(from, *this, to);
  }
  Result<bool> rename_new(const std::string& from, const ArtefactFolder& into,
                          const std::string& to) const;
  // Takes the name by link or mkdir, which never replace, then moves the rest: a folder is empty
  // for a moment, yet nobody else gets the name.
  Result<bool> rename_by_steps(const std::string& from, const ArtefactFolder& into,
                               const std::string& to) const;
  // Both must be there; in one step.
  Result<void> exchange(const std::string& a, const std::string& b) const {
    return exchange(a, *this, b);
  }
  Result<void> exchange(const std::string& a, const ArtefactFolder& other,
                        const std::string& b) const;
  Result<void> touch(const std::string& name) const;  // mtime = now
  // Locks a file of that name among processes of ours, made if it is not there, until the
  // descriptor is closed. store_busy after `wait_ms`.
  Result<Fd> lock(const std::string& name, std::int64_t wait_ms) const;
  // The file, or the folder with the plain files and folders in it; gone already is fine.
  Result<void> remove(const std::string& name) const;

 private:
  ArtefactFolder(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  std::unexpected<Error> failed(int errno_value, std::string_view doing,
                                std::string_view name) const;
  static Result<ArtefactFolder> open_or_make(const std::string& root, std::string_view below,
                                             bool make);

  Fd fd_;
  std::string path_;
};

// Is this an ordinary single name: not empty, no '/', no NUL, not "." or ".."?
bool is_plain_name(std::string_view name);

}  // namespace lockkeeper
