// The worktree of one agent of a run with --worktrees. It is made before the agent's command starts
// and committed after the command has ended; it is removed once nothing in it can be lost.
//
// Every step can be cut off by kill -9 and is begun again by whoever comes next:
//   1. `tree.json` says "making", before git changes anything
//   2. branch and worktree; the work that it builds on, merged; copies and links
//   3. `tree.json` says "ready" and where the branch began; no command has run before that
// What "making" left behind is removed. Git itself is not killed with us: it holds `git.lock`, for
// which the next one waits. Where it was killed as well, the next one removes its lock files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/folder.h"
#include "crew/record/record.h"
#include "crew/trees/provision.h"
#include "git/writer.h"
#include "realm/environment.h"

namespace lockkeeper::crew {

inline constexpr const char* kGitLockName = "git.lock";
inline constexpr std::int64_t kGitLockWaitMs = 600'000;

struct TreeOrders {
  std::string checkout;           // the worktree in which the run was started
  std::string folder;             // of the agent's worktree, absolute and physical
  std::string branch;             // "lk/RUN/AGENT"
  std::string base;               // the commit where the run began
  std::vector<std::string> with;  // commits that it builds on, in order
  std::string message;            // of its commit
  Patterns patterns;
};

struct TreeCommit {
  std::string tip;    // of the branch, afterwards
  bool made = false;  // a commit was made; false: there was nothing to commit
};

// What became of worktree and branch.
struct Removal {
  bool folder_gone = false;
  std::string kept = {};                  // why not both are gone; empty: they are
  std::vector<std::string> ignored = {};  // what git ignores, removed with the folder
};

class AgentTree {
 public:
  // `marks`: the agent's folder in OUTPUT. All must outlive it. REQUIRES: the names in `orders` are
  // checked ones (branch_for), not a plan's text.
  AgentTree(const TreeOrders& orders, const Folder& marks, git::GoOn go_on)
      : orders_(orders), marks_(marks), go_on_(std::move(go_on)) {}

  // Makes the worktree, or finds it again. Returns the commit where the agent's own work begins.
  // failed: a branch or a folder of that name is somebody else's, the work that it builds on
  // conflicts, or git refuses; then nothing is left of it.
  Result<std::string> ensure();
  // Sentences about what was not copied or linked.
  const std::vector<std::string>& left_out() const { return left_out_; }

  // Variables for the agent on top of `env`: its own `git add -A` leaves out what was provided.
  Result<std::map<std::string, std::string>> variables_for(const realm::Environment& env) const;

  // Commits everything but what was provided. `variables`: for the repository's hooks. failed, with
  // git's words: a hook refused it, the agent has left another branch or a merge behind, a commit
  // of its own has what was provided, …; then everything is still there.
  Result<TreeCommit> commit(const std::map<std::string, std::string>& variables);

  // What the branch changes from `start` on.
  Result<std::vector<Change>> changes(const std::string& start, const std::string& tip) const;

  // Removes worktree and branch, the latter only if it is still at `tip`. Nothing is removed that
  // somebody wrote and git does not have, except what git ignores and `patterns.copy` does not
  // name.
  // REQUIRES: `tip` is merged, or has nothing of the agent's.
  Result<Removal> remove(const std::string& tip);

 private:
  struct Mark {
    bool ready = false;
    std::string start;
    Provided provided;
  };
  Result<std::optional<Mark>> mark() const;
  Result<void> write_mark(const Mark& mark) const;
  Result<std::string> find_again(const Mark& mark);
  // Nothing was done in it, and it lacks work that it builds on.
  Result<bool> is_behind(const Mark& mark) const;
  Result<std::string> make();
  Result<void> clear();
  Result<void> build_on(const std::string& commit);
  // nullopt: as it should be. A text says what it is instead.
  Result<std::optional<std::string>> not_on_branch() const;
  // A text: what would be lost with the folder.
  Result<std::optional<std::string>> leftovers(const Mark& mark) const;
  // Of its own commits, those provided files that one of them has.
  Result<std::vector<std::string>> provided_in_commits(const Mark& mark,
                                                       const std::string& tip) const;
  Error not_for_git(const std::vector<std::string>& paths, const std::string& start) const;
  // What git ignores; not what was provided.
  Result<std::vector<std::string>> ignored(const Mark& mark) const;
  Result<void> begin();
  Result<git::Writer> writer(const std::string& root) const;

  const TreeOrders& orders_;
  const Folder& marks_;
  const git::GoOn go_on_;
  Fd lock_;  // from the first call on
  std::map<std::string, std::string> variables_;
  std::vector<std::string> left_out_;
};

}  // namespace lockkeeper::crew
