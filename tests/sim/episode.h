// One simulated life of a realm, repeatable from its seed: a few agents, some with subagents, on
// one memory store of either flavour, with a virtual clock. One thread; on the optimistic flavour
// another agent's whole operation may run inside any store call of this one, so that transactions
// interleave. A safety phase with faults (crashes at any store call, lost replies and requests,
// refused commits, store errors, deaths, reboots, clocks that jump), then a liveness phase without:
// everything live must complete (L9).
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "kv/memory/faulty_store.h"
#include "watch.h"

namespace lockkeeper::sim {

struct EpisodeOptions {
  std::uint64_t seed = 1;
  int steps = 250;
  Random* random = nullptr;      // what all choices come from; null: the seed
  std::string* trace = nullptr;  // every operation and its outcome, for a person
  // Crash in the N-th store call of the operation at this step, whatever else happens (F1).
  int crash_step = -1;
  std::uint64_t crash_call = 0;
  bool crash_after = false;
};

class Episode {
 public:
  Episode(const World& world, Probes& probes, EpisodeOptions options);

  void run();  // throws Violation
  std::uint64_t operations() const { return operations_; }
  bool crashed_as_told() const { return crashed_as_told_; }

 private:
  struct Held {
    core::LeaseId id;
    std::uint64_t fence = 0;
  };
  // What is to go wrong in one operation.
  struct Plan {
    std::uint64_t calls = 0;
    std::uint64_t fault_at = 0;
    kv::Decision fault;
    kv::Decision at_commit;
    std::uint64_t nest_at = 0;
    std::uint64_t nest_again_at = 0;
  };
  struct Actor {
    core::Owner owner;
    std::uint64_t pid_namespace = 1;
    std::unique_ptr<View> view;
    std::unique_ptr<kv::FaultyStore> store;
    std::uint64_t process = 0;
    bool dead = false;
    bool busy = false;
    std::vector<std::uint64_t> commands;  // processes that it started
    std::vector<Held> leases;
    std::vector<core::LeaseId> waiting;
    std::optional<Op> retry;
    std::vector<std::string> calls;  // begun and not reported
    Plan plan;
    kv::Version version_at_commit = 0;
  };

  // actor.cc: what an agent does next, and what it makes of the answer.
  void add_actors();
  Op choose(Actor& actor);
  Op choose_acquire(Actor& actor);
  const Held& deepest() const;
  Op choose_on_leases(Actor& actor, Op::Kind kind);
  Op choose_report(Actor& actor);
  void make_edit(Actor& actor, core::AcquireRequest& request);
  Op simple(const Actor& actor, Op::Kind kind, std::vector<core::LeaseId> ids = {}) const;
  void use_process(const Actor& actor, core::AcquireRequest& request);
  core::Attachment some_attachment(Actor& actor);
  void learn(Actor& actor, const Op& op, const Answer& answer);
  void learn_error(Actor& actor, const Op& op, Code code);
  void restart(Actor& actor);
  void died(Actor& actor);

  // episode.cc: time, faults, transactions and checks.
  void safety();
  void liveness();
  void release_for_nobody();
  void everything_is_forgotten();
  void step();
  void advance_clock();
  void reboot();
  void open_store(Actor& actor);
  void perform(Actor& actor, const Op& op);
  bool attempt(Actor& actor, const Op& op);  // true: try again
  void make_plan(Actor& actor, bool first);
  kv::Decision decide(Actor& actor, const kv::CallInfo& info);
  void nest();
  void arrive();  // the oldest of somebody's commits that are still under way
  void note(const Actor& actor, const Op& op, const std::string& outcome);

  std::uint64_t below(std::uint64_t bound) { return random_below(random_, bound); }
  bool chance(std::uint64_t percent) { return below(100) < percent; }

  const World& world_;
  Probes& probes_;
  const EpisodeOptions options_;
  SeededRandom seeded_;
  Random& random_;
  Watch watch_;
  Model& model_;
  Processes& processes_;
  std::vector<std::unique_ptr<Actor>> actors_;
  // Commits that were sent, whose answers nobody waits for any more, and which are still under way.
  struct Sent {
    Actor* actor;
    Op op;
    Watch::Open open;
  };
  std::deque<Sent> sent_;
  std::optional<Op> last_named_;  // the last acquire of the first actor with a request id
  std::vector<Held> seen_;        // leases that anybody ever heard of, lately
  bool faults_ = true;
  int depth_ = 0;
  int step_ = 0;
  std::uint64_t request_ids_ = 0;
  std::uint64_t wake_words_ = 0;
  std::uint64_t operations_ = 0;
  bool crashed_as_told_ = false;
};

}  // namespace lockkeeper::sim
