#include "mcp/line_outlet.h"

#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace lockkeeper::mcp {
namespace {

bool is_socket(int fd) {
  struct stat info = {};
  return ::fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode);
}

}  // namespace

LineOutlet::LineOutlet(int fd, LineLimits limits)
    : fd_(fd), limits_(limits), is_socket_(is_socket(fd)) {}

LineOutlet::~LineOutlet() {
  stop(std::chrono::milliseconds(0));
}

// Writes as much as possible without blocking. A ready pipe takes PIPE_BUF bytes, perhaps no more.
LineOutlet::Wrote LineOutlet::write_now(std::string_view& rest) const {
  while (!rest.empty()) {
    ssize_t n = -1;
    if (is_socket_) {
      n = ::send(fd_, rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    } else {
      pollfd wanted{fd_, POLLOUT, 0};
      if (::poll(&wanted, 1, 0) == 0) return Wrote::kSome;
      n = ::write(fd_, rest.data(), std::min<std::size_t>(rest.size(), PIPE_BUF));
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN ? Wrote::kSome : Wrote::kFailed;
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  return Wrote::kAll;
}

void LineOutlet::send(const Json& message) {
  std::string line = line_of(message) + "\n";
  const std::lock_guard lock(mutex_);
  if (broken_ || stopping_) return;
  std::string_view rest = line;
  if (queue_.empty()) {
    const Wrote wrote = write_now(rest);
    if (wrote == Wrote::kAll) return;
    if (wrote == Wrote::kFailed) return give_up();
  }
  if (queued_bytes_ + rest.size() > limits_.queue_bytes_max) return give_up();
  queued_bytes_ += rest.size();
  queue_.emplace_back(rest);
  if (!writer_.joinable()) writer_ = std::thread([this] { write_queue(); });
  changed_.notify_all();
}

// REQUIRES: the lock is held.
void LineOutlet::give_up() {
  broken_ = true;
  queue_.clear();
  queued_bytes_ = 0;
  broken_event_.raise();
  changed_.notify_all();
}

// False: the client reads nothing, or is gone, or we must stop.
bool LineOutlet::write_patiently(std::string_view rest) const {
  while (!rest.empty()) {
    const Wrote wrote = write_now(rest);
    if (wrote != Wrote::kSome) return wrote == Wrote::kAll;
    pollfd wanted[] = {{fd_, POLLOUT, 0}, {stop_event_.fd(), POLLIN, 0}};
    const int ready = ::poll(wanted, 2, limits_.patience_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0 || wanted[1].revents != 0) return false;
  }
  return true;
}

// The writer's thread.
void LineOutlet::write_queue() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return broken_ || stopping_ || !queue_.empty(); });
    if (broken_ || queue_.empty()) return;
    const std::string line = queue_.front();  // stays in front until it is written
    lock.unlock();
    const bool written = write_patiently(line);
    lock.lock();
    if (broken_) return;
    if (!written) return give_up();
    queued_bytes_ -= line.size();
    queue_.pop_front();
    changed_.notify_all();
  }
}

void LineOutlet::stop(std::chrono::milliseconds patience) {
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, patience, [this] { return broken_ || queue_.empty(); });
  }
  stop_event_.raise();
  if (writer_.joinable()) writer_.join();
}

}  // namespace lockkeeper::mcp
