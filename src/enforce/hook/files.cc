#include "enforce/hook/files.h"

#include <fcntl.h>
#include <nettle/sha1.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"

namespace lockkeeper::enforce::hook {
namespace {

constexpr off_t kContentBytesMax = 16 << 20;

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

Files::Files(const std::string& root)
    : folder_(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

Files::~Files() {
  if (folder_ >= 0) ::close(folder_);
}

core::FileMark Files::mark(const std::string& path) const {
  struct stat info{};
  if (::fstatat(folder_, path.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return {};
  return {static_cast<std::uint64_t>(info.st_size), nanoseconds(info.st_mtim),
          nanoseconds(info.st_ctim), info.st_ino};
}

std::string Files::content(const std::string& path) const {
  const Fd fd(::openat(folder_, path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  if (info.st_size > kContentBytesMax) return {};
  sha1_ctx hash;
  sha1_init(&hash);
  const std::string head = "blob " + std::to_string(info.st_size);
  sha1_update(&hash, head.size() + 1, reinterpret_cast<const std::uint8_t*>(head.c_str()));
  off_t left = info.st_size;
  std::uint8_t buffer[65536];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0) return {};
    if (n == 0) break;
    left -= n;
    if (left < 0) return {};  // it grows while it is read
    sha1_update(&hash, static_cast<std::size_t>(n), buffer);
  }
  if (left != 0) return {};
  std::uint8_t digest[SHA1_DIGEST_SIZE];
  sha1_digest(&hash, sizeof digest, digest);
  return to_hex({reinterpret_cast<const char*>(digest), sizeof digest});
}

}  // namespace lockkeeper::enforce::hook
