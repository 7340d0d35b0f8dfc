// Several commands of one caller, and what happens to a command whose lock or keeper is gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;
using testing::Not;

class RunParts : public testing::Test {
 protected:
  RunParts() {
    stage_.env["LK"] = Stage::program();
    stage_.env["LOCKKEEPER_SESSION"] = "abc";
  }

  std::string file(const std::string& name) const { return stage_.repo() + "/" + name; }
  bool appears(const std::string& name) const {
    return eventually([&] { return read_text(file(name)).ends_with("\n"); });
  }
  pid_t number_in(const std::string& name) const {
    EXPECT_TRUE(appears(name));
    return static_cast<pid_t>(std::atoi(read_text(file(name)).c_str()));
  }
  // A run whose command says that it is in, and stays until the file `NAME-stop` is there.
  Process holds(const std::string& name, const std::string& resource, const Words& options = {}) {
    Words words{"run"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {resource, "--", "sh", "-c",
                               "echo $$ >" + name + "-in; while [ ! -e " + name +
                                   "-stop ]; do sleep 0.02; done"});
    return stage_.start("ann", words);
  }
  void stop(const std::string& name) { write_text(file(name + "-stop"), ""); }

  Stage stage_;
};

TEST_F(RunParts, A1_TwoRunsOfOneSessionExcludeEachOther) {
  Process first = holds("one", "db:migration-slot");
  ASSERT_TRUE(appears("one-in")) << first.err();
  const Answer refused = stage_.as("ann", {"run", "db:migration-slot", "--", "true"});
  EXPECT_EQ(refused.status, 75) << refused.all();
  Process second = holds("two", "db:migration-slot", {"--wait=60s"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  stop("one");
  EXPECT_EQ(first.wait(), 0) << first.err();
  ASSERT_TRUE(appears("two-in")) << second.err();
  // The end of the first one frees nothing of the second.
  EXPECT_EQ(stage_.as("bob", {"acquire", "db:migration-slot"}).status, 75);
  stop("two");
  EXPECT_EQ(second.wait(), 0) << second.err();
}

TEST_F(RunParts, A1_ARunIsNotInTheWayOfItsOwnSession) {
  stage_.expect(0, "ann", {"acquire", "src/"});
  const Answer inside = stage_.as("ann", {"run", "src/a.c", "--", "true"});
  EXPECT_EQ(inside.status, 0) << inside.all();
  // What the session holds outlives the command.
  EXPECT_EQ(stage_.as("bob", {"acquire", "src/b.c"}).status, 75);
}

TEST_F(RunParts, A1_WhatASharedLeaseWasToldLastsAsLongAsItWasTold) {
  stage_.expect(0, "ann", {"acquire", "a.c", "--attach", std::to_string(::getpid())});
  Process keeper(stage_.command({"sleep", "600"}));
  const Answer renewed =
      stage_.as("ann", {"acquire", "a.c", "--attach", std::to_string(keeper.pid())});
  EXPECT_EQ(renewed.status, 0) << renewed.all();
  keeper.signal(SIGKILL);
  keeper.wait();
  EXPECT_EQ(stage_.as("bob", {"acquire", "a.c"}).status, 75) << "this process keeps it";
}

TEST_F(RunParts, A2_SiblingsInsideOneRunExcludeEachOther) {
  const std::string guarded =
      "\"$LK\" run --wait=60s src/a.c -- sh -c 'mkdir inside || echo both >>both; sleep 0.1; "
      "rmdir inside; echo done >>done'";
  const Answer answer = stage_.as("ann", {"run", "src/", "--", "sh", "-c",
                                          guarded + " & " + guarded + "; s=$?; wait; exit $s"});
  EXPECT_EQ(answer.status, 0) << answer.all();
  EXPECT_EQ(read_text(file("both")), "");
  EXPECT_EQ(read_text(file("done")), "done\ndone\n");
}

TEST_F(RunParts, A5_WhatTheCommandStartedEndsWithALostLease) {
  // One grandchild stays in the group, one has a session of its own, and neither listens.
  const std::string script =
      "trap '' TERM; sh -c 'echo $$ >in-group; sleep 600' & "
      "setsid sh -c 'trap \"\" TERM; echo $$ >outside; exec sleep 600' & "
      "echo $$ >ready; exec sleep 600";
  Process run = stage_.start("ann", {"run", "a", "--", "sh", "-c", script});
  const pid_t in_group = number_in("in-group");
  const pid_t outside = number_in("outside");
  stage_.expect(0, "boss", {"break", "a", "--reason", "urgent"});
  EXPECT_EQ(run.wait(), 79) << run.err();
  EXPECT_EQ(state_of(in_group), '\0');
  EXPECT_EQ(state_of(outside), '\0');
}

TEST_F(RunParts, A11_WhatIsLeftRunningEndsBeforeTheLockIsFree) {
  const Answer answer =
      stage_.as("ann", {"run", "a", "--", "sh", "-c", "setsid sleep 600 & echo $! >left; exit 3"});
  EXPECT_EQ(answer.status, 3) << answer.all();
  EXPECT_EQ(state_of(number_in("left")), '\0');
  EXPECT_THAT(answer.err, HasSubstr("left running"));
  const Answer kept = stage_.as("ann", {"run", "--leave-running", "a", "--", "sh", "-c",
                                        "setsid sleep 600 >/dev/null 2>&1 & echo $! >left"});
  EXPECT_EQ(kept.status, 0) << kept.all();
  const pid_t left = number_in("left");
  EXPECT_NE(state_of(left), '\0');
  ::kill(left, SIGKILL);
}

TEST_F(RunParts, A11_ACommandWhoseRunIsKilledIsToldToEnd) {
  Process run = stage_.start("ann", {"run", "a", "--", "sh", "-c",
                                     "trap 'echo told >told; exit 0' TERM; echo $$ >ready; "
                                     "while :; do sleep 0.02; done"});
  ASSERT_TRUE(appears("ready"));
  run.signal(SIGKILL);
  EXPECT_EQ(run.wait(), 137);
  EXPECT_TRUE(appears("told"));
  EXPECT_EQ(stage_.as("bob", {"acquire", "a", "--wait=60s"}).status, 0);
}

// Whoever comes next starts a new table that does not know the lease.
TEST_F(RunParts, A18_ARunWhoseRepositoryIsDeletedStops) {
  STAGE_IS_LOCAL("the table is deleted");
  Process run = stage_.start("ann", {"run", "a", "--", "sh", "-c",
                                     "trap 'echo told >told; exit 0' TERM; echo $$ >ready; "
                                     "while :; do sleep 0.02; done"});
  ASSERT_TRUE(appears("ready"));
  std::filesystem::remove_all(file(".git"));
  EXPECT_EQ(run.wait(), 79) << run.err();
  EXPECT_EQ(read_text(file("told")), "told\n");
}

TEST_F(RunParts, A18_AShortRunNoticesAtItsEnd) {
  STAGE_IS_LOCAL("the table is deleted");
  const Answer answer = stage_.as("ann", {"run", "a", "--", "rm", "-rf", file(".git")});
  EXPECT_EQ(answer.status, 79) << answer.all();
}

}  // namespace
}  // namespace lockkeeper::stage
