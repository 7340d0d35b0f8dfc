// Ways around the commit guard, with the real git: another name for the file, commits past our
// hooks, other worktrees, pushes without them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/git_guard_testing.h"

namespace lockkeeper::stage {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kPast = "git add a && git -c core.hooksPath=/dev/null commit -q -m x";

TEST_F(GitGuard, G1_WhatAnotherAgentWroteIsNotCommittedUnderAnotherName) {
  edit("s1", "dir/d", "written by s1\n");
  stop("s1");
  const std::string before = head();
  const Answer copied = shell("s2", "cp dir/d copy && git add copy && git commit -m copied");
  EXPECT_EQ(copied.status, 1) << copied.all();
  EXPECT_THAT(copied.err, AllOf(HasSubstr("copy: a copy of dir/d, changed by claude-code (session "
                                          "s1)"),
                                HasSubstr("\n  git restore --staged -- copy\n")));
  EXPECT_THAT(messages_to("s1"), HasSubstr("wants to commit copy, a copy of dir/d"));
  shell("s2", "git reset -q");
  const Answer moved = shell("s2", "mv dir lib && git add lib/d && git commit -m moved");
  EXPECT_EQ(moved.status, 1) << moved.all();
  EXPECT_EQ(head(), before);
  // Its writer may, and then it is a copy of what everybody has.
  EXPECT_EQ(shell("s1", "git commit -q -m moved").status, 0);
  EXPECT_EQ(shell("s2", "cp lib/d again && git add again && git commit -q -m again").status, 0);
}

TEST_F(GitGuard, ACopyOfWhatIsCommittedIsNobodys) {
  stage_.file("other", "the same for all\n");
  stage_.git("repo", {"add", "-A"});
  stage_.git("repo", {"commit", "-q", "-m", "other"});
  edit("s1", "a", "the same for all\n");
  stop("s1");
  const Answer passed = shell("s2", "cp other more && git add more && git commit -q -m more");
  EXPECT_EQ(passed.status, 0) << passed.all();
}

TEST_F(GitGuard, G1_ABypassIsOnRecordAfterTheCommandThatMadeIt) {
  stage_.git("repo", {"init", "-q", "--bare", "../remote.git"});
  stage_.git("repo", {"remote", "add", "origin", "../remote.git"});
  edit("s1", "a", "of s1\n");
  stop("s1");
  EXPECT_EQ(hooked_shell("s2", kPast).status, 0);
  EXPECT_THAT(log_of_locks(), HasSubstr("bypassed"));
  EXPECT_THAT(messages_to("s1"),
              AllOf(HasSubstr("(session s2)"), HasSubstr("committed, past the commit guard, a")));
  const Answer refused = hooked_shell("s1", "git push -q origin main");
  EXPECT_EQ(refused.status, 1) << refused.all();
  EXPECT_THAT(refused.err, HasSubstr("made by claude-code (session s2) past the commit guard"));
}

TEST_F(GitGuard, G1_ABypassThatItsVictimNoticesIsOnRecord) {
  edit("s1", "a", "of s1\n");
  stop("s1");
  hook("s2", "SessionStart");
  const Json call = {
      {"tool_name", "Bash"}, {"tool_input", {{"command", kPast}}}, {"tool_use_id", "c"}};
  // Its command still runs.
  hook("s2", "PreToolUse", call);
  EXPECT_EQ(shell("s2", kPast).status, 0);
  EXPECT_EQ(shell("s1", "git commit -q --allow-empty -m y").status, 0);
  EXPECT_THAT(log_of_locks(), HasSubstr("bypassed"));
}

TEST_F(GitGuard, OnesOwnCommitPastTheGuardIsNoBypass) {
  edit("s1", "a", "of s1\n");
  stop("s1");
  EXPECT_EQ(hooked_shell("s1", kPast).status, 0);
  EXPECT_EQ(hooked_shell("s2", "git commit -q --allow-empty -m y").status, 0);
  EXPECT_THAT(log_of_locks(), Not(HasSubstr("bypassed")));
}

TEST_F(GitGuard, ACommitPastTheGuardInAnUnknownWorktreeIsNoticedInTheSameSecond) {
  // There is no table yet, so nothing is known of HEAD.
  hook("s2", "SessionStart");
  edit("s1", "a", "of s1\n");
  stop("s1");
  EXPECT_EQ(past_the_guard("git commit -q -a -m x").status, 0);
  EXPECT_EQ(shell("s2", "git commit -q --allow-empty -m y").status, 0);
  EXPECT_THAT(log_of_locks(), HasSubstr("bypassed"));
}

TEST_F(GitGuard, TheLockThatARefusalNamesEndsWithTheCommit) {
  edit("s1", "a", "of s1\n");
  stop("s1");
  const Answer refused = shell("s2", "git add a && git commit -m x");
  EXPECT_EQ(refused.status, 1);
  const std::string before = "\n  lockkeeper run ";
  const std::size_t at = refused.err.find(before);
  ASSERT_NE(at, std::string::npos) << refused.err;
  const std::string line = refused.err.substr(at + before.size());
  const Answer taken =
      shell("s2", std::string(Stage::program()) + " run " + line.substr(0, line.find('\n')));
  EXPECT_EQ(taken.status, 0) << taken.all();
  EXPECT_THAT(taken.err, HasSubstr("you hold it since"));
  edit("s1", "a", "more of s1\n");
}

TEST_F(GitGuard, ABranchOnWhichSomebodyWorksIsNotDeletedWithoutOurHook) {
  stage_.git("repo", {"init", "-q", "--bare", "../remote.git"});
  stage_.git("repo", {"remote", "add", "origin", "../remote.git"});
  stage_.git("repo", {"worktree", "add", "-q", "../other", "-b", "topic"});
  stage_.git("repo", {"push", "-q", "origin", "topic"});
  edit("s1", "a", "of s1\n", "other");
  const Answer refused = hooked_shell("s2", "git push --no-verify -q origin --delete topic");
  EXPECT_EQ(refused.status, 75) << refused.all();
  EXPECT_THAT(refused.err, AllOf(HasSubstr("session s1"), HasSubstr("branch topic")));
  hook("s1", "Stop", Json::object(), "other");
  EXPECT_EQ(hooked_shell("s2", "git push --no-verify -q origin --delete topic").status, 75)
      << "its work is not committed, and its session not over";
  hook("s1", "SessionEnd", Json::object(), "other");
  EXPECT_EQ(hooked_shell("s2", "git push --no-verify -q origin --delete topic").status, 0);
}

TEST_F(GitGuard, ACommitInAnotherWorktreeIsItsMakers) {
  edit("s2", "b", "of s2\n");
  stage_.git("repo", {"worktree", "add", "-q", "../other", "-b", "topic"});
  edit("s1", "a", "of s1\n", "other");
  EXPECT_EQ(hooked_shell("s1", "cd ../other && git commit -q -a -m work").status, 0);
  const Answer refused = hooked_shell("s2", "git -C ../other commit --amend --no-edit");
  EXPECT_EQ(refused.status, 75) << refused.all();
  EXPECT_THAT(refused.err, HasSubstr("session s1"));
}

}  // namespace
}  // namespace lockkeeper::stage
