// A folder by its descriptor. It is opened without following a symlink below its root, and
// everything in it is reached through the descriptor. So a folder that is replaced meanwhile cannot
// lead us elsewhere.
//
// Names are single names: no '/', not "." or ".." (invalid_input). Every error names the path.
// no_space: a full disk. limit_exceeded and store_busy where a method says so. Other errors depend
// on the kind of folder.
#pragma once

#include <sys/types.h>

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

class Folder {
 public:
  enum class Kind {
    kShared,   // other tools read it: modes follow the umask; errors: store_unavailable
    kPrivate,  // ours alone: folders 0700, files 0600; errors: failed
  };

  // `below` may have several names ("spec/.locks"); "" is the root itself. not_found (of a shared
  // folder): a name is missing. Fails if one is a symlink or not a folder.
  static Result<Folder> open(const std::string& root, std::string_view below = "",
                             Kind kind = Kind::kShared);
  // The same; nullopt: a name is missing.
  static Result<std::optional<Folder>> find(const std::string& root, std::string_view below = "");
  // The same, but creates what is missing below the root.
  static Result<Folder> create(const std::string& root, std::string_view below);

  const std::string& path() const { return path_; }
  std::string path_of(std::string_view name) const { return path_ + "/" + std::string(name); }
  int fd() const { return fd_.get(); }
  // Is it still where it was? What is written into a removed or replaced folder is lost.
  bool is_there() const;

  Result<std::vector<std::string>> names() const;  // unordered, without "." and ".."
  Result<FileStamp> own_stamp() const;
  Result<std::optional<FileStamp>> stamp(const std::string& name) const;  // of the name itself
  Result<bool> has(const std::string& name) const;
  Result<bool> is_named(const std::string& name, int fd) const;  // has that open file this name?

  // A folder in this one, created if it is not there.
  Result<Folder> folder(const std::string& name) const;
  // nullopt: there is none.
  Result<std::optional<Folder>> existing(const std::string& name) const;
  // nullopt: there is none, or it is not a folder.
  Result<std::optional<Folder>> folder_if_any(const std::string& name) const;
  Result<void> make_folder(const std::string& name) const;  // fails if the name is taken

  // A regular file's bytes; nullopt: there is none. limit_exceeded beyond `limit`. Waits a few
  // seconds at most for processes that have a lease on it (fcntl).
  Result<std::optional<std::string>> read(const std::string& name, std::size_t limit) const;
  // A regular file, opened with open(2)'s `flags`; nullopt: there is none.
  Result<std::optional<Fd>> open_file(const std::string& name, int flags) const;
  // For appending; created if it is not there.
  Result<Fd> append(const std::string& name) const;
  // A new file with these bytes, open for reading and writing; fails if the name is taken.
  Result<Fd> create_file(const std::string& name, std::string_view bytes) const;
  // Replaces the file in one step that survives a crash. REQUIRES: nobody else writes it at the
  // same time.
  Result<void> write(const std::string& name, std::string_view bytes) const;
  Result<void> touch(const std::string& name) const;  // mtime = now
  // An open file or folder in this one gets its owner and group, and lets in whom this one lets in,
  // as far as we may decide that.
  void share(int fd) const;
  Result<void> rename(const std::string& from, const Folder& into, const std::string& to) const;
  // A file or an empty folder. Success if it is already gone.
  Result<void> remove(const std::string& name) const;
  // The file, or the folder with the plain files and folders in it. Success if it is already gone.
  Result<void> remove_all(const std::string& name) const;
  // Locks a file of that name among our processes until the descriptor is closed; creates it if it
  // is not there. store_busy after `wait_ms`.
  Result<Fd> lock(const std::string& name, std::int64_t wait_ms) const;

  // errno's value as an error: "cannot DOING \"path/name\": …"; an empty name is the folder itself.
  std::unexpected<Error> failed(int errno_value, std::string_view doing,
                                std::string_view name) const;

 private:
  Folder(Fd fd, std::string path, Kind kind)
      : fd_(std::move(fd)), path_(std::move(path)), kind_(kind) {}
  std::unexpected<Error> not_ours(std::string_view name, std::string_view what) const;
  int remove_one(const std::string& name) const;
  Code code() const { return kind_ == Kind::kShared ? Code::kStoreUnavailable : Code::kFailed; }
  mode_t file_mode() const { return kind_ == Kind::kShared ? 0666 : 0600; }
  mode_t folder_mode() const { return kind_ == Kind::kShared ? 0777 : 0700; }

  Fd fd_;
  std::string path_;
  Kind kind_;
};

// Is this an ordinary single name: not empty, no '/', no NUL, not "." or ".."?
bool is_plain_name(std::string_view name);

}  // namespace lockkeeper
