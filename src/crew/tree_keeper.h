// The worktrees of a run with --worktrees, as the foreman sees them: what a supervisor must make
// (crew/trees/agent_tree.h), and the merges at the end (crew/trees/merger.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "crew/orders.h"
#include "crew/roster.h"
#include "crew/run_ledger.h"
#include "crew/trees/merger.h"
#include "plan/plan_file.h"
#include "service/locks.h"

namespace lockkeeper::crew {

class TreeKeeper {
 public:
  // `checkout`: where the run was started. All must outlive it.
  TreeKeeper(service::Locks& locks, const plan::Plan& plan, OpenRun& run, RunLedger& ledger,
             std::string checkout, Patterns patterns)
      : locks_(locks),
        plan_(plan),
        run_(run),
        ledger_(ledger),
        checkout_(std::move(checkout)),
        patterns_(std::move(patterns)) {}

  // Lets the agent's next attempt run in a worktree of its own. It begins with the work of the
  // agents that it needs, and of those that held the same locks before it.
  void give_orders(std::size_t agent, const Roster& roster, Orders& orders);
  // After an attempt was judged: takes over what became of the worktree. Returns a note for people.
  static std::string note(AgentRecord& agent);

  // After a supervisor was killed: waits until the git that it had started has ended, but not for
  // long. A git that is asked to end while it makes a lock file leaves that file behind.
  void let_git_end(std::size_t agent, const Folder& agents) const;

  // Merges what is done, and removes worktrees of which nothing can be lost. Troubles are in the
  // record. `go_on` is called several times a second; false: no more is begun.
  void finish(const Folder& agents, const Roster& roster, const git::GoOn& go_on);

 private:
  RunRecord& record() { return ledger_.record(); }
  TreeOrders orders_for(std::size_t agent) const;
  std::vector<std::size_t> planned_order(const Roster& roster) const;
  std::vector<Piece> pieces(const std::vector<std::size_t>& agents) const;
  void merge(const Roster& roster, const git::GoOn& go_on);
  void take(AgentRecord& agent, MergeOutcome outcome) const;
  Result<std::optional<std::string>> lock(const std::vector<std::string>& paths);
  void unlock();
  void remove(std::size_t agent, const Folder& agents, const git::GoOn& go_on);

  service::Locks& locks_;
  const plan::Plan& plan_;
  OpenRun& run_;
  RunLedger& ledger_;
  const std::string checkout_;
  const Patterns patterns_;
  std::optional<core::LeaseId> lease_;  // on what the merges change
};

}  // namespace lockkeeper::crew
