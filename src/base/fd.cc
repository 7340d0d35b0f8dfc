#include "base/fd.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

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

Result<void> sync_parent(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Fd fd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return fail(errno_error(errno, parent));
  return {};
}

}  // namespace

Result<void> replace_file_durably(const std::string& path, std::string_view content) {
  // A random name, because a pid is not unique: two containers may share this folder.
  std::string suffix;
  append_be64(suffix, SystemRandom().next());
  const std::string temporary = path + ".new." + to_hex(suffix);
  const Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return fail(errno_error(errno, temporary));
  Result<void> written;
  if (!write_all(fd.get(), content) || ::fsync(fd.get()) != 0) {
    written = fail(errno_error(errno, temporary));
  }
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0) {
    written = fail(errno_error(errno, path));
  }
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  return sync_parent(path);
}

Result<Fd> open_or_create(const std::string& path, unsigned mode) {
  // O_NONBLOCK: a pipe in the file's place must not hang us.
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
  Fd fd;
  // Again if it is deleted between the two attempts; whoever deletes it for ever is told.
  for (int attempt = 0; attempt < 3 && !fd; ++attempt) {
    fd = Fd(::open(path.c_str(), kFlags | O_CREAT | O_EXCL, mode));
    if (fd) {
      // The umask must not narrow what a shared repository asks for.
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
    return fail(Code::kStoreCorrupt, path + ": is no regular file", "move it away and try again");
  }
  return fd;
}

Result<void> make_folders(const std::string& path, unsigned mode) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), mode) != 0 && errno != EEXIST) {
      return fail(errno_error(errno, part));
    }
    if (slash == std::string::npos) break;
  }
  // mkdir says "exists" for a file of that name, too.
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return fail(errno_error(errno, path));
  if (!S_ISDIR(status.st_mode)) return fail(errno_error(ENOTDIR, path));
  return {};
}

}  // namespace lockkeeper
