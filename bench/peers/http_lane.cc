#include "bench/peers/http_lane.h"

#include <unistd.h>

#include <charconv>

#include "base/assert.h"
#include "bench/child.h"

namespace lockkeeper::bench {
HttpLane::HttpLane(int port, std::string headers)
    : fd_(connect_loopback(port)), headers_(std::move(headers)) {
  LOCKKEEPER_ASSERT(fd_);
}

void HttpLane::send(const std::string& text) const {
  LOCKKEEPER_ASSERT(::write(fd_.get(), text.data(), text.size()) ==
                    static_cast<ssize_t>(text.size()));
}

void HttpLane::start_post(const std::string& target, const std::string& body) const {
  send("POST " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers_ +
       "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
       "\r\n\r\n" + body);
}

bool HttpLane::hear() {
  char block[16384];
  const ssize_t n = ::read(fd_.get(), block, sizeof block);
  LOCKKEEPER_ASSERT(n > 0);
  heard_.append(block, static_cast<std::size_t>(n));
  const auto end = heard_.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  constexpr std::string_view kLength = "ontent-length: ";  // also with a capital letter
  auto at = heard_.find(kLength);
  if (at == std::string::npos) at = heard_.find("ontent-Length: ");
  LOCKKEEPER_ASSERT(at < end);
  std::size_t length = 0;
  std::from_chars(heard_.data() + at + kLength.size(), heard_.data() + end, length);
  if (heard_.size() < end + 4 + length) return false;
  LOCKKEEPER_ASSERT(heard_.starts_with("HTTP/1.1 200"));
  body_.assign(heard_, end + 4);
  heard_.clear();
  return true;
}

std::string HttpLane::post(const std::string& target, const std::string& body) {
  start_post(target, body);
  while (!hear()) {
  }
  return body_;
}

}  // namespace lockkeeper::bench
