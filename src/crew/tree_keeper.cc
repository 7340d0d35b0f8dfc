#include "crew/tree_keeper.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "crew/job_orders.h"
#include "crew/trees/agent_tree.h"
#include "crew/trees/worktree_ops.h"
#include "realm/disk_path.h"
#include "service/report.h"

namespace lockkeeper::crew {
namespace {

using State = TreeRecord::State;

constexpr std::size_t kCommitDigits = 12;
// No agent's folder: file_name_for() writes a code after '%'.
constexpr const char* kMergeFolder = "/%merge";
constexpr std::size_t kPathsLocked = 1'000;  // beyond that: the whole checkout

std::string short_commit(const std::string& commit) {
  return commit.substr(0, kCommitDigits);
}

std::string branch_name(const std::string& ref) {
  return ref.substr(ref.find('/', ref.find('/') + 1) + 1);  // "refs/heads/a/b": "a/b"
}

// The checkout's files, and so that nobody who works in another worktree is in the way.
Result<std::vector<key::Resource>> resources_for(const std::vector<std::string>& paths,
                                                 const key::Rules& rules) {
  std::vector<key::Resource> resources;
  for (const std::string& path : paths) {
    // What cannot be a resource cannot be locked by anybody.
    const auto parsed = key::parse(path, rules, key::Syntax::kLiteral);
    if (parsed) resources.push_back(parsed->resource);
  }
  if (resources.size() <= kPathsLocked) return resources;
  LK_ASSIGN(const key::Parsed whole, key::parse("./", rules, key::Syntax::kLiteral));
  return std::vector<key::Resource>{whole.resource};
}

}  // namespace

TreeOrders TreeKeeper::orders_for(std::size_t agent) const {
  const RunRecord& record = ledger_.record();
  TreeOrders orders;
  orders.checkout = checkout_;
  orders.folder = record.agents[agent].tree.folder;
  orders.branch = record.agents[agent].tree.branch;
  orders.base = record.trees.base;
  orders.patterns = patterns_;
  return orders;
}

void TreeKeeper::give_orders(std::size_t agent, const Roster& roster, Orders& orders) {
  std::vector<AgentRecord>& agents = record().agents;
  TreeRecord& tree = agents[agent].tree;
  tree.branch = branch_for(record().id, agents[agent].id);
  tree.folder = record().trees.folder + tree.branch.substr(tree.branch.rfind('/'));
  tree.removed = false;
  TreeOrders made = orders_for(agent);
  made.message = commit_message(plan_.jobs[agent], record().id, record().plan);
  tree.builds_on.clear();
  std::vector<std::size_t> before = plan_.jobs[agent].needs;
  const std::vector<std::size_t>& rivals = roster.rivals(agent);
  before.insert(before.end(), rivals.begin(), rivals.end());
  for (const std::size_t other : planned_order(roster)) {
    const AgentRecord& done = agents[other];
    const bool before_it = std::ranges::find(before, other) != before.end();
    if (!before_it || done.standing != Standing::kDone || done.tree.commit.empty()) continue;
    tree.builds_on.push_back(done.id);
    made.with.push_back(done.tree.commit);
  }
  orders.folder = made.folder;
  orders.tree = std::move(made);
}

std::string TreeKeeper::note(AgentRecord& agent) {
  const Attempt& attempt = agent.attempts.back();
  TreeRecord& tree = agent.tree;
  if (!attempt.start.empty()) tree.start = attempt.start;
  if (tree.state == State::kNone && !tree.start.empty()) tree.state = State::kOpen;
  if (agent.standing != Standing::kDone) return "";
  tree.commit = attempt.commit;
  tree.state = tree.commit == tree.start ? State::kNothing : State::kCommitted;
  return tree.state == State::kNothing
             ? "changed nothing: there is nothing to commit"
             : "committed as " + short_commit(tree.commit) + " on " + tree.branch;
}

// The roster's order, but each after those that it builds on.
std::vector<std::size_t> TreeKeeper::planned_order(const Roster& roster) const {
  const std::vector<AgentRecord>& agents = ledger_.record().agents;
  std::map<std::string, std::size_t> by_id;
  for (std::size_t i = 0; i < agents.size(); ++i) by_id[agents[i].id] = i;
  std::vector<std::size_t> order;
  std::vector<bool> seen(agents.size());
  std::vector<std::pair<std::size_t, bool>> stack;  // (agent, those before it are placed)
  const std::vector<std::size_t>& wanted = roster.order();
  for (auto it = wanted.rbegin(); it != wanted.rend(); ++it) stack.emplace_back(*it, false);
  while (!stack.empty()) {
    const auto [agent, ready] = stack.back();
    stack.pop_back();
    if (ready) {
      order.push_back(agent);
      continue;
    }
    if (seen[agent]) continue;
    seen[agent] = true;
    stack.emplace_back(agent, true);
    for (const std::size_t need : plan_.jobs[agent].needs) stack.emplace_back(need, false);
    for (const std::string& id : agents[agent].tree.builds_on) {
      if (const auto found = by_id.find(id); found != by_id.end()) {
        stack.emplace_back(found->second, false);
      }
    }
  }
  return order;
}

std::vector<Piece> TreeKeeper::pieces(const std::vector<std::size_t>& agents) const {
  const RunRecord& record = ledger_.record();
  std::map<std::string, std::size_t> place;
  std::vector<Piece> pieces;
  for (const std::size_t i : agents) {
    const AgentRecord& agent = record.agents[i];
    Piece piece;
    piece.name = agent.id;
    piece.branch = agent.tree.branch;
    piece.commit = agent.tree.commit;
    piece.message = "Merge " + escaped(agent.id) + " of run " + record.id;
    for (const std::string& other : agent.tree.builds_on) {
      if (const auto found = place.find(other); found != place.end()) {
        piece.builds_on.push_back(found->second);
      }
    }
    place[agent.id] = pieces.size();
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

void TreeKeeper::finish(const Folder& agents, const Roster& roster, const git::GoOn& go_on) {
  merge(roster, go_on);
  for (std::size_t i = 0; i < record().agents.size() && go_on(); ++i) remove(i, agents, go_on);
  // Both only if they are empty.
  const std::string& folder = record().trees.folder;
  if (::rmdir(folder.c_str()) == 0) ::rmdir(realm::parent_path(folder).c_str());
}

void TreeKeeper::merge(const Roster& roster, const git::GoOn& go_on) {
  std::vector<std::size_t> wanted;
  bool any = false;
  for (const std::size_t i : planned_order(roster)) {
    const AgentRecord& agent = record().agents[i];
    const bool open = agent.standing == Standing::kDone && is_unmerged(agent.tree);
    any = any || open;
    // What builds on a branch that was given up is not merged either, and may bring it along.
    if (open || agent.tree.state == State::kGivenUp) wanted.push_back(i);
  }
  if (!any || !go_on()) return;
  MergeOrders orders;
  orders.checkout = checkout_;
  orders.branch = record().trees.branch;
  orders.base = record().trees.base;
  orders.folder = record().trees.folder + kMergeFolder;
  orders.patterns = patterns_;
  orders.go_on = go_on;
  auto outcomes = merge_all(orders, run_.output, pieces(wanted),
                            [this](const std::vector<std::string>& paths) { return lock(paths); });
  unlock();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    AgentRecord& agent = record().agents[wanted[i]];
    take(agent,
         outcomes ? std::move((*outcomes)[i]) : MergeOutcome{.why = outcomes.error().message});
    ledger_.write(agent);
  }
}

void TreeKeeper::take(AgentRecord& agent, MergeOutcome outcome) const {
  TreeRecord& tree = agent.tree;
  using What = MergeOutcome::What;
  tree.merge = std::move(outcome.commit);
  tree.conflicts = std::move(outcome.conflicts);
  tree.why = std::move(outcome.why);
  const State before = tree.state;
  tree.state = outcome.what == What::kMerged     ? State::kMerged
               : outcome.what == What::kConflict ? State::kConflict
               : outcome.what == What::kGivenUp  ? State::kGivenUp
                                                 : State::kUnmerged;
  const std::string into = branch_name(ledger_.record().trees.branch);
  if (tree.state == State::kMerged) {
    ledger_.tell(CrewEvent::What::kMerged, &agent,
                 "merged into " + shown(into) +
                     (tree.merge.empty() ? "" : " as " + short_commit(tree.merge)));
  } else if (tree.state == State::kGivenUp) {
    if (before == State::kGivenUp) return;
    ledger_.tell(CrewEvent::What::kNote, &agent,
                 "is given up: its branch " + tree.branch + " was deleted");
  } else {
    ledger_.tell(CrewEvent::What::kUnmerged, &agent, "not merged: " + tree.why);
  }
}

// What others hold in this checkout is not changed under their hands.
Result<std::optional<std::string>> TreeKeeper::lock(const std::vector<std::string>& paths) {
  service::Site& site = locks_.site();
  service::AcquireCommand command;
  LK_ASSIGN(command.wanted.resources,
            resources_for(paths, site.settings().key_rules(site.realm())));
  if (command.wanted.resources.empty()) return std::nullopt;
  command.terms.reason = "merging run " + record().id;
  command.terms.worktree = site.realm().root;
  command.attach_pid = ::getpid();
  command.anew = true;
  const auto result = locks_.acquire(command);
  if (!result) return result.error().message;
  if (service::outcome_status(result->outcome) == 0) {
    lease_ = result->lease.id;
    return std::nullopt;
  }
  service::HintContext asked;
  asked.now_wall_ms = ledger_.now();
  return service::refusal(*result, asked).message;
}

void TreeKeeper::unlock() {
  if (!lease_) return;
  service::ReleaseCommand command;
  command.lease_ids = {lease_->text()};
  if (const auto done = locks_.release(command); !done) ledger_.problem(done.error().message);
  lease_.reset();
}

void TreeKeeper::let_git_end(std::size_t agent, const Folder& agents) const {
  constexpr std::int64_t kPatienceMs = 5'000;
  const auto marks = agents.existing(file_name_for(ledger_.record().agents[agent].id));
  if (marks && *marks) static_cast<void>((*marks)->lock(kGitLockName, kPatienceMs));
}

void TreeKeeper::remove(std::size_t agent, const Folder& agents, const git::GoOn& go_on) {
  AgentRecord& record = ledger_.record().agents[agent];
  TreeRecord& tree = record.tree;
  const bool over = tree.state == State::kMerged || tree.state == State::kNothing ||
                    tree.state == State::kGivenUp;
  if (!over || (tree.removed && tree.kept.empty())) return;
  const auto marks = agents.existing(file_name_for(record.id));
  if (!marks || !*marks) return;
  const TreeOrders orders = orders_for(agent);
  const auto removal = AgentTree(orders, **marks, go_on).remove(tree.commit);
  tree.removed = removal && removal->folder_gone;
  tree.kept = removal ? removal->kept : removal.error().message;
  if (!tree.kept.empty()) {
    ledger_.tell(
        CrewEvent::What::kNote, &record,
        (tree.removed ? "its branch " + tree.branch : "its worktree " + quote(tree.folder)) +
            " is kept: " + tree.kept);
  } else if (!removal->ignored.empty()) {
    ledger_.tell(CrewEvent::What::kNote, &record,
                 "its worktree is removed with what git ignores: " + files_text(removal->ignored));
  }
  ledger_.write(record);
}

}  // namespace lockkeeper::crew
