// kill -9 on both sides: of the document's commands between their two steps and while they hold,
// and of the program at every system call with which it takes or gives back a lock.
#include <csignal>

#include "interop/mkdir_document.h"
#include "support/campaign.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

constexpr int kKilled = 128 + SIGKILL;

class MkdirKill : public MkdirDocument {
 protected:
  bool may_trace() {
    Launch launch = stage_.command({"true"});
    launch.traced = true;
    return Process(std::move(launch)).step([](const SystemCall&) { return true; }) != 125;
  }
  // Its exit status, killed before or after its N-th system call that counts.
  int killed_at(int place, bool after, const Words& words) {
    Launch launch = stage_.launch("ann", words);
    launch.traced = true;
    Process process(std::move(launch));
    const int status = process.step([&](const SystemCall& call) {
      if (call.number != place || call.done != after) return true;
      at_ = call.name + (after ? " done, " : " not done, ") + std::to_string(place);
      return false;
    });
    out_ = process.out();
    return status;
  }
  // At every place, or at every `step`-th from a random one.
  void at_places(int step, const Words& words, const std::function<void(bool acquired)>& check) {
    if (!may_trace()) GTEST_SKIP() << "this process may not trace its children";
    const Campaign campaign;
    int places = 0;
    for (const bool after : {false, true}) {
      for (int place = 1 + static_cast<int>(campaign.seed() % static_cast<unsigned>(step));;
           place += step) {
        const int status = killed_at(place, after, words);
        SCOPED_TRACE(campaign.repeat() + "\nat " + at_);
        ASSERT_THAT(status, testing::AnyOf(0, kKilled)) << out_;
        ++places;
        check(status == 0 || out_ == "ACQUIRED\n");
        if (status == 0 || HasFatalFailure()) break;
      }
    }
    RecordProperty("places", places);
  }
  static int step() { return static_cast<int>(number_from("LOCKKEEPER_INTEROP_STEP", 7)); }

  std::string at_, out_;
};

TEST_F(MkdirKill, F1_BashKilledBetweenItsTwoStepsIsAnUnknownHolder) {
  task(0, "setup", {"acquire", "T-0"});
  EXPECT_EQ(stage_
                .finish(script(std::string(kDocumentAcquireFile) + "kill -9 $$\n" +
                               kDocumentWriteFileOwner))
                .status,
            kKilled);
  EXPECT_EQ(stage_
                .finish(script(std::string(kDocumentAcquireTask) + "kill -9 $$\n" +
                               kDocumentWriteTaskOwner))
                .status,
            kKilled);
  EXPECT_TRUE(exists(lock("files/src__a.py")));
  EXPECT_FALSE(exists(lock("files/src__a.py/owner")));
  EXPECT_THAT(task(75, "ann", {"lock-file", "T-1", "src/a.py", "--retry", "0"}).err,
              HasSubstr("unknown"));
  EXPECT_EQ(task(75, "ann", {"acquire", "T-9"}).out, "BUSY\n");
  EXPECT_EQ(stage_.as("ann", {"run", "src/a.py", "--", "true"}).status, 75);
  // Plain sweep cannot prove it dead; the task's return is the orchestrator's word.
  task(0, "lead", {"sweep"});
  EXPECT_EQ(task(75, "ann", {"acquire", "T-9"}).out, "BUSY\n");
  task(0, "lead", {"sweep", "--returned", "T-9"});
  task(0, "ann", {"acquire", "T-9"});
  EXPECT_EQ(task(75, "ann", {"lock-file", "T-1", "src/a.py", "--retry", "0"}).out, "BUSY\n");
  task(0, "lead", {"sweep", "--all"});
  task(0, "ann", {"acquire", "T-9", "--file", "src/a.py"});
}

TEST_F(MkdirKill, F1_I1_OursKilledAtAnyStepOfTaking) {
  task(0, "setup", {"acquire", "T-0"});
  at_places(step(), {"task", "acquire", "T-1", "--file", "src/a.py"}, [&](bool acquired) {
    const std::string theirs = foreign_file("src/a.py");
    if (acquired) {
      EXPECT_EQ(theirs, "BUSY") << "I1, I5: it was granted";
    }
    if (theirs == "ACQUIRED") {
      EXPECT_EQ(task(75, "bob", {"lock-file", "T-2", "src/a.py", "--retry", "0"}).out, "BUSY\n");
      release_file("src/a.py");
    }
    // Whatever it left is freed by the orchestrator's word, and then everybody may go on.
    task(0, "lead", {"sweep", "--returned", "T-1"});
    EXPECT_EQ(foreign_file("src/a.py"), "ACQUIRED");
    release_file("src/a.py");
    task(0, "bob", {"acquire", "T-1", "--file", "src/a.py"});
    task(0, "bob", {"release", "T-1"});
    EXPECT_TRUE(std::filesystem::is_empty(lock("files")));
  });
}

