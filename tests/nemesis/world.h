// Everything that a nemesis attacks: members of etcd, hubs, desks with their relays, and workers.
#pragma once

#include <list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "nemesis/hubs.h"
#include "nemesis/members.h"
#include "nemesis/worker.h"

namespace lockkeeper::nemesis {

class World {
 public:
  explicit World(std::size_t hubs);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Network& network() { return network_; }
  Members& members() { return *members_; }
  Hubs& hubs() { return *hubs_; }
  std::vector<std::unique_ptr<Desk>>& desks() { return desks_; }
  // Somebody's machine: a member's, a hub's or a desk's.
  const Machine& any_machine(std::uint64_t choice) const;

  // Starts the workers of a round.
  void begin_round(std::uint64_t round, std::uint64_t seed);
  // kill -9 of one of them; another one takes its place.
  void kill_worker(std::uint64_t choice);
  // Stops them all and returns their history.
  std::string end_round();
  // Starts again whatever has ended, and fails the test if a worker has.
  void tend();
  // Until every worker has been granted something that it asked for from now on, and has given it
  // back. Returns after how many milliseconds that was so for those with names of their own, whom
  // nobody refuses; -1, and a failed test: it was not so in time.
  std::int64_t wait_for_progress();
  // The program on that desk.
  stage::Answer ask(std::size_t desk, const stage::Words& words);
  const std::string& folder() const { return folder_.path(); }
  const Campaign& campaign() const { return *campaign_; }

 private:
  struct Worker {
    Kind kind = Kind::kCrowd;
    std::size_t desk = 0;
    pid_t pid = -1;
    std::string process;
    std::string log;
  };
  void spawn(std::size_t i);
  bool progressed_since(std::int64_t moment, bool pulse_only) const;
  std::string slow_since(std::int64_t moment) const;

  Network network_;
  std::unique_ptr<Members> members_;
  std::unique_ptr<Hubs> hubs_;
  std::vector<std::unique_ptr<Desk>> desks_;
  TestFolder folder_;
  Campaign* campaign_ = nullptr;
  std::vector<Worker> workers_;
  std::vector<std::string> logs_;
  std::string deaths_;
  std::mt19937_64 random_;
  std::uint64_t lives_ = 0;
};

}  // namespace lockkeeper::nemesis
