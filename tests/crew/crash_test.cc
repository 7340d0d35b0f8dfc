// The foreman is killed with -9 at each of its steps: before and after every system call that may
// change something. At every step --resume finishes the run, no agent runs twice, and none runs
// without its lock. Skipped where tracing is not allowed.
#include <algorithm>
#include <filesystem>

#include "crew/crash_stage.h"
#include "crew/crew_stage.h"

namespace lockkeeper::stage {
namespace {

using testing::ElementsAre;

class CrewCrash : public CrashStage<CrewStage> {
 protected:
  void SetUp() override {
    if (!may_trace(stage_)) GTEST_SKIP() << "this process may not trace its children";
    // c wants what a has, d needs b; b is done before the others.
    write_plan({{"a", {"x"}, "sleep 0.05; " + says("a", "x")},
                {"b", {"y"}, says("b", "y")},
                {"c", {"x", "z"}, says("c", "x")},
                {"d", {"w"}, says("d", "w"), {"b"}}});
  }

  // Foreman and supervisor, once the command of `a` has made m1.
  void kill_both_at_work() {
    auto process = start();
    ASSERT_TRUE(eventually([&] { return exists(stage_.repo() + "/m1"); }));
    const std::string mark = read_text(out() + "/agents/a/1/started");
    process.signal(SIGKILL);
    process.wait();
    ::kill(Json::parse(mark)["pid"].get<pid_t>(), SIGKILL);
  }

  Words killed_words() override { return words(); }

  void expect_goes_on() override {
    SCOPED_TRACE(at_);
    Answer answer = run({"--resume"});
    // Killed before there was a run.
    if (answer.status == 66) answer = run();
    ASSERT_EQ(answer.status, 0) << answer.all();
    EXPECT_THAT(ran(), ElementsAre("a", "b", "c", "d"));
    expect_nothing_left();
  }

  void clean_up() override {
    std::filesystem::remove_all(out());
    std::filesystem::remove(stage_.path("ran"));
  }
};

TEST_F(CrewCrash, ResumesAfterKillAtSomeSteps) {
  const Campaign campaign;
  SCOPED_TRACE(campaign.repeat());
  constexpr int kStride = 29;
  at_places(1 + static_cast<int>(campaign.seed() % kStride), kStride);
}

TEST_F(CrewCrash, LongResumesAfterKillAtEveryStep) {
  if (number_from("LOCKKEEPER_CREW_EVERY_STEP", 0) == 0) {
    GTEST_SKIP() << "every step takes minutes: ./dev test --long";
  }
  at_places(1, 1);
}

// Killed while its agents are in the middle of their work, again and again.
TEST_F(CrewCrash, KilledOverAndOver) {
  write_plan({{"a", {"x"}, "sleep 0.4; " + says("a", "x")},
              {"b", {"y"}, "sleep 0.2; " + says("b", "y")},
              {"c", {"x", "y"}, "sleep 0.2; " + says("c", "x")},
              {"d", {"w"}, "sleep 0.1; " + says("d", "w"), {"c"}}});
  const Campaign campaign;
  SCOPED_TRACE(campaign.repeat());
  for (unsigned round = 0; round < 200; ++round) {
    auto process = start(round == 0 ? Words{} : Words{"--resume"});
    pause_ms(static_cast<int>(campaign.seed_of(round) % 120));
    if (!process.running()) {
      if (process.wait() == 0) break;
      continue;
    }
    process.signal(SIGKILL);
    process.wait();
  }
  Answer last = run({"--resume"});
  if (last.status == 66) last = run();
  EXPECT_EQ(last.status, 0) << last.all();
  EXPECT_THAT(ran(), ElementsAre("a", "b", "c", "d"));
  expect_nothing_left();
}

// The supervisor that waits for an outsider's lock leaves the queue when its foreman is gone.
TEST_F(CrewCrash, NobodyStartsForADeadForeman) {
  stage_.expect(0, "ann", {"acquire", "x"});
  write_plan({{"a", {"x"}, says("a", "x")}});
  {
    auto process = start();
    ASSERT_TRUE(stage_.queue_grows_to(1));
    process.signal(SIGKILL);
    process.wait();
  }
  ASSERT_TRUE(eventually([&] { return stage_.waiters() == 0; }));
  stage_.expect(0, "ann", {"release", "x"});
  EXPECT_THAT(ran(), testing::IsEmpty());
  EXPECT_EQ(run({"--resume"}).status, 0);
  EXPECT_THAT(ran(), ElementsAre("a"));
}

// Foreman and supervisor are killed while the command runs: it dies too, and is tried again only if
// its budget allows, because how far it got is unknown.
TEST_F(CrewCrash, BothKilledIsAFailedAttempt) {
  write_plan(
      {{"a", {"x"}, "echo begun >> \"$RAN\"; touch m1; " + until("m2"), {}, {"retries: 0"}}});
  ASSERT_NO_FATAL_FAILURE(kill_both_at_work());
  write_text(stage_.repo() + "/m2", "");
  EXPECT_EQ(run({"--resume"}).status, 1);
  EXPECT_EQ(ending("a"), "died");
  EXPECT_THAT(ran(), ElementsAre("begun"));
}

// Its lock files are left, and the table knows nothing about them.
TEST_F(CrewCrash, C9_AfterALostStoreARunDoesNotWaitForItself) {
  write_plan({{"a", {"x"}, "touch m1; " + until("m2") + "; " + says("a", "x"), {}, {"retries: 1"}},
              {"b", {"x"}, says("b", "x")}});
  ASSERT_NO_FATAL_FAILURE(kill_both_at_work());
  ASSERT_FALSE(std::filesystem::is_empty(out() + "/locks"));
  std::filesystem::remove_all(stage_.store());
  stage_.expect(0, "", {"doctor", "--repair"});
  // Another tool's file of the same folder still counts.
  write_text(out() + "/locks/other.lock",
             R"({"agent":"other","locked_at":"2026-01-01T00:00:00Z","files":["y"],)"
             R"("expires_at":"2099-01-01T00:00:00Z"})");
  write_text(stage_.repo() + "/m2", "");
  auto again = start({"--resume"});
  ASSERT_TRUE(eventually([&] { return ran().size() == 2; })) << again.out() << again.err();
  EXPECT_EQ(again.wait(), 0) << again.err();
  EXPECT_THAT(ran(), ElementsAre("a", "b"));
  EXPECT_TRUE(exists(out() + "/locks/other.lock"));
}

}  // namespace
}  // namespace lockkeeper::stage
