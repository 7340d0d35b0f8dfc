// Merges the branches of a run's agents into the branch where the run began, in one given order.
//
// The merges are made in a worktree of our own. The user's checkout is only fast-forwarded to their
// result, by git, which refuses to overwrite anything. So a conflict never shows there, and a kill
// at any step leaves it before or after. Nothing is written down on the way: whoever comes next
// asks git what is merged already.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/folder.h"
#include "crew/trees/agent_tree.h"

namespace lockkeeper::crew {

struct MergeOrders {
  std::string checkout;  // the worktree in which the run was started
  std::string branch;    // the branch that was checked out there: "refs/heads/main"
  std::string base;      // its commit then
  std::string folder;    // for the worktree of the merges; absolute and physical
  Patterns patterns;
  git::GoOn go_on = {};
};

// One agent's work.
struct Piece {
  std::string name;                    // of the agent
  std::string branch;                  // "lk/RUN/AGENT"
  std::string commit;                  // the branch's tip
  std::string message;                 // of the merge
  std::vector<std::size_t> builds_on;  // earlier pieces
};

struct MergeOutcome {
  enum class What {
    kMerged,
    kConflict,  // git could not merge it
    kBuildsOn,  // it contains a piece that could not be merged
    kGivenUp,   // its branch was deleted, and it is not merged
    kNotTried,  // the checkout is not as it must be
  };
  What what = What::kNotTried;
  std::string commit = {};                  // the merge; empty: another one brought it along
  std::vector<std::string> conflicts = {};  // files
  std::string why = {};                     // for people; not merged
  bool there = false;                       // it was merged before
};

// Lets the checkout's files be changed: takes the locks on them. A text: why not.
using MayChange =
    std::function<Result<std::optional<std::string>>(const std::vector<std::string>&)>;

// `marks`: OUTPUT. One outcome for each piece. An error: git or the disk failed, and the next call
// asks again what is merged.
Result<std::vector<MergeOutcome>> merge_all(const MergeOrders& orders, const Folder& marks,
                                            const std::vector<Piece>& pieces,
                                            const MayChange& may_change);

// Where a run begins. failed, with what to do: a bare repository, no commit, no branch, an
// unfinished merge, uncommitted changes, nobody to commit as, a branch called "lk".
struct StartPoint {
  std::string branch;  // "refs/heads/main"
  std::string commit;
  std::vector<std::string> untracked;  // not ignored: agents will not see them
  bool submodules = false;             // their folders will be empty
};
Result<StartPoint> start_point(const std::string& checkout);

}  // namespace lockkeeper::crew
