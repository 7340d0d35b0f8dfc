#include "base/artefact_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "base/bytes.h"
#include "base/text.h"

namespace lockkeeper {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kLeaseWaitMs = 5'000;
constexpr int kDepthMax = 4;  // of folders inside an artefact that is removed

FileStamp stamp_of(const struct stat& found) {
  RecordWriter out;
  out.number(found.st_dev);
  out.number(found.st_ino);
  out.number(static_cast<std::uint64_t>(found.st_size));
  out.number(found.st_mode);
  out.signed_number(found.st_mtim.tv_sec);
  out.signed_number(found.st_mtim.tv_nsec);
  FileStamp stamp;
  stamp.stamp = hash64(out.take());
  stamp.mtime_ms = found.st_mtim.tv_sec * 1000 + found.st_mtim.tv_nsec / 1'000'000;
  stamp.folder = S_ISDIR(found.st_mode);
  stamp.regular = S_ISREG(found.st_mode);
  return stamp;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

std::unexpected<Error> ArtefactFolder::failed(int errno_value, std::string_view doing,
                                              std::string_view name) const {
  const std::string path = name.empty() ? path_ : path_of(name);
  return fail(errno_error(errno_value, "cannot " + std::string(doing) + " " + quote(path)));
}

Result<ArtefactFolder> ArtefactFolder::open(const std::string& root, std::string_view below) {
  return open_or_make(root, below, false);
}

Result<ArtefactFolder> ArtefactFolder::create(const std::string& root, std::string_view below) {
  return open_or_make(root, below, true);
}

Result<ArtefactFolder> ArtefactFolder::open_or_make(const std::string& root, std::string_view below,
                                                    bool make) {
  ArtefactFolder at(Fd(::open(root.c_str(), kFolderFlags)), root);
  if (!at.fd_) {
    if (errno == ENOENT) return fail(Code::kNotFound, "there is no folder " + quote(root));
    return at.failed(errno, "open the folder", "");
  }
  while (!below.empty()) {
    const std::size_t slash = below.find('/');
    const std::string name(below.substr(0, slash));
    below = slash == std::string_view::npos ? std::string_view() : below.substr(slash + 1);
    if (!is_plain_name(name)) {
      return fail(Code::kInvalidInput, quote(name) + " is not the name of a folder");
    }
    if (make && ::mkdirat(at.fd_.get(), name.c_str(), 0777) != 0 && errno != EEXIST) {
      return at.failed(errno, "make the folder", name);
    }
    Fd next(::openat(at.fd_.get(), name.c_str(), kFolderFlags));
    if (!next) {
      if (errno == ENOENT) {
        return fail(Code::kNotFound, "there is no folder " + quote(at.path_of(name)));
      }
      if (errno == ELOOP || errno == ENOTDIR) {
        return fail(Code::kStoreUnavailable,
                    quote(at.path_of(name)) + " is not a folder but something else, or a symlink",
                    "move it away; lockkeeper follows no symlink there");
      }
      return at.failed(errno, "open the folder", name);
    }
    at = ArtefactFolder(std::move(next), at.path_of(name));
  }
  return at;
}

Result<std::vector<std::string>> ArtefactFolder::names() const {
  Fd copy(::openat(fd_.get(), ".", kFolderFlags));
  if (!copy) return failed(errno, "read the folder", "");
  const std::unique_ptr<DIR, CloseFolder> folder(::fdopendir(copy.get()));
  if (!folder) return failed(errno, "read the folder", "");
  copy.release();
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(folder.get());
    if (entry == nullptr) break;
    if (is_plain_name(entry->d_name)) names.emplace_back(entry->d_name);
  }
  if (errno != 0) return failed(errno, "read the folder", "");
  return names;
}

Result<FileStamp> ArtefactFolder::own_stamp() const {
  struct stat found{};
  if (::fstat(fd_.get(), &found) != 0) return failed(errno, "look at", "");
  return stamp_of(found);
}

Result<std::optional<FileStamp>> ArtefactFolder::stamp(const std::string& name) const {
  struct stat found{};
  if (::fstatat(fd_.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0) return stamp_of(found);
  if (errno == ENOENT || errno == ENAMETOOLONG) return std::nullopt;
  return failed(errno, "look at", name);
}

Result<std::optional<std::string>> ArtefactFolder::read(const std::string& name,
                                                        std::size_t limit) const {
  // Not blocking: a pipe in a lock's place must not hold us.
  const auto open = [&] {
    return Fd(::openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  };
  Fd file = open();
  for (int waited_ms = 0; !file && errno == EWOULDBLOCK && waited_ms < kLeaseWaitMs; ++waited_ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    file = open();
  }
  if (!file) {
    if (errno == ENOENT) return std::nullopt;
    if (errno == ELOOP) {
      return fail(Code::kStoreUnavailable, quote(path_of(name)) + " is a symlink",
                  "move it away; lockkeeper follows no symlink there");
    }
    return failed(errno, "open", name);
  }
  struct stat found{};
  if (::fstat(file.get(), &found) != 0) return failed(errno, "look at", name);
  if (!S_ISREG(found.st_mode)) {
    return fail(Code::kStoreUnavailable, quote(path_of(name)) + " is not a regular file",
                "move it away");
  }
  std::string bytes;
  std::string chunk(1 << 16, '\0');
  for (;;) {
    const ssize_t got = ::read(file.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(errno, "read", name);
    if (got == 0) return bytes;
    bytes.append(chunk, 0, static_cast<std::size_t>(got));
    if (bytes.size() > limit) {
      return fail(Code::kLimitExceeded,
                  quote(path_of(name)) + " has more than " + std::to_string(limit) + " bytes",
                  "is it a lock at all? To pass it over: lockkeeper layout ignore " +
                      shell_quote(path_of(name)));
    }
  }
}

Result<std::optional<ArtefactFolder>> ArtefactFolder::folder(const std::string& name) const {
  Fd inner(::openat(fd_.get(), name.c_str(), kFolderFlags));
  if (inner) return ArtefactFolder(std::move(inner), path_of(name));
  if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return std::nullopt;
  return failed(errno, "open the folder", name);
}

Result<void> ArtefactFolder::write_new(const std::string& name, std::string_view bytes) const {
  // Written before it has a name: others publish what is prepared as soon as they see it.
  const Fd nameless(::openat(fd_.get(), ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666));
  if (!nameless) {  // a file system that cannot do it
    LK_CHECK(create_file(name, bytes));
    return {};
  }
  if (!write_all(nameless.get(), bytes)) return failed(errno, "write", name);
  const std::string from = "/proc/self/fd/" + std::to_string(nameless.get());
  if (::linkat(AT_FDCWD, from.c_str(), fd_.get(), name.c_str(), AT_SYMLINK_FOLLOW) == 0) return {};
  if (errno != ENOENT) return failed(errno, "write", name);
  LK_CHECK(create_file(name, bytes));  // no /proc here
  return {};
}

Result<Fd> ArtefactFolder::create_file(const std::string& name, std::string_view bytes) const {
  Fd file(
      ::openat(fd_.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file) return failed(errno, "write", name);
  if (write_all(file.get(), bytes)) return file;
  const int why = errno;
  ::unlinkat(fd_.get(), name.c_str(), 0);
  return failed(why, "write", name);
}

Result<bool> ArtefactFolder::is_named(const std::string& name, int fd) const {
  struct stat open{}, named{};
  if (::fstat(fd, &open) != 0) return failed(errno, "look at", name);
  if (::fstatat(fd_.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return false;
    return failed(errno, "look at", name);
  }
  return open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

Result<void> ArtefactFolder::make_folder(const std::string& name) const {
  if (::mkdirat(fd_.get(), name.c_str(), 0777) != 0) return failed(errno, "make the folder", name);
  return {};
}

Result<bool> ArtefactFolder::rename_new(const std::string& from, const ArtefactFolder& into,
                                        const std::string& to) const {
  if (::renameat2(fd_.get(), from.c_str(), into.fd_.get(), to.c_str(), RENAME_NOREPLACE) == 0) {
    return true;
  }
  if (errno == EEXIST || errno == ENOTEMPTY) return false;
  if (errno == EINVAL || errno == ENOSYS) return rename_by_steps(from, into, to);
  return into.failed(errno, "put in its place", to);
}

Result<bool> ArtefactFolder::rename_by_steps(const std::string& from, const ArtefactFolder& into,
                                             const std::string& to) const {
  LK_ASSIGN(const std::optional<FileStamp> what, stamp(from));
  const bool folder = what && what->folder;
  const int taken = folder ? ::mkdirat(into.fd_.get(), to.c_str(), 0777)
                           : ::linkat(fd_.get(), from.c_str(), into.fd_.get(), to.c_str(), 0);
  if (taken != 0 && errno == EEXIST) return false;
  if (taken != 0) return into.failed(errno, "put in its place", to);
  const int moved = folder ? ::renameat(fd_.get(), from.c_str(), into.fd_.get(), to.c_str())
                           : ::unlinkat(fd_.get(), from.c_str(), 0);
  if (moved == 0) return true;
  const int why = errno;
  if (folder) ::unlinkat(into.fd_.get(), to.c_str(), AT_REMOVEDIR);
  return into.failed(why, "put in its place", to);
}

Result<void> ArtefactFolder::exchange(const std::string& a, const ArtefactFolder& other,
                                      const std::string& b) const {
  if (::renameat2(fd_.get(), a.c_str(), other.fd_.get(), b.c_str(), RENAME_EXCHANGE) == 0) {
    return {};
  }
  return other.failed(errno, "put in its place", b);
}

Result<void> ArtefactFolder::touch(const std::string& name) const {
  if (::utimensat(fd_.get(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0) return {};
  return failed(errno, "touch", name);
}

Result<Fd> ArtefactFolder::lock(const std::string& name, std::int64_t wait_ms) const {
  // For reading: who may not write the file may lock it all the same.
  Fd file(::openat(fd_.get(), name.c_str(), O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file) return failed(errno, "open", name);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return failed(errno, "lock", name);
    if (std::chrono::steady_clock::now() > end) {
      return fail(Code::kStoreBusy,
                  "another lockkeeper has been writing behind " + quote(path_of(name)) + " for " +
                      std::to_string(wait_ms) + " ms",
                  "try again");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return file;
}

Result<void> ArtefactFolder::remove(const std::string& name) const {
  if (::unlinkat(fd_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return failed(errno, "remove", name);
  for (int depth = 0; depth < kDepthMax; ++depth) {
    if (::unlinkat(fd_.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
    if (errno != ENOTEMPTY && errno != EEXIST) return failed(errno, "remove", name);
    LK_ASSIGN(const std::optional<ArtefactFolder> inner, folder(name));
    if (!inner) continue;
    LK_ASSIGN(const std::vector<std::string> inside, inner->names());
    for (const std::string& each : inside) LK_CHECK(inner->remove(each));
  }
  return failed(ENOTEMPTY, "remove", name);
}

}  // namespace lockkeeper
