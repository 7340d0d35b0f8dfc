// The foreman: runs a plan's agents side by side, as many at once as the plan and --jobs allow.
//
// Rules
//   1. An agent starts when all it needs is done, no agent of the plan that wants the same is at
//      work, fewer than `jobs` run, and the feature is not paused; and then only under its locks,
//      all of them (crew/keeper.h). Whatever fits starts: there are no rounds to wait for.
//   2. What somebody outside holds is waited for in the table's queue. An agent that waits there
//      lets one of its own plan pass that could start at once.
//   3. A failed attempt is repeated as often as the agent's budget says; what depends on an agent
//      that failed for good is skipped.
//   4. Nothing is started that is not written down before (crew/journal.h). If that fails, nothing
//      new starts, and what runs comes to its end.
//   5. A signal stops: who waits leaves the queue, who runs is asked to end, the last started
//      first. A second signal kills.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "crew/run_folder.h"
#include "crew/worker.h"
#include "plan/plan_file.h"
#include "service/locks.h"

namespace lockkeeper::crew {

struct ForemanOptions {
  std::size_t jobs = 0;              // 0: no limit
  std::vector<std::string> keeper;   // the program that keeps, and its words
  std::vector<std::string> command;  // for agents that have none of their own
  bool strict_scope = false;         // a change outside the scope fails the attempt
  bool look_at_changes = true;
  std::int64_t grace_ms = 10'000;           // between asking and killing
  std::uint64_t log_bytes_max = 64U << 20;  // of each attempt
  std::string folder;                       // where the commands run
};

// What happens, as it happens.
struct CrewEvent {
  enum class What { kWaiting, kStarted, kEnded, kAgain, kSkipped, kNote, kStopping, kFound };
  What what;
  const AgentRecord* agent;  // null: of the run
  std::string text;
};

class Foreman {
 public:
  // How a watching person sees it.
  struct Watch {
    std::function<void(const CrewEvent&)> told;
    std::function<void()> look;  // called several times a second
  };

  // `locks`: in the name of who started the run. All must outlive it.
  Foreman(service::Locks& locks, const plan::Plan& plan, OpenRun& run, ForemanOptions options,
          Watch watch);
  ~Foreman();
  Foreman(const Foreman&) = delete;
  Foreman& operator=(const Foreman&) = delete;

  // To the end, or to the first signal's end. REQUIRES: one thread; SIGCHLD and the signals that
  // ask to end are the foreman's meanwhile. An error means that nothing could be begun; troubles
  // on the way are in the record.
  Result<void> run();

  const RunRecord& record() const;
  int signal() const;  // that stopped it; 0: none
  // Of a running agent: what its command printed last.
  std::string last_line(const AgentRecord& agent) const;
  std::int64_t running_since(const AgentRecord& agent) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockkeeper::crew
