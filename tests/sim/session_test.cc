// Sessions and heartbeats of the hub, simulated: many lives of small worlds (session_world.h).
//
// LOCKKEEPER_SEED: the first. LOCKKEEPER_SESSION_WORLDS: how many. LOCKKEEPER_SESSION_TRACE: says
// what happens.
#include <gtest/gtest.h>

#include <cstdlib>

#include "session_world.h"

namespace lockkeeper::sim {
namespace {

std::uint64_t number_in_variable(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(SessionSim, I1_I5_L1_NobodyGetsWhatAnotherStillWorksOn) {
  const std::uint64_t first = number_in_variable("LOCKKEEPER_SEED", 1);
  const std::uint64_t count = number_in_variable("LOCKKEEPER_SESSION_WORLDS", 1'000);
  SessionWorld::Probes probes;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    try {
      SessionWorld(seed, probes).run();
    } catch (const Violation& violation) {
      FAIL() << violation.what() << "\nLOCKKEEPER_SEED=" << seed
             << " LOCKKEEPER_SESSION_WORLDS=1 session_sim_test";
    }
  }
  for (const auto& [name, times] : probes) {
    std::printf("%12llu  %s\n", static_cast<unsigned long long>(times), name.c_str());
  }
  if (count < 100) return;
  for (const char* const name :
       {"granted", "refused", "a process gave up what it held", "a relay was killed",
        "a relay was stopped", "the hub was killed", "a process was killed"}) {
    EXPECT_GT(probes[name], 0U) << "never seen: " << name;
  }
}

}  // namespace
}  // namespace lockkeeper::sim
