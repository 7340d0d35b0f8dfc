#include "host/file_ops.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace lockkeeper::host {
namespace {

struct flock whole_file() {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

int rename_new_at(int folder, const std::string& from, int into, const std::string& to) {
  return ::renameat2(folder, from.c_str(), into, to.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
}

Result<bool> rename_new(const Folder& folder, const std::string& from, const Folder& into,
                        const std::string& to) {
  const int error = rename_new_at(folder.fd(), from, into.fd(), to);
  if (error == 0) return true;
  if (error == EEXIST || error == ENOTEMPTY) return false;
  if (error == EINVAL || error == ENOSYS) return rename_by_steps(folder, from, into, to);
  return into.failed(error, "put in its place", to);
}

Result<bool> rename_by_steps(const Folder& folder, const std::string& from, const Folder& into,
                             const std::string& to) {
  LK_ASSIGN(const std::optional<FileStamp> what, folder.stamp(from));
  const bool is_folder = what && what->folder;
  const int taken = is_folder ? ::mkdirat(into.fd(), to.c_str(), 0777)
                              : ::linkat(folder.fd(), from.c_str(), into.fd(), to.c_str(), 0);
  if (taken != 0 && errno == EEXIST) return false;
  if (taken != 0) return into.failed(errno, "put in its place", to);
  const int moved = is_folder ? ::renameat(folder.fd(), from.c_str(), into.fd(), to.c_str())
                              : ::unlinkat(folder.fd(), from.c_str(), 0);
  if (moved == 0) return true;
  const int why = errno;
  if (is_folder) ::unlinkat(into.fd(), to.c_str(), AT_REMOVEDIR);
  return into.failed(why, "put in its place", to);
}

Result<void> exchange(const Folder& folder, const std::string& a, const Folder& other,
                      const std::string& b) {
  if (::renameat2(folder.fd(), a.c_str(), other.fd(), b.c_str(), RENAME_EXCHANGE) == 0) return {};
  return other.failed(errno, "put in its place", b);
}

Result<void> write_new(const Folder& folder, const std::string& name, std::string_view bytes) {
  // Written before it has a name: other processes publish what is prepared as soon as they see it.
  const Fd nameless(::openat(folder.fd(), ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666));
  if (nameless) {
    if (!write_all(nameless.get(), bytes)) return folder.failed(errno, "write", name);
    const std::string from = "/proc/self/fd/" + std::to_string(nameless.get());
    if (::linkat(AT_FDCWD, from.c_str(), folder.fd(), name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      return {};
    }
    if (errno != ENOENT) return folder.failed(errno, "write", name);
  }
  // A file system that cannot do it, or no /proc here.
  LK_CHECK(folder.create_file(name, bytes));
  return {};
}

Result<std::optional<Fd>> try_lock(const Folder& folder, const std::string& name) {
  LK_ASSIGN(std::optional<Fd> file, folder.open_file(name, O_RDWR | O_CREAT));
  struct flock lock = whole_file();
  if (::fcntl(file->get(), F_OFD_SETLK, &lock) == 0) return file;
  if (errno == EAGAIN || errno == EACCES) return std::nullopt;
  return folder.failed(errno, "lock", name);
}

Result<bool> is_locked(const Folder& folder, const std::string& name) {
  LK_ASSIGN(const std::optional<Fd> file, folder.open_file(name, O_RDWR));
  if (!file) return false;
  struct flock lock = whole_file();
  if (::fcntl(file->get(), F_OFD_GETLK, &lock) != 0) return folder.failed(errno, "look at", name);
  return lock.l_type != F_UNLCK;
}

bool take_lease(int fd) {
  // The kernel tells us by a signal that somebody waits; the default one would end the process.
  return ::fcntl(fd, F_SETSIG, SIGURG) == 0 && ::fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
}

Fd open_below(int top, std::string_view path) {
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Fd at(::openat(top, ".", kFlags));
  while (at && !path.empty()) {
    const std::string name(path.substr(0, path.find('/')));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    at = Fd(::openat(at.get(), name.c_str(), kFlags));
  }
  return at;
}

}  // namespace lockkeeper::host
