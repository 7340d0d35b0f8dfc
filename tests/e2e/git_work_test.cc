// Whose work a commit has, after it was put away and brought back, or left behind.
#include <gmock/gmock.h>

#include "e2e/git_guard_testing.h"

namespace lockkeeper::stage {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using GitWork = GitGuard;

TEST_F(GitWork, G1_AToolThatPutsChangesAwayAndBringsThemBackEndsNothing) {
  edit("s1", "a", "of s1\n");
  stop("s1");
  // As the tools do that run hooks on what is staged alone. Its checkout runs our hook.
  const Answer tool =
      shell("s2", "git diff >../patch && git checkout -q -- . && git apply ../patch");
  EXPECT_EQ(tool.status, 0) << tool.all();
  const Answer refused = shell("s2", "git commit -a -m x");
  EXPECT_EQ(refused.status, 1) << refused.all();
  EXPECT_THAT(refused.err, HasSubstr("a: changed by claude-code (session s1)"));
  EXPECT_EQ(shell("s1", "git commit -q -a -m x").status, 0);
}

TEST_F(GitWork, G1_WhatComesBackInTheSameCallIsStillItsWriters) {
  edit("s1", "a", "of s1\n");
  stop("s1");
  EXPECT_EQ(shell("s1", "git stash -q").status, 0);
  EXPECT_EQ(shell("s2", "git commit -q --allow-empty -m x").status, 0);
  EXPECT_EQ(shell("s2", "git stash pop -q && git commit -a -m x").status, 1);
}

TEST_F(GitWork, WhatASessionLeftIsCommittedOnRecord) {
  edit("s1", "a", "of s1\n");
  stop("s1");
  hook("s1", "SessionEnd");
  edit("s2", "b", "of s2\n");
  const Answer passed = shell("s2", "git commit -q -a -m both");
  EXPECT_EQ(passed.status, 0) << passed.all();
  EXPECT_THAT(passed.err, AllOf(HasSubstr("what others have left"),
                                HasSubstr("a: left uncommitted by claude-code (session s1)")));
  EXPECT_THAT(log_of_locks(), HasSubstr("warned"));
}

TEST_F(GitWork, WhatAPersonRestoresIsStillItsWriters) {
  edit("s1", "a", "of s1\n");
  stop("s1");
  EXPECT_EQ(past_the_guard("git checkout -q -- a").status, 0);
  hook("s2", "UserPromptSubmit", {{"prompt", "go on"}});
  const Answer restored = stage_.as("", {"recover", "restore", "a"});
  EXPECT_EQ(restored.status, 0) << restored.all();
  EXPECT_EQ(shell("s2", "git commit -a -m x").status, 1);
  EXPECT_EQ(shell("s1", "git commit -q -a -m x").status, 0);
}

}  // namespace
}  // namespace lockkeeper::stage
