#include "chaos/crash_point.h"

#include <cstdio>

namespace lockkeeper::stage {

bool may_trace(Stage& stage) {
  Launch launch = stage.command({"true"});
  launch.traced = true;
  Process probe(std::move(launch));
  return probe.step([](const SystemCall&) { return true; }) != 125;
}

Answer killed_at(Stage& stage, int place, bool after, const std::string& agent, Words words,
                 std::string& at) {
  words.insert(words.begin() + 1, "--json");
  Launch launch = stage.launch(agent, words);
  launch.traced = true;
  Process process(std::move(launch));
  Answer answer;
  answer.status = process.step([&](const SystemCall& call) {
    const bool here = call.number == place && call.done == after;
    if (here) at = call.name;
    return !here;
  });
  answer.out = process.out();
  answer.err = process.err();
  EXPECT_THAT(answer.status, testing::AnyOf(0, kKilled)) << answer.all();
  return answer;
}

void CrashPoint::at_every_place(int at_least, const std::function<bool(int place)>& once) {
  for (place_ = 1; place_ < kPlacesMost; place_ += kPlaceStep) {
    SCOPED_TRACE("killed " + std::string(after() ? "after" : "before") + " place " +
                 std::to_string(place_));
    const bool killed = once(place_);
    if (HasFailure()) return;
    if (killed) continue;
    EXPECT_GT(place_, at_least) << "hardly any place to be killed at: nothing was tested";
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    std::printf("%s: %d crash points\n", test->name(), place_ - 1);
    return;
  }
  FAIL() << "never came to an end";
}

Launch CrashPoint::planned(int place, const std::string& agent, const Words& words) {
  Launch launch = stage_.launch(agent, words);
  launch.env["LOCKKEEPER_TEST_FAULT"] = (after() ? "kill-after@" : "kill@") + std::to_string(place);
  return launch;
}

bool CrashPoint::dies(int place, const std::string& agent, const Words& words) {
  const Answer answer = stage_.finish(planned(place, agent, words));
  EXPECT_THAT(answer.status, testing::AnyOf(0, kKilled)) << answer.all();
  return answer.status == kKilled;
}

void CrashPoint::reader_dies(const Words& words) {
  const Json before = stage_.expect(0, "ann", {"acquire", "a", "b/"}).json()["lease"];
  const std::size_t events = stage_.expect(0, "", {"log"}).lines().size();
  at_every_place(1, [&](int place) {
    const bool killed = dies(place, "ann", words);
    const Json after = stage_.expect(0, "", {"list", "--under", "a"}).json()["leases"][0];
    EXPECT_EQ(after["id"], before["id"]);
    EXPECT_EQ(after["fence"], before["fence"]);
    EXPECT_EQ(after["resources"], before["resources"]);
    EXPECT_EQ(stage_.expect(0, "", {"log"}).lines().size(), events);
    return killed;
  });
  healthy();
  stage_.expect(0, "ann", {"renew", "a"});
  stage_.expect(0, "bob", {"acquire", "c"});
}

Json CrashPoint::only_lease() {
  const Json leases = stage_.list()["leases"];
  EXPECT_LE(leases.size(), 1U) << leases.dump(1);
  return leases.empty() ? Json() : leases[0];
}

std::string crash_name(const testing::TestParamInfo<CrashParam>& info) {
  return std::string(std::get<0>(info.param)) + (std::get<1>(info.param) ? "_after" : "_before");
}

}  // namespace lockkeeper::stage
