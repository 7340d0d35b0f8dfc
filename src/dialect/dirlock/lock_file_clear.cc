// Removing another's lock file: never by name alone.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/text.h"
#include "dialect/dirlock/lock_file.h"
#include "host/file_ops.h"

namespace lockkeeper::dialect::dirlock {
namespace {

constexpr int kPatienceMs = 2'000;  // for another process that removes the same file

struct File {
  dev_t device = 0;
  ino_t inode = 0;
  friend bool operator==(const File&, const File&) = default;
};

std::optional<File> file_at(int folder, const std::string& name) {
  struct stat found{};
  if (::fstatat(folder, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return File{found.st_dev, found.st_ino};
}

File file_of(int fd) {
  struct stat found{};
  static_cast<void>(::fstat(fd, &found));
  return {found.st_dev, found.st_ino};
}

bool has_bytes(int fd, std::string_view bytes) {
  std::string content(bytes.size() + 1, '\0');
  const ssize_t got = ::pread(fd, content.data(), content.size(), 0);
  return got == static_cast<ssize_t>(bytes.size()) && std::string_view(content).starts_with(bytes);
}

}  // namespace

Result<Cleared> clear_lock(const std::string& folder, const std::string& name,
                           std::string_view bytes) {
  const std::string path = folder + "/" + name;
  const Fd in(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!in) {
    if (errno == ENOENT) return Cleared::kGone;
    return fail(errno_error(errno, "cannot open the folder " + quote(folder)));
  }
  const Fd file(::openat(in.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) {
    if (errno == ENOENT) return Cleared::kGone;
    if (errno == ELOOP) return Cleared::kChanged;
    return fail(errno_error(errno, "cannot open " + quote(path)));
  }
  if (lock_exclusively(file.get(), kPatienceMs) != 0) {
    return fail(Code::kStoreBusy, quote(path) + " is being removed by another process",
                "try again");
  }
  const File judged = file_of(file.get());
  const auto now = file_at(in.get(), name);
  if (!now) return Cleared::kGone;
  if (*now != judged || !has_bytes(file.get(), bytes)) return Cleared::kChanged;

  // One name per inode: the holder of the inode's lock is alone with it.
  const std::string aside = "." + name + ".aside-" + std::to_string(judged.inode);
  if (const int error = host::rename_new_at(in.get(), name, in.get(), aside); error != 0) {
    if (error == ENOENT) return Cleared::kGone;
    if (error == EEXIST) {  // left by a process that was killed here
      ::unlinkat(in.get(), aside.c_str(), 0);
      return Cleared::kChanged;
    }
    return fail(errno_error(error, "cannot remove " + quote(path)));
  }
  // A tool that removes by name may have been faster: then this is another file.
  if (file_at(in.get(), aside) == judged && has_bytes(file.get(), bytes)) {
    ::unlinkat(in.get(), aside.c_str(), 0);
    return Cleared::kDone;
  }
  if (host::rename_new_at(in.get(), aside, in.get(), name) != 0) {
    ::unlinkat(in.get(), aside.c_str(), 0);
  }
  return Cleared::kChanged;
}

}  // namespace lockkeeper::dialect::dirlock
