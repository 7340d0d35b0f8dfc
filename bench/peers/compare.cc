#include "bench/peers/compare.h"

#include "bench/crew.h"

namespace lockkeeper::bench {
namespace {

constexpr int kOneClient = 7;  // whose paths it takes

}  // namespace

std::vector<std::unique_ptr<Peer>> present(std::vector<Made> made, Answer& answer) {
  std::vector<std::unique_ptr<Peer>> peers;
  for (Made& one : made) {
    if (one) {
      peers.push_back(std::move(*one));
    } else {
      answer.skipped.push_back(one.error());
    }
  }
  return peers;
}

Row row_of(const Peer& peer, Samples samples) {
  return {peer.name(), peer.durability(), std::move(samples), peer.lacks()};
}

void compare(const Setup& setup, const std::vector<std::unique_ptr<Peer>>& peers, Answer& answer) {
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<Once> sides;
  std::vector<int> rounds(peers.size(), 0);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    clients.push_back(peers[i]->connect());
    sides.push_back([&, i] { return clients[i]->timed_pair(path_at(kOneClient, rounds[i]++)); });
  }
  setup.progress->say("measuring " + std::to_string(peers.size()) + " in turn");
  std::vector<Samples> samples = alternate(sides, setup.seconds, kPairsLeast);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    answer.rows.push_back(row_of(*peers[i], std::move(samples[i])));
  }
}

void compare_crowds(const Setup& setup, const std::vector<std::unique_ptr<Peer>>& peers,
                    int processes, Answer& answer) {
  std::vector<Member> members;
  for (std::size_t side = 0; side < peers.size(); ++side) {
    for (int worker = 0; worker < processes; ++worker) {
      members.push_back({side, [&peers, side, worker]() -> Once {
                           const std::shared_ptr<Client> client = peers[side]->connect();
                           return [client, worker, i = 0]() mutable {
                             return client->timed_pair(path_at(worker, i++));
                           };
                         }});
    }
  }
  setup.progress->say("measuring " + std::to_string(peers.size()) + " in turn");
  CrewResult result = run_crew(setup, members);
  for (std::size_t side = 0; side < peers.size(); ++side) {
    Samples all;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i].side != side) continue;
      const std::vector<double>& own = result.members[i].micros;
      all.micros.insert(all.micros.end(), own.begin(), own.end());
    }
    const double pairs = static_cast<double>(all.count());
    answer.rows.push_back(row_of(*peers[side], std::move(all)));
    answer.rows.back().per_second = pairs / result.side_seconds[side];
  }
}

}  // namespace lockkeeper::bench
