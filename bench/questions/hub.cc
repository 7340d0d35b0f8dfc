// What a client on another machine pays: a pair over the hub's REST beyond the store's own time,
// beside Redis over TCP and PostgreSQL behind HTTP; a thousand clients at once; and the memory of
// event streams.
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/assert.h"
#include "bench/peers/compare.h"
#include "bench/peers/http_lane.h"
#include "bench/peers/ours.h"
#include "bench/questions/inside.h"
#include "bench/questions/questions.h"

namespace lockkeeper::bench {
namespace {

constexpr const char* kRestName = "POST /v1/acquire, /v1/release";

// One client of the hub, with one connection.
class RestClient {
 public:
  RestClient(int port, int lane)
      : http_(port, "Lockkeeper-Agent: lane" + std::to_string(lane) + "\r\n") {}
  int fd() const { return http_.fd(); }

  void start(const char* verb, const std::string& path) const {
    http_.start_post("/v1/" + std::string(verb), R"({"resources":[")" + path + R"("]})");
  }
  void send(const std::string& text) const { http_.send(text); }
  bool hear() { return http_.hear(); }
  void pair(const std::string& path) {
    for (const char* const verb : {"acquire", "release"}) {
      start(verb, path);
      while (!hear()) {
      }
    }
  }

 private:
  HttpLane http_;
};

// All of them at once, from one thread: each sends its next request when the last was answered.
Row crowd_row(const Setup& setup, int port, int clients) {
  struct Lane {
    std::unique_ptr<RestClient> client;
    int turn = 0;
    std::chrono::steady_clock::time_point began;
  };
  std::vector<Lane> lanes;
  const Fd poll(::epoll_create1(EPOLL_CLOEXEC));
  for (int i = 0; i < clients; ++i) {
    lanes.push_back({std::make_unique<RestClient>(port, i), 0, {}});
    epoll_event event{.events = EPOLLIN, .data = {.u32 = static_cast<std::uint32_t>(i)}};
    ::epoll_ctl(poll.get(), EPOLL_CTL_ADD, lanes.back().client->fd(), &event);
  }
  const auto next = [&](int i) {
    Lane& lane = lanes[static_cast<std::size_t>(i)];
    if (lane.turn % 2 == 0) lane.began = std::chrono::steady_clock::now();
    lane.client->start(lane.turn % 2 == 0 ? "acquire" : "release", path_at(i, lane.turn / 2));
  };
  Row row{kRestName, "process", {}, ""};
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

}  // namespace

void ask_hub(const Setup& setup, Answer& answer) {
  if (!has_program(setup, answer)) return;
  setup.progress->say("preparing " + grouped(setup.held) + " leases");
  const std::string folder = setup.fresh("hub");
  Place place(folder, Kept::kProcess);
  place.hold_paths(setup.held);
  service::Locks locks(place.site(), {"inside", ""});
  const Inside inside(folder);
  const OurServer hub = hub_over(setup, folder);
  if (!hub.ready) return answer.skipped.push_back("the hub did not begin");
  RestClient rest(hub.port, 0);
  std::vector<std::unique_ptr<Peer>> peers;
  std::vector<std::unique_ptr<Client>> beside;
  for (const auto make : {make_redis_over_tcp, make_coordinator}) {
    auto peer = make(setup);
    if (!peer) {
      answer.skipped.push_back(peer.error());
      continue;
    }
    beside.push_back((*peer)->connect());
    peers.push_back(std::move(*peer));
  }
  setup.progress->say("measuring");
  int turn = 0;
  std::vector<std::function<double()>> sides = {
      [&] { return timed([&] { verbs_pair(locks, path_at(1, turn++)); }); },
      [&] { return timed([&] { rest.pair(path_at(0, turn++)); }); }};
  for (const auto& client : beside) {
    sides.emplace_back([&] { return client->timed_pair(path_at(2, turn++)); });
  }
  std::vector<Samples> samples = alternate(sides, setup.seconds, kPairsLeast);
  answer.targets.push_back({.what = "beyond the store's own time",
                            .value = samples[1].p50() - samples[0].p50(),
                            .unit = "µs",
                            .must = 150});
  answer.rows.push_back({"the same pair in process", "process", std::move(samples[0]), ""});
  answer.rows.push_back({kRestName, "process", std::move(samples[1]), ""});
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const Peer& peer = *peers[i];
    answer.rows.push_back(
        {peer.name(), peer.durability(), std::move(samples[i + 2]), peer.lacks()});
  }
  answer.ratio(kRestName, kRedisTcpName, {.what = "Redis over TCP", .must = 4, .aim = 2.5});
  answer.ratio(kRestName, kCoordinatorName, {.what = "agent-coordinator's way"});
}

void ask_hub_load(const Setup& setup, Answer& answer) {
  if (!has_program(setup, answer)) return;
  const int clients = setup.seconds < 1 ? 20 : 1'000;
  const std::string folder = setup.fresh("hub-load");
  Place(folder, Kept::kProcess).hold_paths(100);
  const Inside inside(folder);
  allow_descriptors(clients);
  const OurServer hub = hub_over(setup, folder);
  if (!hub.ready) return answer.skipped.push_back("the hub did not begin");
  setup.progress->say("measuring " + grouped(clients) + " clients");
  Row row = crowd_row(setup, hub.port, clients);
  answer.targets.push_back({.what = "pairs a second",
                            .value = row.per_second,
                            .unit = "",
                            .better = Target::Better::kMore,
                            .must = 10'000});
  answer.rows.push_back(std::move(row));
  answer.notes.push_back(grouped(clients) +
                         " connections of one thread of the benchmark, each with one request on "
                         "its way, on the same processors as the hub");
}

void ask_hub_streams(const Setup& setup, Answer& answer) {
  if (!has_program(setup, answer)) return;
  const int streams = setup.seconds < 1 ? 50 : 5'000;
  const std::string folder = setup.fresh("hub-streams");
  Place(folder, Kept::kProcess).hold_paths(100);
  const Inside inside(folder);
  allow_descriptors(streams);
  const OurServer hub = hub_over(setup, folder);
  if (!hub.ready) return answer.skipped.push_back("the hub did not begin");
  setup.progress->say("measuring " + grouped(streams) + " streams");
  std::vector<std::unique_ptr<RestClient>> open;
  for (int i = 0; i < streams; ++i) {
    open.push_back(std::make_unique<RestClient>(hub.port, i));
    open.back()->send(
        "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
  }
  RestClient(hub.port, 0).pair(path_at(0, 0));
  // Every stream has heard of it.
  for (const auto& each : open) {
    std::string heard;
    while (heard.find("event: released") == std::string::npos) {
      char block[4096];
      const ssize_t n = ::read(each->fd(), block, sizeof block);
      LOCKKEEPER_ASSERT(n > 0);
      heard.append(block, static_cast<std::size_t>(n));
    }
  }
  answer.targets.push_back({.what = "memory of the hub with " + grouped(streams) + " streams",
                            .value = resident_kib(hub.server.pid()) / 1024,
                            .unit = "MiB",
                            .must = 60});
}

}  // namespace lockkeeper::bench
