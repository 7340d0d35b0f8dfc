#include "host/pipes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace lockkeeper::host {

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(errno_error(errno, "a pipe", Code::kFailed));
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

bool has_no_reader(int fd) {
  pollfd asked{.fd = fd, .events = 0, .revents = 0};
  return ::poll(&asked, 1, 0) == 1 && (asked.revents & (POLLERR | POLLHUP)) != 0;
}

Result<std::pair<Fd, Fd>> make_message_channel() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(errno_error(errno, "a pair of sockets", Code::kFailed));
  }
  return std::pair(Fd(ends[0]), Fd(ends[1]));
}

bool is_message_channel(int fd) {
  int kind = 0;
  socklen_t size = sizeof kind;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &size) == 0 && kind == SOCK_SEQPACKET;
}

Event::Event() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Event::raise() const {
  const std::uint64_t one = 1;
  // It holds one number, and cannot be full.
  [[maybe_unused]] const ssize_t ignored = ::write(fd_.get(), &one, sizeof one);
}

}  // namespace lockkeeper::host
