// For tests only: one connection to a server on this machine, byte by byte.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "http/test_answer.h"

namespace lockkeeper::http {

class TestClient {
 public:
  explicit TestClient(std::uint16_t port, int receive_bytes = 0) {
    fd_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (receive_bytes > 0) {
      ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }

  bool connected() const { return connected_; }

  // False: the server does not take it.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  using Answer = TestAnswer;
  // The next answer, whole.
  Answer answer() {
    Answer got = head();
    if (got.status == 0 || got.status == 204 || got.status == 304 || got.status == 100) return got;
    if (got.header("Transfer-Encoding") == "chunked") {
      for (std::string piece = chunk(); !piece.empty(); piece = chunk()) got.parts.body += piece;
    } else if (const std::string length = got.header("Content-Length"); !length.empty()) {
      const std::size_t bytes = std::stoul(length);
      while (unread_.size() < bytes && more()) {
      }
      got.parts.body = unread_.substr(0, bytes);
      unread_.erase(0, bytes);
    } else {
      while (more()) {
      }
      got.parts.body.swap(unread_);
    }
    return got;
  }

  // Its first line and headers alone.
  Answer head() {
    Answer got;
    const std::string text = take("\r\n\r\n");
    if (text.size() < 12) return got;
    got.status = std::stoi(text.substr(9, 3));
    std::size_t at = text.find("\r\n") + 2;
    while (at + 2 < text.size()) {
      const std::size_t end = text.find("\r\n", at);
      const std::size_t colon = text.find(':', at);
      got.parts.headers.emplace_back(
          text.substr(at, colon - at),
          std::string(trimmed(std::string_view(text).substr(colon + 1, end - colon - 1))));
      at = end + 2;
    }
    return got;
  }

  // The next piece of a chunked body; empty: it has ended, or the connection has.
  std::string chunk() {
    const std::string line = take("\r\n");
    if (line.empty()) return {};
    const std::size_t size = std::stoul(line, nullptr, 16);
    while (unread_.size() < size + 2 && more()) {
    }
    const std::string piece = unread_.substr(0, size);
    unread_.erase(0, size + 2);
    return piece;
  }

  // Everything up to and with the mark; empty: the connection ended before.
  std::string take(std::string_view mark) {
    for (;;) {
      const std::size_t at = unread_.find(mark);
      if (at != std::string::npos) {
        std::string text = unread_.substr(0, at + mark.size());
        unread_.erase(0, text.size());
        return text;
      }
      if (!more()) return {};
    }
  }

  // Does the server close the connection, once everything is read?
  bool is_closed() {
    while (more()) {
    }
    return ended_;
  }
  // Is there nothing to read within the time?
  bool is_silent(int ms) {
    pollfd wanted{fd_.get(), POLLIN, 0};
    return unread_.empty() && ::poll(&wanted, 1, ms) == 0;
  }

  void close() { fd_.reset(); }
  void half_close() { ::shutdown(fd_.get(), SHUT_WR); }

 private:
  // False: it has ended, or nothing comes.
  bool more() {
    constexpr int kPatienceMs = 60'000;
    pollfd wanted{fd_.get(), POLLIN, 0};
    if (ended_ || ::poll(&wanted, 1, kPatienceMs) <= 0) return false;
    char block[65536];
    const ssize_t n = ::recv(fd_.get(), block, sizeof block, 0);
    if (n <= 0) {
      ended_ = true;
      return false;
    }
    unread_.append(block, static_cast<std::size_t>(n));
    return true;
  }

  Fd fd_;
  bool connected_ = false;
  bool ended_ = false;
  std::string unread_;
};

}  // namespace lockkeeper::http
