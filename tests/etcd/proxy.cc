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
constexpr char kData = 0;
constexpr char kResetStream = 3;
constexpr unsigned char kEndStream = 1;

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

std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t number = 0;
  for (const char c : bytes.substr(at, size)) {
    number = number << 8 | static_cast<unsigned char>(c);
  }
  return number;
}

bool is_frame(std::string_view frame, char type) {
  return !frame.starts_with("PRI * HTTP/2") && frame[3] == type;
}

std::uint32_t stream_of(std::string_view frame) {
  return number_at(frame, 5, 4) & 0x7fffffffU;
}

}  // namespace

std::string Proxy::Frames::next() {
  std::size_t size = preface_;
  if (size == 0) {
    if (bytes_.size() < kFrameHead) return {};
    size = kFrameHead + number_at(bytes_, 0, 3);
  }
  if (bytes_.size() < size) return {};
  std::string frame = bytes_.substr(0, size);
  bytes_.erase(0, size);
  preface_ = 0;
  return frame;
}

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

void Proxy::hold_watches() {
  set(Mode::kHoldWatches);
}

void Proxy::swallow() {
  set(Mode::kSwallow);
}

void Proxy::delay(int ms) {
  const std::lock_guard lock(mutex_);
  delay_ms_ = ms;
}

void Proxy::cut() {
  set(Mode::kCut);
}

Proxy::Mode Proxy::mode() {
  const std::lock_guard lock(mutex_);
  return mode_;
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
    Way& way = ways_.emplace_back(Way{
        std::move(client), std::move(server), Frames(kPreface), Frames(0), {}, {}, {}, false, {}});
    way.thread = std::thread([this, &way] { carry(way); });
  }
}

// What is held and shall be no longer.
void Proxy::release(Way& way, Mode mode) {
  if (mode != Mode::kHoldWatches && !way.told.empty()) {
    send_all(way.client.get(), way.told);
    way.told.clear();
  }
  if (mode != Mode::kDeliver || way.held.empty()) return;
  send_all(way.server.get(), way.held);
  way.held.clear();
  if (!readable(way.server.get(), -1)) return;
  const std::lock_guard lock(mutex_);
  ++delivered_;
  answered_.notify_all();
}

bool Proxy::take_requests(Way& way, Mode mode) {
  std::array<char, 65536> bytes{};
  const ssize_t n = ::recv(way.client.get(), bytes.data(), bytes.size(), 0);
  if (n <= 0) return false;
  if (mode == Mode::kSwallow) {
    way.torn = true;
    return true;
  }
  way.from_client.add({bytes.data(), static_cast<std::size_t>(n)});
  const bool hold = mode == Mode::kHold || (mode == Mode::kDeliver && !way.held.empty());
  for (std::string frame = way.from_client.next(); !frame.empty(); frame = way.from_client.next()) {
    if (is_frame(frame, kData)) {
      const bool more = (static_cast<unsigned char>(frame[4]) & kEndStream) == 0;
      if (more) way.watches.insert(stream_of(frame));
      if (!more) way.watches.erase(stream_of(frame));
    }
    if (!hold) send_all(way.server.get(), frame);
    // What takes a request back is not held with it.
    if (hold && !is_frame(frame, kResetStream)) way.held += frame;
  }
  return true;
}

bool Proxy::take_answers(Way& way, Mode mode, bool client_there) {
  std::array<char, 65536> bytes{};
  const ssize_t n = ::recv(way.server.get(), bytes.data(), bytes.size(), 0);
  if (n <= 0) return false;
  if (mode == Mode::kLose || mode == Mode::kSwallow) {
    way.torn = true;
    return true;
  }
  way.from_server.add({bytes.data(), static_cast<std::size_t>(n)});
  for (std::string frame = way.from_server.next(); !frame.empty(); frame = way.from_server.next()) {
    if (!client_there) continue;
    if (mode == Mode::kHoldWatches && is_frame(frame, kData) &&
        way.watches.contains(stream_of(frame))) {
      way.told += frame;
    } else {
      send_all(way.client.get(), frame);
    }
  }
  return true;
}

// Passes on, holds or loses, until the server's end is closed. The client's may be closed before.
void Proxy::carry(Way& way) {
  bool client_there = true;
  while (true) {
    int delay_ms = 0;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      delay_ms = delay_ms_;
    }
    const Mode mode = this->mode();
    // What TCP has taken never gets lost in the middle of a connection that goes on.
    const bool broken = mode == Mode::kPass && (way.torn || !way.held.empty());
    if (mode == Mode::kCut || broken) break;
    release(way, mode);
    std::array<pollfd, 2> waiting{
        {{client_there ? way.client.get() : -1, POLLIN, 0}, {way.server.get(), POLLIN, 0}}};
    if (::poll(waiting.data(), waiting.size(), kLookMs) <= 0) continue;
    if (this->mode() != mode) continue;  // what has come is treated as it should be now
    if (delay_ms > 0) ::poll(nullptr, 0, delay_ms);
    if (waiting[0].revents != 0) {
      client_there = take_requests(way, mode);
      if (!client_there && way.held.empty()) ::shutdown(way.server.get(), SHUT_WR);
    }
    if (waiting[1].revents != 0 && !take_answers(way, mode, client_there)) break;
  }
  ::shutdown(way.client.get(), SHUT_RDWR);
  ::shutdown(way.server.get(), SHUT_RDWR);
}

}  // namespace lockkeeper::etcd_testing
