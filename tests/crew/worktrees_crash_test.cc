// `workflow run --worktrees` is killed with -9, at each step of the foreman and at any moment of a
// supervisor. A resumed run ends as if nothing had happened: every agent's work is merged once, and
// nothing of the run is left in the repository. Skipped where tracing is not allowed.
#include <csignal>
#include <filesystem>
#include <sstream>

#include "crew/crash_stage.h"
#include "crew/tree_stage.h"

namespace lockkeeper::stage {
namespace {

using testing::ElementsAre;

class TreeCrash : public CrashStage<TreeStage> {
 protected:
  void SetUp() override {
    if (!may_trace(stage_)) GTEST_SKIP() << "this process may not trace its children";
    // c begins with the work of a, d with that of b.
    write_plan({{"a", {"x"}, "echo a >> x; " + says("a", "x"), {}, {"priority: 1"}},
                {"b", {"y"}, "echo b >> y; " + says("b", "y")},
                {"c", {"x", "z"}, "echo c >> x; " + says("c", "x")},
                {"d", {"f"}, "cat y >> f; " + says("d", "f"), {"b"}}});
  }

  Words killed_words() override { return words({"--worktrees"}); }

  void expect_goes_on() override {
    SCOPED_TRACE(at_);
    Answer answer = run({"--resume"});
    if (answer.status == 66) answer = run_trees();  // killed before there was a run
    ASSERT_EQ(answer.status, 0) << answer.all();
    expect_all_merged_once();
    EXPECT_THAT(ran(), ElementsAre("a", "b", "c", "d"));
  }

  void expect_all_merged_once() {
    EXPECT_THAT(text_of("x"), testing::AnyOf("x\na\nc\n", "x\nc\na\n"));
    EXPECT_EQ(text_of("y") + text_of("f"), "y\nb\nf\ny\nb\n");
    EXPECT_EQ(says_git({"rev-list", "--count", "--no-merges", base_ + ".."}), "4");
    expect_no_trees();
    expect_nothing_left();
  }

  static Words supervisors_of(pid_t pid) {
    const std::string file =
        "/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children";
    std::istringstream text(read_text(file));
    Words found;
    for (std::string child; text >> child;) {
      const std::string words = read_text("/proc/" + child + "/cmdline");
      if (words.find(std::string("\0keep\0", 6)) != std::string::npos) found.push_back(child);
    }
    return found;
  }

  void clean_up() override {
    std::filesystem::remove_all(out());
    std::filesystem::remove(stage_.path("ran"));
    stage_.git("repo", {"reset", "-q", "--hard", base_});
  }
};

TEST_F(TreeCrash, ResumesAfterKillAtSomeSteps) {
  const Campaign campaign;
  SCOPED_TRACE(campaign.repeat());
  constexpr int kStride = 61;
  at_places(1 + static_cast<int>(campaign.seed() % kStride), kStride);
}

TEST_F(TreeCrash, LongResumesAfterKillAtEveryStep) {
  if (number_from("LOCKKEEPER_CREW_EVERY_STEP", 0) == 0) {
    GTEST_SKIP() << "every step takes minutes: ./dev test --long";
  }
  at_places(1, 1);
}

// At any moment: while a worktree is made, an agent works, its work is committed or merged.
TEST_F(TreeCrash, KilledOverAndOver) {
  const Campaign campaign;
  SCOPED_TRACE(campaign.repeat());
  for (unsigned round = 0; round < 100; ++round) {
    auto process = round == 0 ? start_trees() : start({"--resume"});
    pause_ms(static_cast<int>(campaign.seed_of(round) % 250));
    if (!process.running()) {
      if (process.wait() == 0) break;
      continue;
    }
    process.signal(SIGKILL);
    process.wait();
  }
  at_ = "over and over";
  expect_goes_on();
}

// A supervisor that is killed has failed its attempt; the next one finds what it has left.
TEST_F(TreeCrash, SupervisorsAreKilledOverAndOver) {
  const Campaign campaign;
  SCOPED_TRACE(campaign.repeat());
  write_plan({{"a", {"x"}, "echo a > x", {}, {"retries: 100"}},
              {"b", {"x", "y"}, "cat x > y", {"a"}, {"retries: 100"}}});
  auto process = start_trees();
  for (unsigned round = 0; round < 25 && process.running(); ++round) {
    pause_ms(static_cast<int>(campaign.seed_of(round) % 120));
    for (const std::string& each : supervisors_of(process.pid())) {
      ::kill(std::stoi(each), SIGKILL);
    }
  }
  EXPECT_EQ(process.wait(), 0) << process.out() << process.err();
  EXPECT_EQ(text_of("x") + text_of("y"), "a\na\n");
  expect_no_trees();
  expect_nothing_left();
}

}  // namespace
}  // namespace lockkeeper::stage
