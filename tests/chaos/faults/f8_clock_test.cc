// F8: the wall clock is an hour or ten years wrong and steps both ways while leases are held and
// waited for. Nothing ends early (I6), nothing ends late (L2), nothing is granted twice. The
// program's monotonic clock is the machine's; only what shows the time of day is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "chaos/faults/fault_stage.h"

namespace lockkeeper::faults {
namespace {

using stage::eventually;
using stage::pause_ms;
using testing::HasSubstr;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kHourNs = 3'600 * kSecondNs;
constexpr std::int64_t kTenYearsNs = 3'653 * 24 * kHourNs;
constexpr std::int64_t kSteps[] = {0,           kHourNs, -kHourNs,     kTenYearsNs, -kTenYearsNs,
                                   kTenYearsNs, 0,       -kTenYearsNs, kHourNs};

std::chrono::steady_clock::time_point now() {
  return std::chrono::steady_clock::now();
}

class F8Clock : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string why = no_preload(); !why.empty()) GTEST_SKIP() << why;
    stage_.set_durability(GetParam());
    step(0);
    stage_.have({{"WALL", stage_.path("wall")}});
  }

  void step(std::int64_t ns) const {
    // In place: the processes have it mapped.
    std::FILE* const file = std::fopen(stage_.path("wall").c_str(), stepped_ ? "r+b" : "wb");
    ASSERT_NE(file, nullptr);
    std::fwrite(&ns, sizeof ns, 1, file);
    std::fclose(file);
    stepped_ = true;
  }

  InMemory in_memory_;
  FaultStage stage_;
  mutable bool stepped_ = false;
};

INSTANTIATE_TEST_SUITE_P(Durability, F8Clock, testing::Values("full", "process"),
                         [](const auto& of) { return std::string(of.param); });

TEST_P(F8Clock, F8_TheProgramIsShownTheWrongTime) {
  step(kTenYearsNs);
  const std::string later =
      stage_.expect(0, "ann", {"acquire", "a"}).json()["lease"]["acquired_at"];
  step(-kTenYearsNs);
  const std::string earlier =
      stage_.expect(0, "ann", {"acquire", "b"}).json()["lease"]["acquired_at"];
  EXPECT_GE(std::stoi(later.substr(0, 4)), std::stoi(earlier.substr(0, 4)) + 19);
}

TEST_P(F8Clock, F8_I6_ALeaseIsHeldWhateverTheTimeOfDay) {
  stage_.expect(0, "ann", {"acquire", "a", "--ttl", "10m"});
  std::uint64_t fence = stage_.expect(0, "ann", {"acquire", "b", "--ttl", "none"}).fence();
  for (const std::int64_t ns : kSteps) {
    SCOPED_TRACE("wall clock wrong by " + std::to_string(ns / kSecondNs) + " s");
    step(ns);
    stage_.expect(75, "bob", {"acquire", "a"});
    stage_.expect(75, "bob", {"check", "b"});
    stage_.expect(124, "bob", {"acquire", "a", "--wait=30ms"});
    stage_.expect(0, "ann", {"renew", "a", "--ttl", "10m"});
    EXPECT_EQ(stage_.list()["leases"].size(), 2U);
    const Answer other = stage_.expect(0, "cat", {"acquire", "c"});
    EXPECT_GT(other.fence(), fence) << "I3";
    fence = other.fence();
    stage_.expect(0, "cat", {"release", "c"});
    stage_.expect(0, "", {"purge"});
    stage_.expect(0, "", {"doctor"});
  }
}

// Waiters in the queue of a lease of two seconds, the clock stepping all the while: the first is
// granted when it has passed on the machine's clock and not before, the rest in order.
TEST_P(F8Clock, F8_I6_L2_L4_WaitersAreGrantedWhenTheLengthHasPassed) {
  const auto before = now();
  stage_.expect(0, "ann", {"acquire", "a", "--ttl", "2s"});
  Process first = stage_.start("bob", {"acquire", "a", "--wait", "--json"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  Process second = stage_.start("cat", {"acquire", "a", "--wait", "--json"});
  ASSERT_TRUE(stage_.queue_grows_to(2));
  std::size_t i = 0;
  while (first.running() && now() - before < std::chrono::minutes(1)) {
    step(kSteps[++i % std::size(kSteps)]);
    pause_ms(20);
  }
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_GE(now() - before, std::chrono::seconds(2)) << "I6: early";
  EXPECT_TRUE(second.running()) << "L4";
  step(-kTenYearsNs);
  stage_.expect(0, "bob", {"release", "a"});
  EXPECT_EQ(second.wait(), 0) << second.err();
  EXPECT_GT(i, 10U) << "the clock was not stepped";
}

// `run` keeps its lease renewed although the clock steps, and is not told that it was lost.
TEST_P(F8Clock, F8_I5_I7_ARunThatRenewsKeepsItsLease) {
  Process run = stage_.start("ann", {"run", "--ttl", "1s", "a", "--", "sleep", "3"});
  ASSERT_TRUE(eventually([&] { return stage_.list()["leases"].size() == 1; })) << run.err();
  const Json lease = stage_.list()["leases"][0];
  for (std::size_t i = 0; run.running(); ++i) {
    step(kSteps[i % std::size(kSteps)]);
    const Answer answer = stage_.json("bob", {"acquire", "a"});
    if (answer.status == 0) {
      // Only after the end of the command.
      EXPECT_TRUE(eventually([&] { return !run.running(); }));
      break;
    }
    EXPECT_EQ(answer.status, 75) << answer.all();
    pause_ms(30);
  }
  EXPECT_EQ(run.wait(), 0) << run.err();
  for (const Json& event : stage_.expect(0, "", {"log"}).lines()) {
    EXPECT_NE(event["event"], "expired") << event.dump();
  }
}

}  // namespace
}  // namespace lockkeeper::faults
