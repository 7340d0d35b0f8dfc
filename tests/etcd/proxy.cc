#include "etcd/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "base/assert.h"
#include "base/parse.h"

namespace lockkeeper::etcd_testing {
namespace {

constexpr int kLookMs = 5;
constexpr std::size_t kFrameHead = 9;
constexpr std::size_t kPreface = 24;
constexpr char kResetStream = 3;

sockaddr_in address_of(const std::string& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  LOCKKEEPER_ASSERT(::inet_pton(AF_INET, host.c_str(), &address.sin_addr) == 1);
  return address;
}

bool readable(int fd, int ms) {
  pollfd waiting{fd, POLLIN, 0};
  return ::poll(&waiting, 1, ms) > 0;
}

void send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

// HTTP/2 frames without those that take a request back. REQUIRES: whole frames, after the preface.
std::string without_resets(std::string_view frames) {
  std::string kept;
  if (frames.starts_with("PRI * HTTP/2")) {
    kept = frames.substr(0, kPreface);
    frames.remove_prefix(kPreface);
  }
  while (frames.size() >= kFrameHead) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(frames[i]); };
    const std::size_t size =
        kFrameHead + (std::size_t{byte(0)} << 16 | std::size_t{byte(1)} << 8 | byte(2));
    if (frames[3] != kResetStream) kept += frames.substr(0, size);
    frames.remove_prefix(std::min(size, frames.size()));
  }
  return kept;
}

}  // namespace

Proxy::Proxy(const std::string& endpoint)
    : host_(endpoint.substr(0, endpoint.rfind(':'))),
      target_(number_in<std::uint16_t>(endpoint.substr(endpoint.rfind(':') + 1)).value()),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = address_of("127.0.0.1", 0);
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  LOCKKEEPER_ASSERT(::bind(listener_.get(), plain, size) == 0);
  LOCKKEEPER_ASSERT(::listen(listener_.get(), 16) == 0);
  LOCKKEEPER_ASSERT(::getsockname(listener_.get(), plain, &size) == 0);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

Proxy::~Proxy() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  acceptor_.join();
  for (Way& way : ways_) way.thread.join();
}

void Proxy::set(Mode mode) {
  const std::lock_guard lock(mutex_);
  mode_ = mode;
}

void Proxy::hold_requests() {
  set(Mode::kHold);
}

void Proxy::lose_answers() {
  set(Mode::kLose);
}

void Proxy::swallow() {
  set(Mode::kSwallow);
}

void Proxy::delay(int ms) {
  const std::lock_guard lock(mutex_);
  delay_ms_ = ms;
}

void Proxy::heal() {
  delay(0);
  set(Mode::kPass);
}

void Proxy::deliver() {
  std::unique_lock lock(mutex_);
  delivered_ = 0;
  mode_ = Mode::kDeliver;
  answered_.wait(lock, [this] { return delivered_ > 0; });
}

void Proxy::deliver_within(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  delivered_ = 0;
  mode_ = Mode::kDeliver;
  answered_.wait_for(lock, patience, [this] { return delivered_ > 0; });
}

void Proxy::accept_all() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    if (!readable(listener_.get(), kLookMs)) continue;
    Fd client(::accept(listener_.get(), nullptr, nullptr));
    Fd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = address_of(host_, target_);
    const auto* const plain = reinterpret_cast<const sockaddr*>(&address);
    if (!client || ::connect(server.get(), plain, sizeof address) != 0) continue;
    const int on = 1;
    ::setsockopt(server.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    Way& way = ways_.emplace_back(Way{std::move(client), std::move(server), {}, false, {}});
    way.thread = std::thread([this, &way] { carry(way); });
  }
}

// Passes on, holds or loses, until the server's end is closed. The client's may be closed before.
void Proxy::carry(Way& way) {
  std::array<char, 65536> bytes{};
  bool client_there = true;
  while (true) {
    Mode mode{};
    int delay_ms = 0;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      mode = mode_;
      delay_ms = delay_ms_;
    }
    // What TCP has taken never gets lost in the middle of a connection that goes on.
    if (mode == Mode::kPass && (way.torn || !way.held.empty())) {
      ::shutdown(way.client.get(), SHUT_RDWR);
      return;
    }
    if (mode == Mode::kDeliver && !way.held.empty()) {
      send_all(way.server.get(), without_resets(way.held));
      way.held.clear();
      if (readable(way.server.get(), -1)) {
        const std::lock_guard lock(mutex_);
        ++delivered_;
        answered_.notify_all();
      }
    }
    std::array<pollfd, 2> waiting{
        {{client_there ? way.client.get() : -1, POLLIN, 0}, {way.server.get(), POLLIN, 0}}};
    if (::poll(waiting.data(), waiting.size(), kLookMs) <= 0) continue;
    {
      const std::lock_guard lock(mutex_);
      if (mode_ != mode) continue;  // what has come is treated as it should be now
    }
    if (delay_ms > 0) ::poll(nullptr, 0, delay_ms);
    if (waiting[0].revents != 0) {
      const ssize_t n = ::recv(way.client.get(), bytes.data(), bytes.size(), 0);
      client_there = n > 0;
      const std::string_view got(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
      if (mode == Mode::kHold || (mode == Mode::kDeliver && !way.held.empty())) {
        way.held += got;
      } else if (mode == Mode::kSwallow) {
        way.torn = true;
      } else {
        send_all(way.server.get(), got);
      }
      if (!client_there && way.held.empty()) ::shutdown(way.server.get(), SHUT_WR);
    }
    if (waiting[1].revents != 0) {
      const ssize_t n = ::recv(way.server.get(), bytes.data(), bytes.size(), 0);
      if (n <= 0) {
        ::shutdown(way.client.get(), SHUT_RDWR);
        return;
      }
      const bool passes = mode != Mode::kLose && mode != Mode::kSwallow;
      if (!passes) way.torn = true;
      if (passes && client_there) {
        send_all(way.client.get(), {bytes.data(), static_cast<std::size_t>(n)});
      }
    }
  }
}

}  // namespace lockkeeper::etcd_testing
