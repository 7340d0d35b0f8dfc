// Two or three machines, their relays and a hub, with one virtual clock, repeatable from a seed:
// the hub's own code (hub::Desk, core::Table) against a model of what relays and processes do
// (docs/decisions/remote.md). Messages are lost, late and cut off; hub, relays and processes are
// killed, stopped and started again; the machines' clocks run a little differently.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/test_clock.h"
#include "hub/door.h"
#include "kv/memory/memory_store.h"
#include "world.h"

namespace lockkeeper::sim {

class SessionWorld {
 public:
  using Probes = std::map<std::string, std::uint64_t>;
  SessionWorld(std::uint64_t seed, Probes& probes);
  ~SessionWorld();

  // Throws Violation: somebody got what another still worked on (I1), a living process lost what it
  // held although its machine was heard (I5), or something stays held for nobody (L1).
  void run();

 private:
  struct Process {
    std::size_t machine = 0;
    bool alive = true;
    std::set<int> works_on;             // resources
    std::set<int> gave_back;            // for good: the request may come late
    std::optional<std::int64_t> until;  // of its machine's clock: it has lost them, and stops
  };
  struct Relay {
    bool up = false;
    bool stopped = false;
    std::uint64_t life = 0;  // an answer to an earlier one reaches nobody
    bool met = false;        // has had an answer
    std::int64_t next_beat = 0;
    std::int64_t busy_until = 0;
    std::set<std::uint64_t> gone;
    std::map<std::uint64_t, std::int64_t> confirmed;  // a call with that number was answered then
  };
  // What is in its files outlives the relay.
  struct Machine {
    Relay relay;
    std::string session;
    std::map<std::size_t, std::uint64_t> attached;  // the numbers of processes
    std::int64_t contact = -1'000'000;              // when the last answered beat was sent
    bool cut = false;                               // off the network
    std::int64_t per_mille = 1'000;                 // how fast its clock runs
  };
  struct Event {
    std::int64_t at = 0;
    std::uint64_t order = 0;
    std::function<void()> happen;
    bool operator<(const Event& other) const {
      return std::pair(at, order) > std::pair(other.at, other.order);
    }
  };
  class HubView;

  void later(std::int64_t ms, std::function<void()> happen);
  // From or to that machine: late, or never.
  void send(std::size_t machine, std::function<void()> arrives);
  void run_until(std::int64_t time);
  void chance_event();
  void disturb();
  void heal();

  std::int64_t local(const Machine& machine) const { return now() * machine.per_mille / 1'000; }
  std::int64_t age(const Machine& machine) const { return local(machine) - machine.contact; }
  std::int64_t now() const { return clock_.at.mono_ms; }
  void look_at_clocks();
  void tick(std::size_t machine);
  bool relay_answers(const Relay& relay, std::uint64_t life, std::int64_t sent, int most) const;
  void start_relay(Machine& machine);
  void beat(std::size_t machine);
  void acquire(std::size_t process, int resource);
  void release(std::size_t process, int resource);
  std::size_t start_process(std::size_t machine);

  bool hub_acquire(std::size_t process, std::uint64_t number, int resource);
  void hub_release(std::size_t process, int resource);
  void bury();
  void check_nobody_is_forgotten();
  core::Context context();
  static core::Owner owner_of(std::size_t process) { return {"p" + std::to_string(process), ""}; }

  std::uint64_t below(std::uint64_t bound) { return random_below(random_, bound); }
  bool chance(std::uint64_t percent) { return below(100) < percent; }
  void note(const std::string& what) const;  // for a person, if LOCKKEEPER_SESSION_TRACE is set
  [[noreturn]] void broken(const std::string& what) const;

  const std::uint64_t seed_;
  Probes& probes_;
  SeededRandom random_;
  TestClock clock_;
  const World world_{std::vector<std::string>{"a", "b", "c"}};
  kv::MemoryStore store_;
  std::unique_ptr<HubView> view_;
  std::unique_ptr<hub::Desk> desk_;            // null: the hub is down
  std::map<std::string, std::int64_t> heard_;  // by session: when a beat came last
  std::vector<Machine> machines_;
  std::vector<Process> processes_;
  std::priority_queue<Event> events_;
  std::uint64_t order_ = 0;
  std::uint64_t ticket_ = 0;
  bool faults_ = true;
};

}  // namespace lockkeeper::sim
