// Eight workers and a killer on one fresh repository, and the judgement of what they did.
#pragma once

#include <sys/types.h>

#include <random>
#include <string>
#include <vector>

#include "chaos/worker.h"
#include "support/stage.h"

namespace lockkeeper::chaos {

struct CrowdOptions {
  std::string durability = "process";
  unsigned seed = 0;
  // Each worker is the first process of a PID namespace of its own: all have equal pids (F18).
  bool namespaces = false;
};

struct CrowdResult {
  unsigned kills = 0;    // kill -9 from outside
  unsigned planned = 0;  // SIGKILL at a store call
  unsigned calls = 0;
  unsigned busy = 0;
  std::size_t holds = 0;
  std::size_t commits = 0;  // that left an event
  std::vector<std::string> violations;
  std::string ledger;
};

class Crowd {
 public:
  explicit Crowd(CrowdOptions options);
  ~Crowd();
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  // Kills until there were that many kills from outside, then lets those who live come to their
  // end, and judges. Once.
  CrowdResult run(unsigned kills);

  static constexpr std::size_t kWorkers = 8;

 private:
  struct Member {
    pid_t pid = -1;
    unsigned life = 0;
  };

  std::string ledger() const { return stage_.path("ledger"); }
  std::string name_of(std::size_t i) const;
  void spawn(std::size_t i);
  void storm(unsigned kills);
  void calm();
  void last_one();
  CrowdResult judge();

  const CrowdOptions options_;
  stage::Stage stage_;
  Board* board_ = nullptr;
  Member members_[kWorkers];
  std::mt19937 random_;
};

}  // namespace lockkeeper::chaos
