#include "host/live_slots.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"

namespace lockkeeper::host {
namespace {

constexpr unsigned kTagBits = 22;
constexpr unsigned kRandomBits = 40;
constexpr std::uint64_t kTagMask = (std::uint64_t{1} << kTagBits) - 1;
constexpr std::uint64_t kRandomMask = (std::uint64_t{1} << kRandomBits) - 1;
static_assert(kTagBits + kRandomBits == 62, "an offset must stay far from the sign bit of off_t");

// More failed draws than this mean that another program locks whole ranges of the file.
constexpr int kDrawsMax = 16;

// Inode numbers of one device that differ only in their low bits, as of files created one after the
// other, always give different tags. Others give the same tag once in four million.
std::uint64_t tag_of(const struct stat& status) {
  std::uint64_t folded = hash64("device", std::to_string(status.st_dev));
  for (std::uint64_t inode = status.st_ino; inode != 0; inode >>= kTagBits) folded ^= inode;
  return folded & kTagMask;
}

struct flock byte_at(std::uint64_t offset) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(offset);
  lock.l_len = 1;
  return lock;
}

std::unexpected<Error> replaced(const std::string& path) {
  return fail(Code::kStoreUnavailable,
              path + ": was deleted or replaced while in use; its holders are unknown",
              "run the command again; nothing was granted");
}

}  // namespace

Result<Fd> LiveSlot::inheritable() const {
  const int copy = ::fcntl(fd_.get(), F_DUPFD, 3);  // above the standard three, and no CLOEXEC
  if (copy < 0) return fail(errno_error(errno, "live slot"));
  return Fd(copy);
}

Result<LiveSlots> LiveSlots::open(const std::string& path, Random& random, unsigned mode,
                                  std::uint64_t machine) {
  auto probe = open_or_create(path, mode);
  if (!probe) return fail(std::move(probe.error()));
  struct stat status{};
  if (::fstat(probe->get(), &status) != 0) return fail(errno_error(errno, path));
  return LiveSlots(std::move(*probe), path, (tag_of(status) ^ machine) & kTagMask, random);
}

Result<LiveSlot> LiveSlots::take() const {
  Fd own(::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK));
  if (!own && errno == ENOENT) return replaced(path_);
  if (!own) return fail(errno_error(errno, path_));
  struct stat opened{};
  struct stat probed{};
  if (::fstat(own.get(), &opened) != 0 || ::fstat(probe_.get(), &probed) != 0) {
    return fail(errno_error(errno, path_));
  }
  if (opened.st_dev != probed.st_dev || opened.st_ino != probed.st_ino) return replaced(path_);
  for (int draw = 0; draw < kDrawsMax; ++draw) {
    const std::uint64_t offset = file_tag_ << kRandomBits | (random_->next() & kRandomMask);
    if (offset == 0) continue;  // 0 means "no slot" in records
    struct flock lock = byte_at(offset);
    if (::fcntl(own.get(), F_OFD_SETLK, &lock) == 0) return LiveSlot(std::move(own), offset);
    if (errno != EAGAIN && errno != EACCES) return fail(errno_error(errno, path_));
  }
  return fail(Code::kStoreUnavailable, path_ + ": another program has locked this file",
              "find it with lslocks and end it");
}

Alive LiveSlots::alive(std::uint64_t offset) const {
  if (offset == 0 || offset >> kRandomBits != file_tag_) return Alive::kUnknown;
  struct flock lock = byte_at(offset);
  if (::fcntl(probe_.get(), F_OFD_GETLK, &lock) != 0) return Alive::kUnknown;
  return lock.l_type == F_UNLCK ? Alive::kDead : Alive::kAlive;
}

Result<void> LiveSlots::check_identity() const {
  struct stat named{};
  struct stat probed{};
  if (::fstat(probe_.get(), &probed) != 0) return fail(errno_error(errno, path_));
  if (::lstat(path_.c_str(), &named) != 0) {
    if (errno == ENOENT) return replaced(path_);
    return fail(errno_error(errno, path_));
  }
  if (named.st_dev != probed.st_dev || named.st_ino != probed.st_ino) return replaced(path_);
  return {};
}

}  // namespace lockkeeper::host
