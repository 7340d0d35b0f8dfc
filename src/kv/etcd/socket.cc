#include "kv/etcd/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace lockkeeper::kv::etcd {
namespace {

constexpr std::size_t kPieceBytes = 64U << 10;

std::unexpected<Error> unreachable(const std::string& name, const std::string& why) {
  return fail(Code::kStoreUnavailable, "the etcd at " + name + " cannot be reached: " + why,
              "is it running, and does the address name it correctly?");
}

int ms_until(Socket::Deadline until) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

// False: not by the deadline.
bool wait_for(int fd, short events, Socket::Deadline until) {
  while (true) {
    pollfd waiting{fd, events, 0};
    const int ready = ::poll(&waiting, 1, ms_until(until));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

// 0, or errno's value.
int connect_by(int fd, const addrinfo& to, Socket::Deadline until) {
  if (::connect(fd, to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for(fd, POLLOUT, until)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

}  // namespace

bool make_quiet(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
         ::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

Result<Socket> Socket::open(const Endpoint& endpoint, std::shared_ptr<const TlsFiles> files,
                            Deadline until, Speaks speaks) {
  const std::string name = endpoint.name();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int unknown =
      ::getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found);
  if (unknown != 0) return unreachable(name, ::gai_strerror(unknown));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  int error = ENOENT;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    Fd fd(::socket(each->ai_family, each->ai_socktype, each->ai_protocol));
    if (!fd || !make_quiet(fd.get())) return unreachable(name, std::strerror(errno));
    error = connect_by(fd.get(), *each, until);
    if (error != 0) continue;
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    Socket socket(std::move(fd), name);
    if (files != nullptr) {
      socket.tls_ = std::make_unique<Tls>(std::move(files), endpoint);
      if (speaks == Speaks::kHttp1) socket.tls_->speak_http1();
      LK_CHECK(socket.shake(until));
    }
    return socket;
  }
  return unreachable(name, std::strerror(error));
}

bool Socket::wait(Deadline until) const {
  return wait_for(fd(), POLLIN, until);
}

Result<void> Socket::shake(Deadline until) {
  while (true) {
    LK_ASSIGN(const bool done, tls_->shake());
    LK_CHECK(write({}));
    if (done && unsent_.empty()) return {};
    const auto events = static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT);
    if (!wait_for(fd(), events, until)) return unreachable(name_, "no answer to the TLS handshake");
    LK_ASSIGN(const std::string_view bytes, receive());
    tls_->arrived(bytes);
  }
}

std::unexpected<Error> Socket::failed(int error) const {
  return fail(Code::kStoreUnavailable,
              "the connection with the etcd at " + name_ + " is broken: " + std::strerror(error));
}

Result<std::string_view> Socket::receive() {
  if (piece_ == nullptr) piece_ = std::make_unique_for_overwrite<char[]>(kPieceBytes);
  const ssize_t read = ::recv(fd(), piece_.get(), kPieceBytes, 0);
  if (read == 0) {
    return fail(Code::kStoreUnavailable, "the etcd at " + name_ + " has closed the connection");
  }
  if (read < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return std::string_view();
    return failed(errno);
  }
  return std::string_view(piece_.get(), static_cast<std::size_t>(read));
}

Result<std::string_view> Socket::read() {
  LK_ASSIGN(const std::string_view bytes, receive());
  if (tls_ == nullptr) return bytes;
  tls_->arrived(bytes);
  LK_ASSIGN(plain_, tls_->read());
  LK_CHECK(write({}));  // what TLS itself has to say
  return std::string_view(plain_);
}

Result<void> Socket::put(std::string_view bytes) {
  if (tls_ == nullptr) {
    unsent_.append(bytes);
  } else {
    LK_CHECK(tls_->write(bytes));
    unsent_ += tls_->to_send();
  }
  return {};
}

Result<void> Socket::write(std::string_view bytes) {
  LK_CHECK(put(bytes));
  return flush();
}

Result<void> Socket::flush() {
  std::size_t sent = 0;
  while (sent < unsent_.size()) {
    const ssize_t n = ::send(fd(), unsent_.data() + sent, unsent_.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n < 0) return failed(errno);
    sent += static_cast<std::size_t>(n);
  }
  unsent_.erase(0, sent);
  return {};
}

}  // namespace lockkeeper::kv::etcd
