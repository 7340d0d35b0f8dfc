// The foreman runs a plan's agents side by side, as many at once as the plan and --jobs allow.
//
// Rules
//   1. An agent starts when all agents it needs are done, no running agent of the plan wants the
//      same locks, fewer than `jobs` run, and the feature is not paused; and then only with all its
//      locks (crew/supervisor.h). Each starts as soon as it can: there are no rounds.
//   2. An agent waits in the lock table's queue for locks held outside the plan. Meanwhile it lets
//      an agent of the plan pass that could start at once.
//   3. A failed attempt is repeated as often as the agent's budget allows. Agents that need an
//      agent that failed for good are skipped.
//   4. Nothing starts before the journal says so (crew/record/journal.h). If the journal cannot be
//      written, nothing new starts, and running agents finish.
//   5. With worktrees, an agent's work is committed before its locks are freed, and merged when all
//      agents have ended (crew/tree_keeper.h).
//   6. A signal stops the run: waiting agents leave the queue, running agents are asked to end, the
//      last started first. A second signal kills them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "crew/run_ledger.h"
#include "crew/trees/provision.h"
#include "plan/plan_file.h"
#include "service/locks.h"

namespace lockkeeper::crew {

struct ForemanOptions {
  std::size_t jobs = 0;                 // 0: no limit
  std::vector<std::string> supervisor;  // program and arguments; the attempt's folder is added
  plan::Command command;                // for agents without one
  bool strict_scope = false;            // a change outside the scope fails the attempt
  bool detect_changes = true;
  std::int64_t grace_ms = 10'000;                       // between asking and killing
  std::uint64_t log_bytes_max = 64U << 20;              // of each attempt
  std::string folder;                                   // where the commands run
  std::map<std::string, std::string> environment = {};  // set for them, besides ours
  Patterns patterns;  // for worktrees, if the run's record has them
};

class Foreman {
 public:
  // For whoever watches the run.
  struct Watch {
    std::function<void(const CrewEvent&)> on_event;
    std::function<void()> on_tick;  // called several times a second
  };

  // `locks`: in the name of whoever started the run. All must outlive it.
  Foreman(service::Locks& locks, const plan::Plan& plan, OpenRun& run, ForemanOptions options,
          Watch watch);
  ~Foreman();
  Foreman(const Foreman&) = delete;
  Foreman& operator=(const Foreman&) = delete;

  // Until all agents have ended, or a signal stopped them. An error means that nothing was started;
  // later problems are in the record. REQUIRES: one thread; nobody else handles SIGCHLD, SIGINT,
  // SIGTERM or SIGHUP meanwhile.
  Result<void> run();

  const RunRecord& record() const;
  int signal() const;  // the one that stopped it; 0: none
  // The last line that a running agent's command printed.
  std::string last_line(const AgentRecord& agent) const;
  std::int64_t running_since(const AgentRecord& agent) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockkeeper::crew
