// What the workers themselves wrote down, and the judge of it. The product is not asked: a line is
// appended by the holder after it was told that it holds, and before it gives back, so two holds
// that stand open at once are two holders (I1).
//
//   B HOLD SET FENCE KIND TIME UNTIL   begins; KIND a (attached), r (in the command of `run`),
//                                      d (detached) or b (attached, and with a length)
//   E HOLD                             ends, written before the release
//   S HOLD                             E was written while the lease cannot have been over yet
//   K WORKER                           this worker and all it started are about to be killed
//   X HOLD text                        an answer that must not be
//
// HOLD is WORKER.number. TIME and UNTIL are milliseconds since boot; UNTIL, of a detached lease, is
// the earliest moment at which it may be over: the time before it was asked for plus its length. A
// detached hold without S may have outlived its lease, so only what began before UNTIL counts
// against it (I6: never early, also when its holder was killed).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace lockkeeper::chaos {

// What is asked for, and the names that it covers.
struct Scope {
  std::string name;  // given as --task, so that leases and events can be told apart
  std::vector<std::string> resources;
  std::set<std::string> witnesses;
  bool shared = false;
};

const std::vector<Scope>& scopes();
// nullptr if there is none of that name.
const Scope* scope_named(const std::string& name);
// Both cover a name, and not both are shared.
bool conflict(const Scope& a, const Scope& b);

// What the ledger knows of one hold, for the comparison with the product's own history.
struct Told {
  char kind = 'a';
  std::uint64_t fence = 0;
  bool gave_back = false;  // E
  bool killed = false;     // K of its worker
};

struct Verdict {
  std::size_t holds = 0;
  std::size_t sure = 0;                 // judged by order alone
  std::map<std::string, Told> told;     // by HOLD
  std::vector<std::string> violations;  // empty: all is well
};

// I1 and I6 by order and time; I3: of holds that conflict, the later has the greater fence.
Verdict judge_ledger(const std::string& ledger);

// Milliseconds since boot, as /proc/uptime has them.
std::int64_t boot_ms();

}  // namespace lockkeeper::chaos
