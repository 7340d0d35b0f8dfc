// The sequential specification: what one call may answer, and what it leaves behind, if it takes
// effect at one moment between its invocation and its return. Who holds, who waits, what is in
// whose way and who waits for himself is asked of the simulator's model (tests/sim/model.h); this
// adds what a history needs beside it: moments that are only known to lie in an interval.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "linear/part.h"
#include "model.h"

namespace lockkeeper::linear {

// A lease that is over may be seen as held this long afterwards, because one transaction reads the
// clock and asks for each process one after the other. Never early, on the other hand, is exact.
inline constexpr std::int64_t kSlackNs = 250'000'000;

// What has ended without anybody's commit: who waited then may be filed under it still, so that his
// turn comes without anybody noticing, until somebody clears it away.
struct Former {
  sim::Entry entry;
  bool waited = false;  // it was a waiter itself
  std::int64_t gone_by = kNever;
  kv::Version place = 0;  // whoever is in the queue before this waited then
};

// A request in the queue, or a handoff, whose process is dead. As long as nobody has cleared it
// away, whoever repeats its request id takes it over.
struct Sleeper {
  sim::Entry entry;
  Life life;
  bool waited = false;
};

// How a lease ended. kNoted: its owner released it, and others may have kept it: these find out.
enum class Gone : std::uint8_t { kReleased, kNoted, kReleasedOrNoted, kLost };

// What a request id stands for.
struct Remembered {
  core::LeaseId lease;
  std::size_t arguments = 0;
};

struct State {
  explicit State(const Part& part) : model(part.world, part.nobody) {}
  sim::Model model;
  std::map<core::LeaseId, Life> lives;
  std::vector<sim::Entry> ghosts;  // over, and perhaps still on record
  std::vector<Former> formers;
  std::vector<Sleeper> sleepers;
  std::map<core::LeaseId, Gone> gone;            // ended and named again later
  std::set<core::LeaseId> fatherless;            // left the queue with what they worked under
  std::map<core::LeaseId, core::LeaseId> names;  // what a name (Part::is_name) stands for
  std::map<core::LeaseId, Remembered> requests;  // by the id that calls of one request id share
  std::uint64_t fence = 0;                       // the highest so far
  std::int64_t now = 0;                          // it is not earlier than this
  kv::Version next_place = 1;                    // in the queue
  // The lease that a step names; empty: nobody has met it yet.
  core::LeaseId real(const Part& part, const core::LeaseId& named) const;
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
  void add(const std::string& text);
  auto operator<=>(const Digest&) const = default;
};
Digest digest(const State& state);

// Who holds and who waits, one a line, for people.
std::string describe(const State& state);

}  // namespace lockkeeper::linear
