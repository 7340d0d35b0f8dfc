#include "crew/log_pump.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "crew/orders.h"
#include "host/pipes.h"
#include "key/path.h"

namespace lockkeeper::crew {
namespace {

constexpr int kBlocksAtOnce = 16;  // then the lease gets its turn
constexpr std::size_t kBlock = 64 << 10;

constexpr off_t kTailBytes = 4096;    // for the last line
constexpr off_t kTailsBytes = 16384;  // for more than one

// The end of the file; `whole`: there is nothing before it. An agent may have put anything in its
// place; it must not block us.
std::string end_of(const std::string& path, off_t bytes, bool& whole) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  whole = status.st_size <= bytes;
  std::string text(static_cast<std::size_t>(std::min(status.st_size, bytes)), '\0');
  const ssize_t n =
      ::pread(fd.get(), text.data(), text.size(), std::max<off_t>(0, status.st_size - bytes));
  text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return text;
}

}  // namespace

std::vector<std::string> log_tail(const Folder& attempt, std::size_t lines) {
  bool whole = true;
  std::string text = end_of(attempt.path_of(kLogName), lines > 1 ? kTailsBytes : kTailBytes, whole);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  std::vector<std::string> tail;
  if (text.empty()) return tail;
  for (const std::string& each : key::split(text, '\n')) {
    const std::size_t end = each.find_last_not_of('\r');
    const std::string line = each.substr(0, end == std::string::npos ? 0 : end + 1);
    tail.push_back(line.substr(line.rfind('\r') + 1));
  }
  if (!whole && tail.size() > 1) tail.erase(tail.begin());  // a part of a line
  if (tail.size() > lines)
    tail.erase(tail.begin(), tail.end() - static_cast<std::ptrdiff_t>(lines));
  return tail;
}

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
