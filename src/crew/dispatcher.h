// Decides which agents of a plan may start now: rules 1 and 2 of crew/foreman.h.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "crew/capacity.h"
#include "crew/feature_gate.h"
#include "crew/roster.h"
#include "crew/run_ledger.h"
#include "crew/worker.h"
#include "plan/plan_file.h"
#include "service/locks.h"

namespace lockkeeper::crew {

class Dispatcher {
 public:
  // `session`: the run's. `workers`: of the plan's jobs, in their order. All must outlive it.
  Dispatcher(service::Locks& locks, const plan::Plan& plan, const std::string& session,
             Roster roster, std::size_t jobs, RunLedger& ledger, std::vector<Worker>& workers);

  // Calls `begin` for each agent that may start now, until the ledger fails. The record says what
  // the others wait for. Agents that can never start are skipped.
  void schedule(const std::function<void(std::size_t)>& begin);

  bool is_full() const { return load().running >= most_; }
  std::string session_of(std::size_t agent) const;
  const std::string& feature() const { return gate_.feature(); }
  const Roster& roster() const { return roster_; }

 private:
  struct Reason {
    Wait::For what;
    std::string on;
  };
  // `taken` also counts agents about to run, but not those that wait for a lock held outside the
  // plan: that may take long.
  struct Load {
    std::size_t running = 0;
    std::size_t taken = 0;
    std::size_t waiting = 0;
  };

  std::vector<AgentRecord>& agents() { return ledger_.record().agents; }
  bool may_begin(std::size_t agent) const;
  bool skip(std::size_t agent);
  bool is_paused();
  Load load() const;
  std::optional<Reason> must_wait(std::size_t agent, bool paused);
  void let_pass(std::size_t agent, std::size_t rival);

  service::Locks& locks_;
  const plan::Plan& plan_;
  const std::string session_;
  const Roster roster_;
  const std::size_t most_;  // at work at once
  RunLedger& ledger_;
  std::vector<Worker>& workers_;
  FeatureGate gate_;
  std::string paused_by_;
  Load load_;
  CheckBudget checks_;
  std::vector<std::optional<std::size_t>> yields_to_;  // the agent that was let pass (rule 2)
};

}  // namespace lockkeeper::crew
