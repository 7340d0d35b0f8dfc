// Requests to the table and its replies: plain data.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/conflicts.h"
#include "core/deadlock.h"
#include "core/trace.h"
#include "core/types.h"

namespace lockkeeper::core {

// A session's row, as it was; version 0: none.
struct SessionSeen {
  std::uint64_t session = Attachment::kNoSession;
  kv::Version version = 0;
};

struct AcquireRequest {
  Owner owner;
  std::vector<Claim> claims;
  Terms terms;
  Attachment attachment;  // of the lease, once granted (and confirmed)
  LeaseId under;          // the lease it works under (rule 11), with its fence
  std::uint64_t under_fence = 0;
  std::string call;   // an edit for this call of a coding agent (rule 16); empty: on purpose
  bool anew = false;  // a new lease with its own terms, even if the owner holds exactly this
  bool wait = false;
  Attachment waiting_process;  // REQUIRED with `wait`: waiters are attached
  std::uint64_t wake = 0;
  SessionSeen through;  // the session through which it came, as its hub kept it then (rule 7)
};

// The outcome of a request so far. The table answers with the first five. A caller that waits may
// also run out of time or be told to stop.
enum class Outcome : std::uint8_t {
  kGranted,
  kRenewed,
  kHeld,
  kQueued,
  kDeadlock,
  kTimeout,
  kInterrupted,
};

struct AcquireReply {
  Outcome outcome = Outcome::kHeld;
  Lease lease;                      // granted, renewed; queued: the request with its id
  std::vector<Conflict> conflicts;  // held, queued, deadlock
  std::vector<CycleStep> cycle;     // deadlock
  std::vector<Conflict> elsewhere;  // granted, renewed: the same in other worktrees (rule 15)
  std::size_t position = 0;         // queued: how many requests stand before it, plus one
  std::string reason_before;        // renewed: the reason that the request's own has replaced
  bool replayed = false;            // a request with this id came before
  bool existed_before = false;      // and its lease was granted and confirmed
  bool again = false;               // not decided yet: commit what was ended, then ask again
  bool unguarded = false;           // queued: it may have closed a cycle, so poll before you sleep
  void stamp(kv::Version version);
};
bool is_handoff(Outcome outcome, const Lease& lease);  // granted, and nobody has taken it yet

// A line of history about an edit, such as a refusal.
struct EditNote {
  std::string what;  // "refused", "warned", "overwrote"
  std::vector<std::string> resources;
  Owner by = {};  // who holds it, or whose change it was
  std::string cause = {};
};

// What became of the calls of a coding agent (rule 16).
struct ReportRequest {
  // What its owner does now. kTurnOver: nothing, its edits end. kPassedOn: it is gone, and what it
  // edited is its session's. kIdle: nothing until somebody asks it to, but its turn is not over.
  enum class Then : std::uint8_t { kGoesOn, kIdle, kTurnOver, kPassedOn };
  Owner owner;
  bool turn_begins = false;         // nothing of an earlier turn runs any more
  std::string worktree;             // where its calls run
  std::vector<std::string> begun;   // calls without an edit: a shell command, say
  std::vector<std::string> done;    // calls that did what they were made for
  std::vector<std::string> failed;  // calls that changed nothing: they failed or were denied
  bool no_call_left = false;        // all others that it has begun failed as well
  bool parts_go_on = false;         // its end is not the end of the parts of its session
  std::vector<Change> changed;      // files that it has changed in the worktree: traces
  std::vector<Change> found = {};   // files that somebody has changed there, nobody knows who
  Then then = Then::kGoesOn;
  bool session_over = false;  // with kTurnOver: there will be no other turn

  // The table only keeps these, for whoever reports (Activity).
  std::vector<std::string> refused = {};  // it was refused them
  std::vector<std::string> settled = {};  // it no longer waits for these
  std::vector<std::string> once = {};     // what is to be said only once
  std::string also_in = {};               // it has edits in the table of this root, too
  std::vector<EditNote> notes = {};       // for the history
};

struct ReportReply {
  std::vector<std::string> ended;    // what its edits had covered
  std::vector<std::string> refused;  // what it was refused in this turn
  std::vector<std::string> news;     // those of `once` that were not said before
  std::vector<std::string> also_in;  // other tables with edits of this turn
  bool again = false;                // more to do than one commit takes: commit, then call again
};

struct ReleaseReply {
  std::vector<std::string> released;
  // Of those: what was over already, and why. Nobody has taken it since, or it would be gone.
  std::vector<std::pair<std::string, std::string>> ended_before;
  std::vector<std::string> not_held;
  std::vector<std::pair<std::string, Owner>> not_owner;
  // Of what is not held: the owner's own claim that covers it. It is released by that name.
  std::vector<std::pair<std::string, std::string>> covered;
  bool again = false;  // more to do than one commit takes: commit, then call again
  std::size_t size() const { return released.size() + not_held.size() + not_owner.size(); }
};

struct CheckReply {
  bool free = false;           // nothing of another owner conflicts with it
  bool mine = false;           // leases on its side (rule 11) cover all of it in sufficient mode
  bool fence_current = false;  // a live lease with the given fence covers all of it
  std::vector<Conflict> conflicts;
};

struct BreakRequest {
  Owner by;
  std::string reason;
  bool only_expired = false;
  bool only_dead = false;
  std::string cause = {};  // one word for the history; empty: the reason is enough
};

}  // namespace lockkeeper::core
