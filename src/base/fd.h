// File descriptors and the few file operations we need, done safely: close-on-exec always, no
// symlink followed, whole files or none.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace lockkeeper {

// Owns one descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

// The whole file, at most `limit` bytes (limit_exceeded beyond). not_found: no such file.
Result<std::string> read_file(const std::string& path, std::size_t limit = 1 << 20);

// How the file looks from outside. Another content has another stamp, unless it has the same size
// and came within a tick of the clock (4 ms). 0: there is none.
std::uint64_t file_stamp(const std::string& path, bool follow = false);

// Writes all bytes, with several calls if necessary. False: errno says why not.
bool write_all(int fd, std::string_view bytes);

// What keeps this process from writing: the file or folder, or the first folder above it that is
// there, with errno's value. nullopt: nothing does.
struct Unwritable {
  std::string path;
  int error = 0;
};
std::optional<Unwritable> find_unwritable(std::string path);

// How a file is replaced. The umask does not matter.
struct Replacing {
  unsigned mode = 0600;
  std::optional<uid_t> uid;
  std::optional<gid_t> gid;
  // REQUIRES if true: nobody else replaces this file at the same time. The temporary file then
  // always has the same name, so that the next replacement removes what a crash left behind.
  bool alone = false;
  // False for what is made again if a power cut has left nothing of it: no fsync.
  bool synced = true;
};

// Replaces the file in one step that survives a crash: temporary beside it, fsync, rename, fsync of
// the folder. A symlink in its place is replaced, not followed.
Result<void> replace_file_durably(const std::string& path, std::string_view content,
                                  const Replacing& how = {});
// The same for a name in an open folder. 0, or errno's value.
int replace_durably_at(int folder, const std::string& name, std::string_view content,
                       const Replacing& how);

// Takes the flock of an open file. 0, or errno's value; EWOULDBLOCK: not free within `wait_ms`.
int lock_exclusively(int fd, std::int64_t wait_ms);

// Opens a regular file for reading and writing; creates it with exactly `mode` if there is none.
// Refuses a symlink. store_unavailable: it cannot be opened (no_space on a full disk).
// store_corrupt: it is not a regular file.
Result<Fd> open_or_create(const std::string& path, unsigned mode);

// Creates the folder (0700) and its missing parents. Success if it is already there. Returns those
// that it created, outermost first.
Result<std::vector<std::string>> make_folders(const std::string& path, unsigned mode = 0700);

}  // namespace lockkeeper
