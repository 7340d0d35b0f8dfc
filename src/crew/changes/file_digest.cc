#include "crew/changes/file_digest.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "base/sha256.h"

namespace lockkeeper::crew {
namespace {

std::string link_digest(int folder, const std::string& path) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlinkat(folder, path.c_str(), target.data(), target.size());
  if (length < 0) return {};
  return "link " + sha256_hex({target.data(), static_cast<std::size_t>(length)});
}

}  // namespace

std::int64_t nanoseconds(const timespec& time) {
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

std::string file_digest(int folder, const std::string& name) {
  // Non-blocking: it may be a pipe.
  const Fd file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) return errno == ELOOP ? link_digest(folder, name) : std::string();
  struct stat found{};
  if (::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  if (static_cast<std::uint64_t>(found.st_size) > kDigestFileBytesMax) return {};
  std::string content;
  content.resize(static_cast<std::size_t>(found.st_size) + 1);  // one more, to notice that it grows
  std::size_t size = 0;
  while (size < content.size()) {
    const ssize_t count = ::read(file.get(), content.data() + size, content.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return {};
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size == content.size()) return {};
  return sha256_hex({content.data(), size});
}

FileState file_state(const struct stat& found) {
  FileState state;
  state.mtime_ns = nanoseconds(found.st_mtim);
  state.ctime_ns = nanoseconds(found.st_ctim);
  state.size = static_cast<std::uint64_t>(found.st_size);
  state.inode = found.st_ino;
  state.mode = found.st_mode;
  return state;
}

bool is_young(const Tree& tree, const FileState& state) {
  constexpr std::int64_t kTickNs = 50'000'000;  // ten times the kernel's usual tick
  return state.ctime_ns > tree.scanned_ns - kTickNs;
}

bool same_on_disk(const FileState& a, const FileState& b) {
  return a.mtime_ns == b.mtime_ns && a.ctime_ns == b.ctime_ns && a.size == b.size &&
         a.inode == b.inode && a.mode == b.mode;
}

}  // namespace lockkeeper::crew
