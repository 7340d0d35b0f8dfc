// F2: eight workers on the shipped program, killed at random moments: no two holders ever, nothing
// lost that was acknowledged, whoever is killed when.
//
// LOCKKEEPER_CHAOS_KILLS scales it, in rounds of at most kKillsPerRound on a fresh repository each;
// LOCKKEEPER_CHAOS_SEED repeats the killers' choices, LOCKKEEPER_CHAOS_ROUND begins at that round.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>

#include "chaos/crowd.h"
#include "support/campaign.h"

namespace lockkeeper::chaos {
namespace {

constexpr std::uint64_t kKillsByDefault = 2'000;  // of both durabilities together
constexpr std::uint64_t kKillsPerRound = 2'500;

std::string keep(const std::string& ledger) {
  std::string kept = (std::filesystem::temp_directory_path() / "lockkeeper-ledger-XXXXXX").string();
  ::close(::mkstemp(kept.data()));
  stage::write_text(kept, ledger);
  return kept;
}

class CrowdTest : public testing::TestWithParam<const char*> {
 protected:
  // One round; what it did is added to the total.
  void round(std::uint64_t number, std::uint64_t of, std::uint64_t kills) {
    CrowdOptions options;
    options.durability = GetParam();
    options.seed = campaign_.seed_of(number);
    const CrowdResult did = Crowd(options).run(static_cast<unsigned>(kills));
    const std::string again = campaign_.repeat("LOCKKEEPER_CHAOS_ROUND=" + std::to_string(number) +
                                               " LOCKKEEPER_CHAOS_KILLS=" + std::to_string(asked_));
    if (!did.violations.empty()) {
      std::string text = again;
      for (const std::string& violation : did.violations) text += violation + "\n";
      ADD_FAILURE() << text << "the ledger is in " << keep(did.ledger);
    } else if (HasFailure()) {
      ADD_FAILURE() << again;
    }
    EXPECT_GT(did.holds, kills / 10) << again << "hardly anything was held: it tells nothing";
    kills_ += did.kills;
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began_);
    std::printf(
        "%s, seed %u, round %lu of %lu: %u kills and %u at store calls in %u calls (%u busy), "
        "%zu holds, %zu events, %zu violations; %lu kills in %ld s so far\n",
        GetParam(), campaign_.seed(), number, of, did.kills, did.planned, did.calls, did.busy,
        did.holds, did.commits, did.violations.size(), kills_, seconds.count());
    std::fflush(stdout);
  }

  const stage::Campaign campaign_;
  const std::uint64_t asked_ = stage::number_from("LOCKKEEPER_CHAOS_KILLS", kKillsByDefault);
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::uint64_t kills_ = 0;
};

TEST_P(CrowdTest, F2_I1_I2_I3_I5_I6_I8_I11_L1_L9_KilledAtRandomNoTwoHoldTheSame) {
  const std::uint64_t mine = asked_ / 2;  // the other durability has the other half
  const std::uint64_t rounds = (mine + kKillsPerRound - 1) / kKillsPerRound;
  const std::uint64_t first = stage::number_from("LOCKKEEPER_CHAOS_ROUND", 1);
  for (std::uint64_t number = first; number <= rounds && !HasFailure(); ++number) {
    const std::uint64_t before = (number - 1) * kKillsPerRound;
    round(number, rounds, std::min(kKillsPerRound, mine - before));
  }
}

INSTANTIATE_TEST_SUITE_P(Durability, CrowdTest, testing::Values("full", "process"),
                         [](const auto& chosen) { return std::string(chosen.param); });

}  // namespace
}  // namespace lockkeeper::chaos
