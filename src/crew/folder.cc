#include "crew/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/artefact_folder.h"
#include "base/assert.h"
#include "base/bytes.h"
#include "base/sha256.h"
#include "base/text.h"

namespace lockkeeper::crew {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

struct flock whole_file() {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

std::unexpected<Error> Folder::failed(std::string_view name) const {
  const int why = errno;
  const std::string path = name.empty() ? path_ : path_of(name);
  Error error = errno_error(why, quote(path), Code::kFailed);
  if (why == ELOOP || why == ENOTDIR) {
    error.message = quote(path) + " is a link, or not what was made there";
    error.hint = "remove it, or name another folder: --output DIR";
  }
  return fail(std::move(error));
}

Result<Folder> Folder::open(const std::string& path) {
  Folder folder(Fd(::open(path.c_str(), kFolderFlags)), path);
  if (!folder.fd_) return folder.failed("");
  return folder;
}

Result<Folder> Folder::folder(const std::string& name) const {
  LOCKKEEPER_ASSERT(is_plain_name(name));
  if (::mkdirat(fd_.get(), name.c_str(), kFolderMode) != 0 && errno != EEXIST) return failed(name);
  LK_ASSIGN(std::optional<Folder> folder, existing(name));
  if (!folder) return failed(name);
  return std::move(*folder);
}

Result<std::optional<Folder>> Folder::existing(const std::string& name) const {
  LOCKKEEPER_ASSERT(is_plain_name(name));
  Folder folder(Fd(::openat(fd_.get(), name.c_str(), kFolderFlags)), path_of(name));
  if (folder.fd_) return folder;
  if (errno == ENOENT) return std::nullopt;
  return failed(name);
}

Result<bool> Folder::has(const std::string& name) const {
  struct stat status{};
  if (::fstatat(fd_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return true;
  if (errno == ENOENT) return false;
  return failed(name);
}

Result<Fd> Folder::open_file(const std::string& name, int flags) const {
  LOCKKEEPER_ASSERT(is_plain_name(name));
  // A FIFO in a file's place must not hold us up.
  Fd fd(::openat(fd_.get(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, kFileMode));
  if (!fd) return failed(name);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return failed(name);
  if (!S_ISREG(status.st_mode)) {
    errno = EINVAL;  // callers ask whether there is none
    return fail(Code::kFailed, quote(path_of(name)) + " is not a file", "remove it");
  }
  return fd;
}

Result<std::optional<std::string>> Folder::read(const std::string& name, std::size_t limit) const {
  auto fd = open_file(name, O_RDONLY);
  if (!fd) {
    if (errno == ENOENT) return std::nullopt;
    return fail(std::move(fd.error()));
  }
  std::string text;
  char block[1 << 16];
  for (;;) {
    const ssize_t n = ::read(fd->get(), block, sizeof block);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed(name);
    if (n == 0) return text;
    text.append(block, static_cast<std::size_t>(n));
    if (text.size() > limit) {
      return fail(Code::kLimitExceeded,
                  quote(path_of(name)) + " has more than " + std::to_string(limit) + " bytes");
    }
  }
}

Result<void> Folder::write(const std::string& name, std::string_view text) const {
  const std::string fresh = "." + name + ".new";
  if (::unlinkat(fd_.get(), fresh.c_str(), 0) != 0 && errno != ENOENT) return failed(fresh);
  {
    LK_ASSIGN(const Fd fd, open_file(fresh, O_WRONLY | O_CREAT | O_EXCL));
    if (!write_all(fd.get(), text) || ::fdatasync(fd.get()) != 0) return failed(name);
  }
  if (::renameat(fd_.get(), fresh.c_str(), fd_.get(), name.c_str()) != 0) return failed(name);
  if (::fsync(fd_.get()) != 0) return failed("");
  return {};
}

Result<Fd> Folder::append(const std::string& name) const {
  return open_file(name, O_WRONLY | O_CREAT | O_APPEND);
}

Result<void> Folder::rename(const std::string& from, const Folder& into,
                            const std::string& to) const {
  if (::renameat(fd_.get(), from.c_str(), into.fd_.get(), to.c_str()) != 0) return failed(from);
  return {};
}

Result<void> Folder::remove(const std::string& name) const {
  if (::unlinkat(fd_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR) return failed(name);
  if (::unlinkat(fd_.get(), name.c_str(), AT_REMOVEDIR) == 0) return {};
  return failed(name);
}

Result<std::optional<Fd>> Folder::lock(const std::string& name) const {
  LK_ASSIGN(Fd fd, open_file(name, O_RDWR | O_CREAT));
  struct flock lock = whole_file();
  if (::fcntl(fd.get(), F_OFD_SETLK, &lock) == 0) return fd;
  if (errno == EAGAIN || errno == EACCES) return std::nullopt;
  return failed(name);
}

Result<bool> Folder::is_locked(const std::string& name) const {
  auto fd = open_file(name, O_RDWR);
  if (!fd) {
    if (errno == ENOENT) return false;
    return fail(std::move(fd.error()));
  }
  struct flock lock = whole_file();
  if (::fcntl(fd->get(), F_OFD_GETLK, &lock) != 0) return failed(name);
  return lock.l_type != F_UNLCK;
}

bool Folder::is_there() const {
  struct stat ours{};
  struct stat named{};
  return ::fstat(fd_.get(), &ours) == 0 && ::lstat(path_.c_str(), &named) == 0 &&
         ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

std::string file_name_for(std::string_view id) {
  constexpr std::size_t kNameBytes = 100;
  constexpr std::string_view kHarmless =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  std::string name;
  for (const char c : id) {
    const bool harmless =
        kHarmless.find(c) != std::string_view::npos && !(name.empty() && c == '.');
    if (harmless) {
      name += c;
    } else {
      name += "%" + to_hex(std::string_view(&c, 1));
    }
  }
  if (name.empty()) return "%";
  if (name.size() <= kNameBytes) return name;
  // Two signs: no short name has them in a row.
  return name.substr(0, kNameBytes - 18) + "%%" + sha256_hex(id).substr(0, 16);
}

}  // namespace lockkeeper::crew
