#include "snapshot/restore.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/random.h"
#include "base/text.h"

namespace lockkeeper::snapshot {
namespace {

constexpr int kStepFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

std::unexpected<Error> cannot(int errno_value, const std::string& what) {
  if (errno_value == ELOOP || errno_value == ENOTDIR) {
    return fail(Code::kInvalidInput,
                quote(what) + " lies behind a symlink or something that is not a folder",
                "write it elsewhere: --to PATH");
  }
  return fail(errno_error(errno_value, "cannot write " + quote(what), Code::kFailed));
}

std::string unused_name() {
  SystemRandom random;
  std::string bytes;
  append_be64(bytes, random.next());
  return ".lockkeeper-" + to_hex(bytes);
}

std::string below(const std::string& root, const std::string& path) {
  return root + "/" + path;
}

// The folder of `path`, made if it is not there.
Result<Fd> folder_below(const std::string& root, std::string_view path) {
  Fd at(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at) return cannot(errno, root);
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/')) {
    const std::string name(path.substr(0, slash));
    path.remove_prefix(slash + 1);
    if (name.empty() || name == "." || name == "..") return cannot(ENOTDIR, std::string(path));
    if (::mkdirat(at.get(), name.c_str(), 0777) != 0 && errno != EEXIST) {
      return cannot(errno, below(root, name));
    }
    at = Fd(::openat(at.get(), name.c_str(), kStepFlags));
    if (!at) return cannot(errno, below(root, "…/" + name));
  }
  return at;
}

// 0, or errno's value.
int make(int folder, const std::string& name, const Version& version, std::string_view content) {
  if (version.kind == Kind::kSymlink) {
    return ::symlinkat(version.target.c_str(), folder, name.c_str()) == 0 ? 0 : errno;
  }
  const Fd file(
      ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return errno;
  // Never more than read, write and execute: whoever restores it may be somebody else.
  const bool written = write_all(file.get(), content) &&
                       ::fchmod(file.get(), version.mode & 0777U) == 0 && ::fsync(file.get()) == 0;
  if (written) return 0;
  const int why = errno;
  ::unlinkat(folder, name.c_str(), 0);
  return why;
}

}  // namespace

Result<void> put_back(const std::string& root, const std::string& path, const Version& version,
                      std::string_view content) {
  LK_ASSIGN(const Fd folder, folder_below(root, path));
  const std::string name = path.substr(path.rfind('/') + 1);
  const std::string unfinished = unused_name();
  if (const int error = make(folder.get(), unfinished, version, content); error != 0) {
    return cannot(error, root + "/" + path);
  }
  if (::renameat(folder.get(), unfinished.c_str(), folder.get(), name.c_str()) == 0) return {};
  const int why = errno;
  ::unlinkat(folder.get(), unfinished.c_str(), 0);
  if (why == EISDIR) {
    return fail(Code::kInvalidInput, quote(path) + " is a folder now",
                "write it elsewhere: --to PATH");
  }
  return cannot(why, root + "/" + path);
}

Result<void> put_elsewhere(const std::string& file, const Version& version,
                           std::string_view content) {
  const int error = make(AT_FDCWD, file, version, content);
  if (error == 0) return {};
  if (error == EEXIST) {
    return fail(Code::kInvalidInput, quote(file) + " exists",
                "name a file that does not: --to PATH");
  }
  if (error == ENOENT || error == ENOTDIR) {
    const std::string folder = file.substr(0, file.rfind('/'));
    return fail(Code::kInvalidInput, "there is no folder " + quote(folder),
                "make it: mkdir -p " + shell_quote(folder));
  }
  return fail(errno_error(error, "cannot write " + quote(file), Code::kFailed));
}

}  // namespace lockkeeper::snapshot
