// What a client on another machine pays: a pair over the hub's REST beyond the store's own time,
// beside Redis over TCP and PostgreSQL behind HTTP; a thousand clients at once; and the memory of
// event streams.
#include <signal.h>
#include <unistd.h>

#include "base/assert.h"
#include "bench/peers/compare.h"
#include "bench/peers/ours.h"
#include "bench/peers/rest.h"
#include "bench/questions/inside.h"
#include "bench/questions/questions.h"

namespace lockkeeper::bench {
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
  RestClient rest(hub.port, "lane0");
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
  Row row = crowd_row(setup, kRestName, hub.port, clients, [](int i) {
    return core::Owner{"lane" + std::to_string(i), ""};
  });
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
    open.push_back(std::make_unique<RestClient>(hub.port, "lane" + std::to_string(i)));
    open.back()->send(
        "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n");
  }
  RestClient(hub.port, "lane0").pair(path_at(0, 0));
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
