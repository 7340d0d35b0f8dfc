#include "remote/proxy.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

namespace lockkeeper::proof {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Fd connected(std::uint16_t port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    socket.reset();
  }
  return socket;
}

}  // namespace

Proxy::Proxy(std::uint16_t to) : to_(to) {
  listening_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  EXPECT_EQ(::bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::listen(listening_.get(), 64), 0);
  EXPECT_EQ(::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { loop(); });
}

Proxy::~Proxy() {
  ending_ = true;
  thread_.join();
}

void Proxy::cut() {
  cutting_ = true;
  while (cutting_) std::this_thread::yield();
}

void Proxy::rewrite_once(std::string from, std::string to) {
  EXPECT_EQ(from.size(), to.size());
  const std::lock_guard hold(mutex_);
  rewritten_once_ = {std::move(from), std::move(to)};
}

std::vector<std::string> Proxy::seen() {
  const std::lock_guard hold(mutex_);
  return seen_;
}

std::vector<std::string> Proxy::requests() {
  const std::lock_guard hold(mutex_);
  return requests_;
}

void Proxy::change(std::string& piece) {
  for (const auto& [old, other] : rewritten_) {
    EXPECT_EQ(old.size(), other.size());
    for (auto at = piece.find(old); at != std::string::npos; at = piece.find(old, at + 1)) {
      piece.replace(at, old.size(), other);
    }
  }
  const std::lock_guard hold(mutex_);
  constexpr std::string_view kPost = "POST ";
  if (piece.starts_with(kPost)) {
    requests_.push_back(
        piece.substr(kPost.size(), piece.find_first_of("? ", kPost.size()) - kPost.size()));
  }
  auto& [old, other] = rewritten_once_;
  const auto at = old.empty() ? std::string::npos : piece.find(old);
  if (at == std::string::npos) return;
  piece.replace(at, old.size(), other);
  old.clear();
}

// Empty: the pair is to be closed.
std::string Proxy::receive(const Fd& from) {
  std::string piece(65536, '\0');
  const ssize_t n = ::recv(from.get(), piece.data(), piece.size(), 0);
  piece.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  if (!watched_.empty() && piece.find(watched_) != std::string::npos) {
    const std::lock_guard hold(mutex_);
    seen_.push_back(piece);
  }
  change(piece);
  return piece;
}

bool Proxy::send(const Fd& to, const std::string& piece) const {
  if (swallowing_) return true;
  std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms_.load()));
  const auto sent = ::send(to.get(), piece.data(), piece.size(), MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(piece.size());
}

// False: the pair is to be closed.
bool Proxy::pass_request(Pair& pair) {
  const std::string piece = receive(pair.client);
  if (piece.starts_with("POST ")) pair.calls = piece.starts_with("POST /v1/call");
  if (piece.starts_with("POST /v1/call")) ++calls_;
  return !piece.empty() && send(pair.server, piece);
}

bool Proxy::pass_answer(const Pair& pair) {
  const std::string piece = receive(pair.server);
  if (piece.empty()) return false;
  if (pair.calls && !swallowing_ && vanishing_) {
    listening_.reset();
    return false;
  }
  if (pair.calls && !swallowing_ && losing_ > 0) {
    --losing_;
    ++lost_;
    return false;
  }
  return send(pair.client, piece);
}

void Proxy::loop() {
  constexpr int kLookMs = 10;
  std::vector<Pair> pairs;
  while (!ending_) {
    std::vector<pollfd> wanted = {{listening_.get(), POLLIN, 0}};
    for (const Pair& pair : pairs) {
      wanted.push_back({pair.client.get(), POLLIN, 0});
      wanted.push_back({pair.server.get(), POLLIN, 0});
    }
    ::poll(wanted.data(), wanted.size(), kLookMs);
    std::vector<Pair> kept;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      Pair& pair = pairs[i];
      const bool asked = wanted[2 * i + 1].revents != 0;
      const bool answered = wanted[2 * i + 2].revents != 0;
      const bool goes_on =
          !cutting_ && (!asked || pass_request(pair)) && (!answered || pass_answer(pair));
      if (goes_on) kept.push_back(std::move(pair));
    }
    pairs = std::move(kept);
    cutting_ = false;
    if (wanted[0].revents == 0) continue;
    Pair pair{Fd(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC)), connected(to_)};
    if (pair.client && pair.server) pairs.push_back(std::move(pair));
  }
}

}  // namespace lockkeeper::proof
