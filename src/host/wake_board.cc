#include "host/wake_board.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

#include "base/assert.h"
#include "base/random.h"

namespace lockkeeper::host {
namespace {

constexpr std::size_t kBytes = WakeBoard::kWords * sizeof(std::uint32_t);

off_t offset_of(std::uint64_t id) {
  return static_cast<off_t>(id % WakeBoard::kWords * sizeof(std::uint32_t));
}

timespec time_of(std::int64_t ms) {
  return timespec{.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1'000'000};
}

Woken sleep_for(const timespec& time) {
  const int status = ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
  return status == EINTR ? Woken::kInterrupted : Woken::kTimeout;
}

}  // namespace

Result<WakeBoard> WakeBoard::open(const std::string& path, unsigned mode) {
  auto file = open_or_create(path, mode);
  if (!file) return fail(std::move(file.error()));
  struct stat status{};
  if (::fstat(file->get(), &status) != 0) return fail(errno_error(errno, path));
  // Only extended: two processes that open it at once must not cut off each other's words.
  if (status.st_size < static_cast<off_t>(kBytes)) {
    const int error = ::posix_fallocate(file->get(), 0, static_cast<off_t>(kBytes));
    if (error != 0) return fail(errno_error(error, path));
  }
  void* const words = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, file->get(), 0);
  if (words == MAP_FAILED) return fail(errno_error(errno, path));
  return WakeBoard(std::move(*file), static_cast<std::uint32_t*>(words));
}

WakeBoard::~WakeBoard() {
  if (words_ != nullptr) ::munmap(words_, kBytes);
}

std::uint32_t WakeBoard::read(std::uint64_t id) const {
  std::uint32_t word = 0;
  const ssize_t n = ::pread(file_.get(), &word, sizeof word, offset_of(id));
  return n == static_cast<ssize_t>(sizeof word) ? word : 0;
}

Woken WakeBoard::wait(std::uint64_t id, std::uint32_t seen, std::int64_t timeout_ms) const {
  LOCKKEEPER_ASSERT(words_ != nullptr);
  if (timeout_ms <= 0) return read(id) == seen ? Woken::kTimeout : Woken::kWake;
  const timespec time = time_of(timeout_ms);
  // Not FUTEX_PRIVATE_FLAG: the kernel must find sleepers of other processes, by the file's inode.
  if (::syscall(SYS_futex, words_ + id % kWords, FUTEX_WAIT, seen, &time, nullptr, 0) == 0) {
    return Woken::kWake;
  }
  switch (errno) {
    case EAGAIN:
      return Woken::kWake;
    case ETIMEDOUT:
      return Woken::kTimeout;
    case EINTR:
      return Woken::kInterrupted;
    default:
      return sleep_for(time);  // EFAULT: the file was truncated under us
  }
}

void WakeBoard::wake(std::uint64_t id) const {
  LOCKKEEPER_ASSERT(words_ != nullptr);
  // A random word instead of the next number: two processes that wake at once must not restore a
  // value that a waiter has already seen.
  const auto word = static_cast<std::uint32_t>(SystemRandom().next());
  [[maybe_unused]] const ssize_t n = ::pwrite(file_.get(), &word, sizeof word, offset_of(id));
  ::syscall(SYS_futex, words_ + id % kWords, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace lockkeeper::host
