// The sequential specification: what one call may answer, and what it leaves behind, if it takes
// effect at one moment between its invocation and its return. Who holds, who waits, what is in
// whose way and who waits for himself is asked of the simulator's model (tests/sim/model.h); this
// adds what a history needs beside it: moments that are only known to lie in an interval.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "linear/history.h"
#include "model.h"

namespace lockkeeper::linear {

// A lease that is over may be seen as held this long afterwards, because one transaction reads the
// clock and asks for each process one after the other. Never early, on the other hand, is exact.
inline constexpr std::int64_t kSlackNs = 250'000'000;

enum class Phase {
  kWhole,  // a call that takes effect once
  kAsk,    // a call that waits, first part: granted at once, refused, or in the queue
  kGet,    // second part: takes what was handed over, or leaves the queue
};

// A call, or a part of one, that takes effect at one moment.
struct Step {
  const Call* call = nullptr;
  Phase phase = Phase::kWhole;
  std::int64_t invoked = 0;
  std::int64_t returned = kNever;
  bool optional = false;    // no answer was seen: it may never have happened
  std::size_t partner = 0;  // of kAsk its kGet, of kGet its kAsk
  sim::Entry entry;         // what it asks for; its id is that of the lease it may be granted
  core::LeaseId named;      // the lease that it names; empty: none, or one that nobody was granted
  std::vector<core::LeaseId> lost;  // of told.lost
};

// Calls that have nothing to do with those of other parts: no resource of theirs overlaps, and no
// owner occurs in both.
struct Part {
  Part(const std::vector<const Call*>& calls, const History& history);
  const Step* asker_of(const core::LeaseId& id) const;  // the kWhole or kGet step
  Death death_of(const std::string& process) const;
  // How many leases the owner may have been granted without being told, by calls begun by then.
  std::size_t untold(const core::Owner& owner, std::int64_t by) const;

  sim::World world;
  sim::Processes nobody;    // the model is told of deaths by ending what was bound to them
  std::vector<Step> steps;  // by invocation
  std::map<core::LeaseId, std::size_t> uses;  // how many steps name a lease, or tell of its loss

 private:
  void add(const Call& call, const core::LeaseId& id);

  const History& history_;
  std::map<core::LeaseId, std::size_t> asker_;
};

// When a lease or a request in the queue is over by itself.
struct Life {
  std::int64_t end_from = kNever;  // by its length: not before, and from `end_to` on surely
  std::int64_t end_to = kNever;
  Death death;                    // of the process it is bound to
  bool handed = false;            // a lease that was handed over and not yet taken
  std::uint64_t fence_above = 0;  // its fence, if nobody was told, is greater than this
  std::int64_t from() const { return std::min(end_from, death.from); }
  std::int64_t to() const { return std::min(end_to, death.to); }
};

// What has ended without anybody's commit: who waited then may be filed under it still, so that his
// turn comes without anybody noticing, until somebody clears it away.
struct Former {
  sim::Entry entry;
  bool waited = false;  // it was a waiter itself
  std::int64_t gone_by = kNever;
  kv::Version place = 0;  // whoever is in the queue before this waited then
};

struct State {
  explicit State(const Part& part) : model(part.world, part.nobody) {}
  sim::Model model;
  std::map<core::LeaseId, Life> lives;
  std::vector<sim::Entry> ghosts;  // over, and perhaps still on record
  std::vector<Former> formers;
  std::map<core::LeaseId, bool> gone;  // ended and named again later; true: lost, not released
  std::uint64_t fence = 0;             // the highest so far
  std::int64_t now = 0;                // it is not earlier than this
  kv::Version next_place = 1;          // in the queue
};

struct Next {
  State state;
  bool decided = false;  // kAsk: its kGet has nothing left to do
};

// Every way in which the step may take effect at a moment not after `latest`. None: it cannot.
std::vector<Next> apply(const Part& part, const State& before, const Step& step,
                        std::int64_t latest);

struct Digest {
  std::uint64_t a = 0, b = 0;
  void add(std::uint64_t value);
  auto operator<=>(const Digest&) const = default;
};
Digest digest(const State& state);

// Who holds and who waits, one a line, for people.
std::string describe(const State& state);

}  // namespace lockkeeper::linear
