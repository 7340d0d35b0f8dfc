// What happened to a plan's agents: the journal stores it, the report presents it.
//
// Thread safety: plain values. Times are wall-clock milliseconds; 0: not yet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockkeeper::crew {

// How one attempt ended.
enum class Ending {
  kNone,         // it has not
  kDone,         // exit status 0
  kFailed,       // another exit status
  kTimedOut,     // stopped at its time limit
  kLost,         // its lease was lost, and the command was stopped
  kUnstarted,    // the command could not be started: not found, not executable
  kDied,         // its supervisor was killed: the exit status is unknown
  kStopped,      // the run was asked to end
  kStrayed,      // under --strict-scope: files outside every scope were changed while it ran
  kUncommitted,  // with --worktrees: exit status 0, but its work could not be committed
};
const char* ending_name(Ending ending);  // "done", "failed", "timed_out", …

// Why an agent was not running although it had not ended.
struct Wait {
  enum class For {
    kNeed,   // another agent of the plan that it depends on
    kAgent,  // another agent of the plan that wants the same locks
    kJob,    // --jobs: as many as allowed were running
    kLock,   // a lock held outside the plan
    kPause,  // the pause of the feature
  };
  For what = For::kNeed;
  std::string on;  // the agent's id, or a sentence about the holder
  std::int64_t begin_ms = 0;
  std::int64_t end_ms = 0;
};
const char* wait_name(Wait::For what);  // "dependency", "agent", "jobs", "lock", "pause"

struct Change {
  enum class Kind { kAdded, kModified, kRemoved };
  std::string path;  // from the realm's root
  Kind kind = Kind::kModified;
  bool outside = false;  // outside the scope of every agent that was at work
  // Other agents at work that may have made the change instead.
  std::vector<std::string> or_by;
};
const char* change_name(Change::Kind kind);  // "added", "modified", "removed"

struct Attempt {
  std::size_t number = 1;
  std::string lease;
  std::uint64_t fence = 0;
  std::int64_t started_ms = 0;
  std::int64_t ended_ms = 0;
  Ending ending = Ending::kNone;
  int exit_status = 0;
  std::string why;                  // for people: "killed by SIGSEGV", "no such file"
  std::size_t processes_ended = 0;  // left behind by the command, and ended
  std::uint64_t log_bytes = 0;      // printed; the file may be cut
  bool log_cut = false;
  std::vector<Change> changes;
  std::string changes_unknown;  // why the changes are unknown; empty: they are known
  std::string start;            // with --worktrees: the commit where its work began
  std::string commit;           // with --worktrees: its branch's tip, once it is committed
};

enum class Standing { kPending, kWaiting, kRunning, kDone, kFailed, kSkipped, kStopped };
const char* standing_name(Standing standing);  // "pending", …

// An agent's worktree and branch, with --worktrees.
struct TreeRecord {
  enum class State {
    kNone,       // not made yet
    kOpen,       // the agent's work is not committed
    kNothing,    // the agent is done and has changed nothing
    kCommitted,  // not merged yet
    kMerged,
    kConflict,  // git could not merge it: `conflicts`, `why`
    kUnmerged,  // not tried: `why`
    kGivenUp,   // somebody has deleted the branch
  };
  State state = State::kNone;
  std::string folder;
  std::string branch;                  // "lk/RUN/AGENT"
  std::string start;                   // the commit where the agent's work begins
  std::string commit;                  // the branch's tip
  std::string merge;                   // the merge commit; empty: there is none of its own
  std::vector<std::string> builds_on;  // agents whose work it began with
  std::vector<std::string> conflicts;
  std::string why;
  bool removed = false;  // the folder is gone
  std::string kept;      // why it or the branch is not, although nothing is to be merged
};
const char* tree_state_name(TreeRecord::State state);  // "none", "open", "nothing", …
bool is_unmerged(const TreeRecord& tree);              // it has work that is on its branch alone

struct AgentRecord {
  std::string id;
  std::vector<std::string> locks;
  Standing standing = Standing::kPending;
  std::string why;  // skipped: which agent that it needs failed
  std::vector<Wait> waits;
  std::vector<Attempt> attempts;
  std::size_t forgiven = 0;  // so many first attempts do not count: --resume came after them
  TreeRecord tree;
};

bool yet_to_start(const AgentRecord& agent);  // pending or waiting
bool has_open_attempt(const AgentRecord& agent);
// The wait that has not ended; null: none.
const Wait* open_wait(const AgentRecord& agent);
// Ends the open wait and begins another. False: that very wait is open already.
bool begin_wait(AgentRecord& agent, Wait::For what, const std::string& on, std::int64_t now_ms);
void end_wait(AgentRecord& agent, std::int64_t now_ms);

// Where the worktrees of a run are; no folder: it has none.
struct RunTrees {
  std::string folder;
  std::string branch;  // where the run began and its work is merged: "refs/heads/main"
  std::string base;    // its commit then
};

struct RunRecord {
  std::string id;       // of the run
  std::string plan;     // the file, as the user named it
  std::string feature;  // empty: none
  std::string realm;
  std::size_t jobs = 0;  // 0: no limit
  std::int64_t started_ms = 0;
  std::int64_t ended_ms = 0;
  std::size_t resumed = 0;  // how many times
  std::vector<AgentRecord> agents;
  std::vector<std::string> problems;  // of the run as a whole
  RunTrees trees;
};

}  // namespace lockkeeper::crew
