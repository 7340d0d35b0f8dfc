// The rule: what speaks against a commit (G1). Pure: everything that it needs is passed in.
//
// A path of a commit is refused if, in this worktree, another party has changed it and not
// committed that (also if somebody has changed it again, and also if this is the same content by
// another name), or has a confirmed edit there; or if
// another party holds it on purpose since before the change. Whoever works on it in another
// worktree is worth a warning.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/conflicts.h"
#include "core/traces.h"
#include "guard/party.h"

namespace lockkeeper::guard {

// A path in which a commit differs from every parent.
struct CommittedPath {
  std::string path = {};  // as git has it
  key::Resource resource = {};
  std::string name = {};     // as a trace has it
  std::string head_id = {};  // of its content in the last commit; empty: it is not there
  std::string new_id = {};   // of its content in this one; empty: it goes
  std::int64_t changed_wall_ms = 0;
};

// What the lock table says.
struct Around {
  std::string worktree;
  std::vector<core::Trace> traces;         // of this worktree
  std::vector<core::Conflict> in_the_way;  // leases of every worktree that overlap the paths
  std::vector<core::Lease> own;            // of the party
  std::vector<core::Owner> gone = {};      // writers whose sessions are over
};

struct Finding {
  enum class Why {
    kChanged,    // another party's change, not committed
    kEdited,     // another party's confirmed edit
    kHeld,       // another party's lease, taken on purpose
    kElsewhere,  // an edit in another worktree: a warning
    kTakenOver,  // another party's change, but the committer holds the file since: on record
    kLeft,       // another party's change, and its session is over: on record
  };
  std::string path = {};
  Why why = Why::kChanged;
  core::Owner holder = {};      // no agent: nobody knows who it was
  bool foreign = false;         // another tool's lock
  std::int64_t at_wall_ms = 0;  // 0: not known
  std::string text = {};        // kHeld: the reason; kElsewhere: the worktree
  // kChanged, kTakenOver: the file that this one is a copy of, byte for byte; empty: it is itself.
  // Whether the last commit has that content already is for whoever can ask git.
  std::string copy_of = {};
};

bool refuses(const Finding& finding);

// Is what this trace tells of not what the last commit has? `head_id`: empty if that has no such
// file.
bool is_uncommitted(const core::Trace& trace, const std::string& head_id);

// By path, each path and holder once for each reason.
std::vector<Finding> judge(const Party& party, const std::vector<CommittedPath>& paths,
                           const Around& around);

}  // namespace lockkeeper::guard
