// Several hubs on one store, simulated: many short lives of machines_world.h.
//
// LOCKKEEPER_SEED: the first. LOCKKEEPER_MACHINES_OPS: how many operations.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "machines_world.h"

namespace lockkeeper::sim {
namespace {

constexpr std::uint64_t kOperations = 50'000;  // and those of the quiet end of each life

std::uint64_t number_in_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::string story_of(std::uint64_t seed) {
  constexpr std::size_t kBytes = 4'000;
  std::string trace;
  MachinesJudge::Probes ignored;
  try {
    MachinesWorld(seed, ignored, &trace).run();
  } catch (const Violation&) {
  }
  return trace.size() > kBytes ? trace.substr(trace.size() - kBytes) : trace;
}

std::uint64_t run(std::uint64_t seed, MachinesJudge::Probes& probes) {
  try {
    MachinesWorld world(seed, probes);
    world.run();
    return world.operations();
  } catch (const Violation& violation) {
    ADD_FAILURE() << "seed " << seed << "\nto repeat: LOCKKEEPER_SEED=" << seed
                  << " LOCKKEEPER_MACHINES_OPS=1 machines_sim_test\n"
                  << violation.what() << "\nthe end of the story:\n"
                  << story_of(seed);
    return 0;
  }
}

const char* const kMustBeSeen[] = {
    "a commit of an epoch that is over",
    "a conflict",
    "a hub was killed",
    "a hub was stopped",
    "a late call is void",
    "a late commit arrived",
    "a late commit came too late",
    "a new epoch",
    "a process was killed",
    "a session came too late",
    "a session moved",
    "an unknown outcome",
    "dead waiter dropped",
    "deadlock",
    "died",
    "ended by a new epoch",
    "expired by another hub",
    "gave way",
    "granted",
    "handoff",
    "interleaved",
    "its grace passed",
    "its session had gone",
    "orphaned",
    "queued",
    "reclaimed",
    "renewed",
    "vanished",
    "withdrawn",
};

TEST(MachinesSim, I1_I3_I5_I6_I9_I11_L2_L4_L6_L8_L9_F9_HubsWithClocksOfTheirOwn) {
  const std::uint64_t operations = number_in_environment("LOCKKEEPER_MACHINES_OPS", kOperations);
  std::uint64_t seed = number_in_environment("LOCKKEEPER_SEED", 1);
  MachinesJudge::Probes probes;
  std::uint64_t done = 0;
  for (; done < operations && !HasFailure(); ++seed) done += run(seed, probes);
  std::printf("%llu operations, next seed %llu\n", static_cast<unsigned long long>(done),
              static_cast<unsigned long long>(seed));
  for (const auto& [name, times] : probes) {
    std::printf("%12llu  %s\n", static_cast<unsigned long long>(times), name.c_str());
  }
  if (operations < kOperations) return;
  for (const char* const name : kMustBeSeen) EXPECT_GT(probes[name], 0U) << "never seen: " << name;
}

}  // namespace
}  // namespace lockkeeper::sim
