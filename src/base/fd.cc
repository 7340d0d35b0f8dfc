#include "base/fd.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "base/bytes.h"
#include "base/random.h"

namespace lockkeeper {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  // Nonblocking, because a pipe in the file's place must not make us wait for a writer.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd) {
    const int error = errno;
    const bool missing = error == ENOENT || error == ENOTDIR;
    return fail(errno_error(error, path, missing ? Code::kNotFound : Code::kFailed));
  }
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return fail(errno_error(errno, path, Code::kFailed));
  if (S_ISFIFO(info.st_mode)) return fail(Code::kFailed, path + ": a pipe, not a file");
  std::string content;
  char buffer[16384];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n == 0) return content;
    if (n < 0) {
      if (errno == EINTR) continue;
      return fail(errno_error(errno, path, Code::kFailed));
    }
    content.append(buffer, static_cast<std::size_t>(n));
    if (content.size() > limit) {
      return fail(Code::kLimitExceeded, path + ": larger than " + std::to_string(limit) + " bytes");
    }
  }
}

std::uint64_t file_stamp(const std::string& path, bool follow) {
  struct stat found{};
  if ((follow ? ::stat(path.c_str(), &found) : ::lstat(path.c_str(), &found)) != 0) return 0;
  RecordWriter looks;
  for (const auto number :
       {static_cast<std::int64_t>(found.st_ino), std::int64_t{found.st_size},
        std::int64_t{found.st_mtim.tv_sec}, std::int64_t{found.st_mtim.tv_nsec},
        std::int64_t{found.st_ctim.tv_sec}, std::int64_t{found.st_ctim.tv_nsec}}) {
    looks.signed_number(number);
  }
  return hash64(looks.take());
}

std::optional<Unwritable> find_unwritable(std::string path) {
  bool above = false;
  while (::access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos || path == "/") return std::nullopt;
    path.resize(std::max<std::size_t>(slash, 1));
    above = true;
  }
  struct stat info{};
  if (above && ::stat(path.c_str(), &info) == 0 && !S_ISDIR(info.st_mode)) {
    return Unwritable{path, ENOTDIR};
  }
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0) return std::nullopt;
  return Unwritable{path, errno};
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

namespace {

// The name of a temporary file beside `name`. It has a random part, because a pid is not unique:
// two containers may share this folder.
std::string temporary_beside(const std::string& name, bool alone) {
  if (alone) return name + ".new";
  std::string suffix;
  append_be64(suffix, SystemRandom().next());
  return name + ".new." + to_hex(suffix);
}

bool sync_folder_of(int folder, const std::string& name) {
  if (folder != AT_FDCWD) return ::fsync(folder) == 0;
  const auto slash = name.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : name.substr(0, slash + 1);
  const Fd fd(::openat(AT_FDCWD, parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd && ::fsync(fd.get()) == 0;
}

bool fill(int fd, std::string_view content, const Replacing& how) {
  if (::fchmod(fd, how.mode) != 0) return false;
  const uid_t uid = how.uid.value_or(static_cast<uid_t>(-1));
  const gid_t gid = how.gid.value_or(static_cast<gid_t>(-1));
  if ((how.uid || how.gid) && ::fchown(fd, uid, gid) != 0) return false;
  return write_all(fd, content) && (!how.synced || ::fsync(fd) == 0);
}

}  // namespace

int replace_durably_at(int folder, const std::string& name, std::string_view content,
                       const Replacing& how) {
  const std::string temporary = temporary_beside(name, how.alone);
  if (how.alone) ::unlinkat(folder, temporary.c_str(), 0);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  const Fd fd(::openat(folder, temporary.c_str(), kFlags, 0600));
  if (!fd) return errno;
  if (!fill(fd.get(), content, how) ||
      ::renameat(folder, temporary.c_str(), folder, name.c_str()) != 0) {
    const int error = errno;
    ::unlinkat(folder, temporary.c_str(), 0);
    return error;
  }
  return !how.synced || sync_folder_of(folder, name) ? 0 : errno;
}

Result<void> replace_file_durably(const std::string& path, std::string_view content,
                                  const Replacing& how) {
  const int error = replace_durably_at(AT_FDCWD, path, content, how);
  if (error != 0) return fail(errno_error(error, path));
  return {};
}

int lock_exclusively(int fd, std::int64_t wait_ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return errno;
    if (std::chrono::steady_clock::now() > end) return EWOULDBLOCK;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return 0;
}

Result<Fd> open_or_create(const std::string& path, unsigned mode) {
  // O_NONBLOCK: a pipe in the file's place must not hang us.
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
  Fd fd;
  // Tries again if it is deleted between the two attempts, but not forever.
  for (int attempt = 0; attempt < 3 && !fd; ++attempt) {
    fd = Fd(::open(path.c_str(), kFlags | O_CREAT | O_EXCL, mode));
    if (fd) {
      // The umask must not narrow the mode of a shared repository.
      if (::fchmod(fd.get(), mode) != 0) return fail(errno_error(errno, path));
      return fd;
    }
    if (errno != EEXIST) return fail(errno_error(errno, path));
    fd = Fd(::open(path.c_str(), kFlags));
    if (!fd && errno != ENOENT) return fail(errno_error(errno, path));
  }
  if (!fd) return fail(errno_error(ENOENT, path));
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return fail(errno_error(errno, path));
  if (!S_ISREG(status.st_mode)) {
    return fail(Code::kStoreCorrupt, path + ": is not a regular file",
                "move it away and try again");
  }
  return fd;
}

Result<std::vector<std::string>> make_folders(const std::string& path, unsigned mode) {
  std::vector<std::string> made;
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), mode) == 0) {
      made.push_back(part);
    } else if (errno != EEXIST) {
      return fail(errno_error(errno, part));
    }
    if (slash == std::string::npos) break;
  }
  // mkdir says "exists" for a file of that name, too.
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return fail(errno_error(errno, path));
  if (!S_ISDIR(status.st_mode)) return fail(errno_error(ENOTDIR, path));
  return made;
}

}  // namespace lockkeeper