TEST_F(MkdirKill, F1_I1_OursKilledAtAnyStepOfGivingBack) {
  task(0, "setup", {"acquire", "T-0"});
  task(0, "ann", {"acquire", "T-1", "--file", "src/a.py"});
  at_places(step(), {"task", "release", "T-1"}, [&](bool) {
    // Ours again or not: never both, and it can always be given back for good.
    const std::string theirs = foreign_file("src/a.py");
    const Json leases = stage_.json("x", {"list", "--agent", "ann"}).json()["leases"];
    if (theirs == "ACQUIRED") {
      for (const Json& lease : leases) EXPECT_NE(lease["resources"][0]["key"], "src/a.py") << "I1";
      release_file("src/a.py");
    }
    task(0, "lead", {"sweep", "--returned", "T-1"});
    task(0, "ann", {"acquire", "T-1", "--file", "src/a.py"});
  });
}

TEST_F(MkdirKill, F1_I1_KilledWhileTheyHoldOnBothSides) {
  task(0, "setup", {"acquire", "T-0"});
  const std::string hold =
      "exec 9>guard; flock -n 9 || echo x >>violations; echo in >>inside; sleep 60";
  for (int round = 0; round < 6; ++round) {
    std::filesystem::remove(stage_.repo() + "/inside");
    Launch bash = script("X=$(" + std::string(kDocumentAcquireFile) +
                         ")\n[ \"$X\" = ACQUIRED ] || exit 75\n" + "LOCK_NAME=src__a.py\n" +
                         kDocumentWriteFileOwner + hold);
    Launch ours = stage_.launch("ann", {"run", "-q", "src/a.py", "--", "bash", "-c", hold});
    Process first(round % 2 == 0 ? std::move(bash) : std::move(ours));
    Process second(round % 2 == 0 ? std::move(ours) : std::move(bash));
    ASSERT_TRUE(eventually([&] { return exists(stage_.repo() + "/inside"); }));
    ASSERT_TRUE(eventually([&] { return first.running() != second.running(); }));
    Process& loser = first.running() ? second : first;
    Process& winner = first.running() ? first : second;
    EXPECT_EQ(loser.wait(), 75) << loser.err();
    winner.signal_group(SIGKILL);
    EXPECT_EQ(winner.wait(), kKilled);
    // What they started dies a moment after them.
    ASSERT_TRUE(eventually([&] {
      return stage_.finish(stage_.command({"flock", "-n", "guard", "true"})).status == 0;
    }));
    // Ours frees itself; the other's folder stays until somebody is told to free it.
    const bool ours_won = (&winner == &second) == (round % 2 == 0);
    if (!ours_won) {
      EXPECT_EQ(stage_.as("bob", {"acquire", "-q", "src/a.py"}).status, 75);
      task(0, "lead", {"sweep", "--returned", "T-9"});
    }
    EXPECT_TRUE(eventually([&] { return stage_.as("bob", {"acquire", "src/a.py"}).status == 0; }));
    stage_.expect(0, "bob", {"release", "src/a.py"});
    EXPECT_FALSE(exists(lock("files/src__a.py")));
  }
  EXPECT_EQ(read_text(stage_.repo() + "/violations"), "");
}

TEST_F(MkdirKill, F17_AttachedTasksAreSweptWhenTheirProcessIsGone) {
  Process agent(stage_.command({"sleep", "600"}));
  const std::string pid = std::to_string(agent.pid());
  task(0, "ann", {"acquire", "T-1", "--attach", pid});
  task(0, "bob", {"acquire", "T-2"});
  task(0, "lead", {"sweep"});
  EXPECT_EQ(stage_.list()["leases"].size(), 2U) << "the living stay";
  agent.signal(SIGKILL);
  agent.wait();
  task(0, "lead", {"sweep", "--dead"});
  const Json leases = stage_.list()["leases"];
  ASSERT_EQ(leases.size(), 1U);
  EXPECT_EQ(leases[0]["agent"], "bob");
  EXPECT_FALSE(exists(lock("tasks/T-1")));
}

}  // namespace
}  // namespace lockkeeper::stage
