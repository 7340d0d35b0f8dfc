// Every schedule of a small world: a few actors with short programs on resources that overlap, run
// through the real table on a memory store, in every order in which their steps can fall. Nothing
// is sampled. Each schedule is followed by the model and the judge like a random episode, and then
// everything must come to its end (L9).
//
// What a step is: on the pessimistic store a whole operation, as nobody else gets in between. On
// the optimistic one each operation is two steps, to read and decide, and to commit: a transaction
// reads one snapshot, so no finer interleaving can differ. A refused commit leaves no trace, so its
// second try is the first try of another schedule, and is not taken apart once more.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "watch.h"

namespace lockkeeper::sim {

struct Step {
  enum class Kind {
    kAcquire,
    kPoll,      // all that it waits for
    kCancel,    // the last request it made
    kRelease,   // its newest lease
    kGiveBack,  // the resource itself, from all its leases
    kRenew,     // its newest lease
    kBreak,     // all that others hold of the resource
    kCheck,
    kMaintain,
    kRepeat,  // the last request it made, with the same request id (F7)
    kLetGo,   // its newest lease is no longer kept by its own process
    kExpire,  // time passes: what is short is over
    kDie,
    kReport,  // of its calls and its turn
    kPass,    // much time passes
    kReboot   // of the machine: everybody goes on in a new process
  };
  Kind kind = Kind::kMaintain;
  std::vector<int> resources = {};
  core::Mode mode = core::Mode::kExclusive;
  bool wait = false;
  bool brief = false;     // ends at the next kExpire
  bool attached = false;  // to its process
  bool grace = false;     // and outlives it for a while
  bool under = false;     // inside the first actor's newest lease
  bool lasting = false;   // does not end by itself
  std::string worktree = {};
  std::string call = {};            // an edit, for this call (rule 16)
  core::ReportRequest report = {};  // whose owner is the actor
  std::int64_t pass_ms = 0;
};

struct Program {
  core::Owner owner;
  std::vector<Step> steps;
};

struct Story {
  std::string name;
  std::vector<std::pair<int, Step>> before;  // what each has done before, in this order
  std::vector<Program> actors;
};

std::string describe(const Story& story, const World& world);

// Which actor is next, at each point where there is a choice.
using Schedule = std::vector<int>;
std::string describe(const Schedule& schedule);

// Plays all schedules of the story and counts them. Throws Violation, whose first line is the
// schedule.
std::uint64_t play_all(const World& world, const Story& story, kv::Flavour flavour, Probes& probes);
// One of them, with what happens in it.
void play_one(const World& world, const Story& story, kv::Flavour flavour, const Schedule& schedule,
              std::string& trace);

}  // namespace lockkeeper::sim
