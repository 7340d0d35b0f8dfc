#include "bench/peers/rest.h"

#include <sys/epoll.h>

#include <chrono>
#include <memory>
#include <vector>

#include "base/fd.h"

namespace lockkeeper::bench {

void RestClient::pair(const std::string& path) {
  for (const char* const verb : {"acquire", "release"}) {
    start(verb, path);
    while (!hear()) {
    }
  }
}

Row crowd_row(const Setup& setup, const std::string& name, int port, int clients,
              const std::function<core::Owner(int)>& owner) {
  struct Lane {
    std::unique_ptr<RestClient> client;
    int turn = 0;
    std::chrono::steady_clock::time_point began;
  };
  std::vector<Lane> lanes;
  const Fd poll(::epoll_create1(EPOLL_CLOEXEC));
  for (int i = 0; i < clients; ++i) {
    const core::Owner who = owner(i);
    lanes.push_back({std::make_unique<RestClient>(port, who.agent, who.session), 0, {}});
    epoll_event event{.events = EPOLLIN, .data = {.u32 = static_cast<std::uint32_t>(i)}};
    ::epoll_ctl(poll.get(), EPOLL_CTL_ADD, lanes.back().client->fd(), &event);
  }
  const auto next = [&](int i) {
    Lane& lane = lanes[static_cast<std::size_t>(i)];
    if (lane.turn % 2 == 0) lane.began = std::chrono::steady_clock::now();
    lane.client->start(lane.turn % 2 == 0 ? "acquire" : "release", path_at(i, lane.turn / 2));
  };
  Row row{name, "process", {}, ""};
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  for (int i = 0; i < clients; ++i) next(i);
  std::vector<epoll_event> events(static_cast<std::size_t>(clients));
  long pairs = 0;
  int busy = clients;
  while (busy > 0) {
    const int count = ::epoll_wait(poll.get(), events.data(), clients, -1);
    for (int i = 0; i < count; ++i) {
      const auto who = events[static_cast<std::size_t>(i)].data.u32;
      Lane& lane = lanes[who];
      if (!lane.client->hear()) continue;
      if (++lane.turn % 2 == 0) {
        ++pairs;
        row.samples.add(
            std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - lane.began)
                .count());
        if (passed() > setup.seconds) {  // nothing is left held
          --busy;
          continue;
        }
      }
      next(static_cast<int>(who));
    }
  }
  row.per_second = static_cast<double>(pairs) / passed();
  return row;
}

}  // namespace lockkeeper::bench
