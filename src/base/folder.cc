#include "base/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <thread>

#include "base/bytes.h"
#include "base/text.h"

namespace lockkeeper {
namespace {

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kLeaseWaitMs = 5'000;
constexpr int kDepthMax = 4;  // of folders inside one that is removed

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

// Takes the first name off "a/b/c".
std::string first_name(std::string_view& below) {
  const std::size_t slash = below.find('/');
  std::string name(below.substr(0, slash));
  below = slash == std::string_view::npos ? std::string_view() : below.substr(slash + 1);
  return name;
}

Result<void> check_name(const std::string& name) {
  if (is_plain_name(name)) return {};
  return fail(Code::kInvalidInput, quote(name) + " is not the name of a file or folder");
}

}  // namespace

bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

std::unexpected<Error> Folder::failed(int errno_value, std::string_view doing,
                                      std::string_view name) const {
  if (errno_value == ELOOP || errno_value == ENOTDIR) {
    return not_ours(name, "is a symlink, or not what it should be");
  }
  const std::string path = name.empty() ? path_ : path_of(name);
  return fail(errno_error(errno_value, "cannot " + std::string(doing) + " " + quote(path), code()));
}

std::unexpected<Error> Folder::not_ours(std::string_view name, std::string_view what) const {
  const std::string path = name.empty() ? path_ : path_of(name);
  return fail(code(), quote(path) + " " + std::string(what),
              kind_ == Kind::kShared ? "move it away; lockkeeper does not follow symlinks there"
                                     : "remove it, or name another folder: --output DIR");
}

Result<Folder> Folder::open(const std::string& root, std::string_view below, Kind kind) {
  Folder at(Fd(::open(root.c_str(), kFolderFlags)), root, kind);
  if (!at.fd_) {
    if (errno == ENOENT && kind == Kind::kShared) {
      return fail(Code::kNotFound, "there is no folder " + quote(root));
    }
    return at.failed(errno, "open the folder", "");
  }
  while (!below.empty()) {
    const std::string name = first_name(below);
    LK_ASSIGN(std::optional<Folder> next, at.existing(name));
    if (!next) return fail(Code::kNotFound, "there is no folder " + quote(at.path_of(name)));
    at = std::move(*next);
  }
  return at;
}

Result<std::optional<Folder>> Folder::find(const std::string& root, std::string_view below) {
  auto folder = open(root, below);
  if (folder) return std::move(*folder);
  if (folder.error().code == Code::kNotFound) return std::nullopt;
  return fail(std::move(folder.error()));
}

Result<Folder> Folder::create(const std::string& root, std::string_view below) {
  LK_ASSIGN(Folder at, open(root));
  while (!below.empty()) {
    const std::string name = first_name(below);
    LK_ASSIGN(Folder next, at.folder(name));
    at = std::move(next);
  }
  return at;
}

bool Folder::is_there() const {
  struct stat ours{};
  struct stat named{};
  return ::fstat(fd_.get(), &ours) == 0 && ::lstat(path_.c_str(), &named) == 0 &&
         ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

Result<std::vector<std::string>> Folder::names() const {
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

Result<FileStamp> Folder::own_stamp() const {
  struct stat found{};
  if (::fstat(fd_.get(), &found) != 0) return failed(errno, "look at", "");
  return stamp_of(found);
}

Result<std::optional<FileStamp>> Folder::stamp(const std::string& name) const {
  struct stat found{};
  if (::fstatat(fd_.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0) return stamp_of(found);
  if (errno == ENOENT || errno == ENAMETOOLONG) return std::nullopt;
  return failed(errno, "look at", name);
}

Result<bool> Folder::has(const std::string& name) const {
  LK_ASSIGN(const std::optional<FileStamp> found, stamp(name));
  return found.has_value();
}

Result<bool> Folder::is_named(const std::string& name, int fd) const {
  struct stat open{}, named{};
  if (::fstat(fd, &open) != 0) return failed(errno, "look at", name);
  if (::fstatat(fd_.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return false;
    return failed(errno, "look at", name);
  }
  return open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

Result<Folder> Folder::folder(const std::string& name) const {
  LK_CHECK(check_name(name));
  if (::mkdirat(fd_.get(), name.c_str(), folder_mode()) != 0 && errno != EEXIST) {
    return failed(errno, "make the folder", name);
  }
  LK_ASSIGN(std::optional<Folder> made, existing(name));
  if (!made) return failed(ENOENT, "open the folder", name);  // gone again
  return std::move(*made);
}

Result<std::optional<Folder>> Folder::existing(const std::string& name) const {
  LK_CHECK(check_name(name));
  Fd inner(::openat(fd_.get(), name.c_str(), kFolderFlags));
  if (inner) return Folder(std::move(inner), path_of(name), kind_);
  if (errno == ENOENT) return std::nullopt;
  return failed(errno, "open the folder", name);
}

Result<std::optional<Folder>> Folder::folder_if_any(const std::string& name) const {
  LK_ASSIGN(const std::optional<FileStamp> found, stamp(name));
  if (!found || !found->folder) return std::nullopt;
  return existing(name);
}

Result<void> Folder::make_folder(const std::string& name) const {
  if (::mkdirat(fd_.get(), name.c_str(), folder_mode()) == 0) return {};
  return failed(errno, "make the folder", name);
}

Result<std::optional<Fd>> Folder::open_file(const std::string& name, int flags) const {
  LK_CHECK(check_name(name));
  // Not blocking: a pipe in a file's place must not hang us.
  const auto open = [&] {
    constexpr int kAlways = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    return Fd(::openat(fd_.get(), name.c_str(), flags | kAlways, file_mode()));
  };
  Fd file = open();
  for (int waited_ms = 0; !file && errno == EWOULDBLOCK && waited_ms < kLeaseWaitMs; ++waited_ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    file = open();
  }
  if (!file && errno == ENOENT && (flags & O_CREAT) == 0) return std::nullopt;
  if (!file) return failed(errno, "open", name);
  struct stat found{};
  if (::fstat(file.get(), &found) != 0) return failed(errno, "look at", name);
  if (!S_ISREG(found.st_mode)) return not_ours(name, "is not a regular file");
  return file;
}

Result<std::optional<std::string>> Folder::read(const std::string& name, std::size_t limit) const {
  LK_ASSIGN(const std::optional<Fd> file, open_file(name, O_RDONLY));
  if (!file) return std::nullopt;
  std::string bytes;
  std::string chunk(1 << 16, '\0');
  for (;;) {
    const ssize_t got = ::read(file->get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(errno, "read", name);
    if (got == 0) return bytes;
    bytes.append(chunk, 0, static_cast<std::size_t>(got));
    if (bytes.size() > limit) {
      return fail(Code::kLimitExceeded,
                  quote(path_of(name)) + " has more than " + std::to_string(limit) + " bytes",
                  kind_ == Kind::kPrivate
                      ? ""
                      : "is it a lock at all? To pass it over: lockkeeper layout ignore " +
                            shell_quote(path_of(name)));
    }
  }
}

Result<Fd> Folder::append(const std::string& name) const {
  LK_ASSIGN(std::optional<Fd> file, open_file(name, O_WRONLY | O_CREAT | O_APPEND));
  return std::move(*file);
}

Result<Fd> Folder::create_file(const std::string& name, std::string_view bytes) const {
  LK_ASSIGN(std::optional<Fd> file, open_file(name, O_RDWR | O_CREAT | O_EXCL));
  if (write_all(file->get(), bytes)) return std::move(*file);
  const int why = errno;
  ::unlinkat(fd_.get(), name.c_str(), 0);
  return failed(why, "write", name);
}

Result<void> Folder::write(const std::string& name, std::string_view bytes) const {
  LK_CHECK(check_name(name));
  Replacing how;
  how.mode = file_mode();
  how.alone = true;
  const int error = replace_durably_at(fd_.get(), name, bytes, how);
  if (error != 0) return failed(error, "write", name);
  return {};
}

void Folder::share(int fd) const {
  struct stat own{};
  struct stat other{};
  if (::fstat(fd_.get(), &own) != 0 || ::fstat(fd, &other) != 0) return;
  const mode_t mode = own.st_mode & (S_ISDIR(other.st_mode) ? 07777U : 0666U);
  static_cast<void>(!::fchown(fd, own.st_uid, own.st_gid));
  static_cast<void>(::fchmod(fd, mode));
}

Result<void> Folder::touch(const std::string& name) const {
  if (::utimensat(fd_.get(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0) return {};
  return failed(errno, "touch", name);
}

Result<void> Folder::rename(const std::string& from, const Folder& into,
                            const std::string& to) const {
  if (::renameat(fd_.get(), from.c_str(), into.fd_.get(), to.c_str()) == 0) return {};
  return failed(errno, "rename", from);
}

// 0, or errno's value.
int Folder::remove_one(const std::string& name) const {
  if (::unlinkat(fd_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return 0;
  const int why = errno;
  if (why != EISDIR && why != EPERM) return why;
  if (::unlinkat(fd_.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return 0;
  return errno == ENOTDIR ? why : errno;
}

Result<void> Folder::remove(const std::string& name) const {
  if (const int error = remove_one(name); error != 0) return failed(error, "remove", name);
  return {};
}

Result<void> Folder::remove_all(const std::string& name) const {
  for (int depth = 0; depth < kDepthMax; ++depth) {
    const int error = remove_one(name);
    if (error == 0) return {};
    if (error != ENOTEMPTY && error != EEXIST) return failed(error, "remove", name);
    LK_ASSIGN(const std::optional<Folder> inner, folder_if_any(name));
    if (!inner) continue;
    LK_ASSIGN(const std::vector<std::string> inside, inner->names());
    for (const std::string& each : inside) LK_CHECK(inner->remove_all(each));
  }
  return failed(ENOTEMPTY, "remove", name);
}

Result<Fd> Folder::lock(const std::string& name, std::int64_t wait_ms) const {
  // For reading: a process that may not write the file may still lock it.
  LK_ASSIGN(std::optional<Fd> file, open_file(name, O_RDONLY | O_CREAT));
  const int error = lock_exclusively(file->get(), wait_ms);
  if (error == 0) return std::move(*file);
  if (error != EWOULDBLOCK) return failed(error, "lock", name);
  return fail(Code::kStoreBusy,
              "another lockkeeper has been writing " + quote(path_of(name)) + " for " +
                  std::to_string(wait_ms) + " ms",
              "try again");
}

}  // namespace lockkeeper
