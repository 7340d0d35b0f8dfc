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

// The commit guard's hook runs first, and must not take from the agent's hook what it has to see.
TEST_F(GitWork, WhoDiscardsWorkIsRecordedInAGuardedShell) {
  stage_.file("../discard.sh", "git checkout -q -- .\n");
  edit("s1", "a", "of s1\n");
  stop("s1");
  EXPECT_EQ(hooked_shell("s2", "sh ../discard.sh").status, 0);
  EXPECT_THAT(stage_.as("", {"recover"}).out, HasSubstr("session s2"));
  EXPECT_THAT(messages_to("s1"), HasSubstr("a"));
  edit("s3", "b", "of s3\n");
  EXPECT_EQ(hooked_shell("s3", "git checkout -q -- b").status, 0);
  EXPECT_THAT(stage_.as("", {"recover"}).out, testing::Not(HasSubstr("b@"))) << "its own";
}

TEST_F(GitWork, AHookThatWorksInAnotherRepositoryMeetsItsHooks) {
  stage_.git(".", {"init", "-q", "other"});
  stage_.file("../other/.git/hooks/pre-commit", "#!/bin/sh\necho of-the-other >>../ran\n");
  stage_.file(".git/hooks/pre-commit", "#!/bin/sh\necho of-this >>../ran\n");
  stage_.file(".git/hooks/post-commit",
              "#!/bin/sh\nunset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE GIT_PREFIX\n"
              "echo path=$(git config core.hooksPath) >>../ran\n"
              "cd ../other && git commit -q --allow-empty -m x\n");
  for (const char* hook :
       {"../other/.git/hooks/pre-commit", ".git/hooks/pre-commit", ".git/hooks/post-commit"}) {
    std::filesystem::permissions(stage_.repo() + "/" + hook, std::filesystem::perms(0755));
  }
  ASSERT_EQ(stage_.as("", {"install", "git"}).status, 0);
  const Answer committed = past_the_guard("git commit -q --allow-empty -m x");
  EXPECT_EQ(committed.status, 0) << committed.all();
  EXPECT_EQ(text_of(stage_.path("ran")),
            "of-this\npath=" + stage_.repo() + "/.git/hooks\nof-the-other\n");
}

}  // namespace
}  // namespace lockkeeper::stage
