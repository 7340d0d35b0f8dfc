// Three hubs on one memory store, each with a clock of its own, and clients that go from one to
// another; repeatable from a seed. Hubs are stopped, killed and started again. Their commits are
// refused, lost, or arrive late; rows vanish late; a repair begins a new epoch. One hub's whole
// operation may run inside a store call of another's. machines_judge.h judges every commit.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "core/table.h"
#include "machines_parts.h"

namespace lockkeeper::sim {

class MachinesWorld {
 public:
  MachinesWorld(std::uint64_t seed, MachinesJudge::Probes& probes, std::string* trace = nullptr);

  void run();  // throws Violation
  std::uint64_t operations() const { return operations_; }

 private:
  using Work = std::function<Result<bool>(core::Table&)>;  // true: once more

  void start(Hub& hub);
  void kill(Hub& hub);
  bool answers(const Hub& hub) const;
  std::int64_t local(const Hub& hub) const;
  kv::Decision decide(Hub& hub, const kv::CallInfo& info);
  void make_plan(Hub& hub, bool faulty);
  core::Context context(Hub& hub);
  // Runs it there until it is committed or fails. An error is the table's or the store's.
  Result<void> perform(Hub& hub, const core::Owner& owner, const Work& work);
  Result<bool> attempt(Hub& hub, const core::Owner& owner, const Work& work);
  void judge(const Committer& by);
  void arrive();
  void vanish(std::uint64_t percent);

  void step();
  void disturb();
  void pass(std::int64_t ms);
  void upkeep(Hub& hub);
  void act(Client& client);
  bool reach_a_hub(Client& client);
  bool move_to(Client& client, std::size_t hub);
  bool begin_session(Client& client);
  void ask(Client& client, const core::AcquireRequest& request);
  void ask_late(const Client& client);
  core::AcquireRequest some_request(const Client& client);
  Hub& hub_of(const Client& client) { return *hubs_[client.hub]; }
  void learn(Client& client, const core::AcquireReply& reply);
  void poll(Client& client, bool gives_up);
  void renew(Client& client);
  void release(Client& client);
  void die(Client& client);
  void liveness();
  void end_all_clients();
  void release_endless();
  void go_on_until(std::int64_t time);
  void look_at_everything(Hub& hub);
  void end_session_of(Hub& hub, std::uint64_t session);
  void end_silent(Hub& hub);
  void everything_is_forgotten();

  std::uint64_t below(std::uint64_t bound) { return random_below(random_, bound); }
  bool chance(std::uint64_t percent) { return below(100) < percent; }
  void note(const std::string& what);
  void probe(const std::string& name) { ++probes_[name]; }

  const std::uint64_t seed_;
  MachinesJudge::Probes& probes_;
  std::string* const trace_;
  SeededRandom random_;
  const World world_{std::vector<std::string>{"a", "b", "src/", "src/c", "src/*", "foo"}};
  std::unique_ptr<kv::MemoryStore> store_;
  MachinesJudge judge_;
  std::vector<std::unique_ptr<Hub>> hubs_;
  std::vector<Client> clients_;
  std::vector<std::uint64_t> abandoned_;  // sessions of which no client knows
  std::vector<bool> dead_;                // processes, by number
  std::deque<Sent> sent_;
  kv::Version judged_ = 0;
  std::uint64_t epoch_ = 1;
  std::int64_t now_ = 0;  // the true time
  std::uint64_t ticket_ = 0;
  std::uint64_t numbers_ = 100;
  std::uint64_t operations_ = 0;
  std::uint64_t commits_ = 0;
  int depth_ = 0;
  bool faults_ = true;
};

}  // namespace lockkeeper::sim
