#include "crew/log_pump.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "host/pipes.h"

namespace lockkeeper::crew {
namespace {

constexpr int kBlocksAtOnce = 16;  // then the lease gets its turn
constexpr std::size_t kBlock = 64 << 10;

}  // namespace

Result<LogPump> LogPump::open(const Folder& folder, std::uint64_t bytes_max) {
  LK_ASSIGN(Fd file, folder.append("log"));
  LK_ASSIGN(host::Pipe pipe, host::make_pipe());
  ::fcntl(pipe.reader.get(), F_SETFL, O_NONBLOCK);  // the command's end stays blocking
  return LogPump(std::move(pipe.reader), std::move(pipe.writer), std::move(file), bytes_max);
}

bool LogPump::pump() {
  for (int i = 0; i < kBlocksAtOnce; ++i) {
    const ssize_t n = take();
    if (n == 0) return false;
    if (n < 0) return true;
  }
  return true;
}

void LogPump::drain() {
  // Bounded: processes that still write are being ended.
  for (int i = 0; i < 2 * kBlocksAtOnce; ++i) {
    if (take() <= 0) return;
  }
}

ssize_t LogPump::take() {
  char block[kBlock];
  ssize_t n = 0;
  do {
    n = ::read(reader_.get(), block, sizeof block);
  } while (n < 0 && errno == EINTR);
  if (n > 0) keep(block, static_cast<std::size_t>(n));
  return n;
}

void LogPump::keep(const char* data, std::size_t size) {
  bytes_ += size;
  if (full_) return;
  const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(size, bytes_max_ - written_));
  const bool written = write_all(file_.get(), {data, room});
  if (written) written_ += room;
  full_ = !written || room < size;
}

}  // namespace lockkeeper::crew
