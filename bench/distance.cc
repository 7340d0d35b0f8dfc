#include "bench/distance.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <string>
#include <vector>

#include "base/assert.h"
#include "bench/child.h"

namespace lockkeeper::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Piece {
  Clock::time_point due;
  std::string bytes;
};

// What comes in at `from` leaves at `to`.
struct Way {
  int from;
  int to;
  std::deque<Piece> under_way = {};
};

struct Pair {
  Fd client;
  Fd server;
  std::vector<Way> ways = {};
};

// False: its other end has closed.
bool take(Way& way, int one_way_ms) {
  std::string bytes(65536, '\0');
  const ssize_t n = ::recv(way.from, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (n <= 0) return n < 0 && errno == EAGAIN;
  bytes.resize(static_cast<std::size_t>(n));
  way.under_way.push_back({Clock::now() + std::chrono::milliseconds(one_way_ms), std::move(bytes)});
  return true;
}

void deliver(Way& way) {
  while (!way.under_way.empty() && way.under_way.front().due <= Clock::now()) {
    const std::string& bytes = way.under_way.front().bytes;
    static_cast<void>(!::send(way.to, bytes.data(), bytes.size(), MSG_NOSIGNAL));
    way.under_way.pop_front();
  }
}

}  // namespace

Distance::Distance(int to, int round_trip_ms)
    : to_(to),
      one_way_ms_(round_trip_ms / 2),
      port_(free_port()),
      listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port_));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* const bound = reinterpret_cast<const sockaddr*>(&address);
  LOCKKEEPER_ASSERT(::bind(listening_.get(), bound, sizeof address) == 0);
  LOCKKEEPER_ASSERT(::listen(listening_.get(), 16) == 0);
  thread_ = std::thread([this] { loop(); });
}

Distance::~Distance() {
  ending_ = true;
  thread_.join();
}

void Distance::loop() {
  constexpr auto kLookAtLeast = std::chrono::milliseconds(20);  // is it the end?
  std::vector<Pair> pairs;
  while (!ending_) {
    auto next = Clock::now() + kLookAtLeast;
    std::vector<pollfd> wanted = {{listening_.get(), POLLIN, 0}};
    for (const Pair& pair : pairs) {
      for (const Way& way : pair.ways) {
        wanted.push_back({way.from, POLLIN, 0});
        if (!way.under_way.empty()) next = std::min(next, way.under_way.front().due);
      }
    }
    const auto left = std::max(Clock::duration::zero(), next - Clock::now());
    const timespec time{0, std::chrono::nanoseconds(left).count()};
    ::ppoll(wanted.data(), wanted.size(), &time, nullptr);
    std::size_t at = 1;
    for (Pair& pair : pairs) {
      for (Way& way : pair.ways) {
        if (wanted[at++].revents != 0 && !take(way, one_way_ms_)) pair.client.reset();
        if (pair.client) deliver(way);
      }
    }
    std::erase_if(pairs, [](const Pair& pair) { return !pair.client; });
    if (wanted[0].revents == 0) continue;
    Pair pair{Fd(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC)),
              connect_loopback(to_)};
    if (!pair.client || !pair.server) continue;
    const int soon = 1;
    for (const Fd* const end : {&pair.client, &pair.server}) {
      ::setsockopt(end->get(), IPPROTO_TCP, TCP_NODELAY, &soon, sizeof soon);
    }
    pair.ways = {{pair.client.get(), pair.server.get()}, {pair.server.get(), pair.client.get()}};
    pairs.push_back(std::move(pair));
  }
}

}  // namespace lockkeeper::bench
