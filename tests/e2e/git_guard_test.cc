// The commit guard with the real git: two agents of Claude Code in one checkout, their hooks, and
// what their shells may commit and push.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "e2e/git_guard_testing.h"

namespace lockkeeper::stage {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(GitGuard, G1_WhatAnotherAgentWroteIsNotSweptUp) {
  edit("s1", "a", "of s1\n");
  stop("s1");
  edit("s2", "b", "of s2\n");
  const std::string before = head();
  const Answer refused = shell("s2", "git add -A && git commit -m all");
  EXPECT_EQ(refused.status, 1) << refused.all();
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("a: changed by claude-code (session s1)"),
                    HasSubstr("\n  git restore --staged -- a\n"), Not(HasSubstr("b: "))));
  EXPECT_EQ(head(), before);
  EXPECT_THAT(log_of_locks(), HasSubstr("\"commit\""));
  // The command that the refusal names helps, and what is left is committed.
  const Answer passed = shell("s2", "git restore --staged -- a && git commit -q -m mine");
  EXPECT_EQ(passed.status, 0) << passed.all();
  EXPECT_EQ(shell("s2", "git show --name-only --format=").out, "b\n");
  EXPECT_EQ(text_of(stage_.repo() + "/a"), "of s1\n");
  EXPECT_THAT(messages_to("s1"), HasSubstr("wants to commit a"));
  // Whoever wrote it commits it.
  EXPECT_EQ(shell("s1", "git commit -q -a -m mine").status, 0);
  EXPECT_EQ(shell("s2", "echo x >>a; git commit -q -a -m later").status, 0);
}

TEST_F(GitGuard, G1_AFileThatTwoHaveChangedIsNotCommittedByOneAlone) {
  edit("s1", "a", "of s1\n");
  stop("s1");
  // s2 is told of the change, and may then edit the file.
  hook("s2", "UserPromptSubmit", {{"prompt", "go on"}});
  edit("s2", "a", "of s1\nof s2\n");
  stop("s2");
  const Answer refused = shell("s2", "git commit -m x -- a");
  EXPECT_EQ(refused.status, 1) << refused.all();
  EXPECT_THAT(refused.err, HasSubstr("a: changed by claude-code (session s1), not committed"));
  EXPECT_EQ(shell("s1", "git commit -m x -- a").status, 1);
  const Answer taken =
      shell("s2", std::string(Stage::program()) + " acquire a >/dev/null && git commit -q -a -m x");
  EXPECT_EQ(taken.status, 0) << taken.all();
  EXPECT_THAT(taken.err, HasSubstr("you hold it since"));
}

TEST_F(GitGuard, D9_WithoutAHomeItSaysThatItIsNotAtWork) {
  STAGE_IS_LOCAL("the home says which realm of the hub it is");
  stage_.env.erase("HOME");
  const Answer run = stage_.as("ann", {"run", "a", "--", "true"});
  EXPECT_EQ(run.status, 0) << run.all();
  EXPECT_THAT(run.err, HasSubstr("the commit guard is not at work"));
  EXPECT_THAT(run.err, HasSubstr("HOME"));
}

TEST_F(GitGuard, G1_NoVerifyAllAndPathsAreJudgedTheSame) {
  edit("s1", "a", "of s1\n");
  stop("s1");
  edit("s2", "b", "of s2\n");
  const std::string before = head();
  for (const char* command :
       {"git commit --no-verify -a -m x", "git commit -m x -- a", "git commit -m x a b",
        "git add . && git commit -n -m x; s=$?; git reset -q; exit $s",
        "git commit -a --amend -m x", "cd dir && git commit -a -m x"}) {
    const Answer refused = shell("s2", command);
    EXPECT_EQ(refused.status, 1) << command << refused.all();
    EXPECT_THAT(refused.err, HasSubstr("a: changed by")) << command;
    EXPECT_EQ(head(), before) << command;
  }
  const Answer all = shell("s2", "git commit -a -m x");
  EXPECT_THAT(all.err, HasSubstr("\n  git commit -- b\n"));
}

TEST_F(GitGuard, G1_ADeletionAndANewFileAreChangesToo) {
  edit("s1", "new", "of s1\n");
  stop("s1");
  EXPECT_EQ(shell("s2", "git add -A && git commit -m x").status, 1);
  EXPECT_EQ(shell("s2", "git reset -q && git commit --allow-empty -q -m x").status, 0);
  edit("s1", "a", "of s1\n");
  stop("s1");
  EXPECT_EQ(shell("s2", "git rm -q --cached a && git commit -m x").status, 1);
}

TEST_F(GitGuard, G1_AConfirmedEditIsHeldUntilItsTurnIsOver) {
  edit("s1", "a", "of s1\n");
  const Answer refused = shell("s2", "git commit -a -m x");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("a: being edited by claude-code (session s1)"));
  EXPECT_EQ(shell("s1", "git commit -q -a -m x").status, 0);
}

TEST_F(GitGuard, ASubagentsWorkIsItsSessions) {
  const std::string file = stage_.repo() + "/a";
  Json call = {{"tool_name", "Edit"},
               {"tool_input", {{"file_path", file}, {"old_string", "a"}, {"new_string", "b"}}},
               {"tool_use_id", "t"},
               {"agent_id", "sub"},
               {"agent_type", "general"}};
  hook("s1", "PreToolUse", call);
  stage_.file("a", "of the subagent\n");
  hook("s1", "PostToolUse", call);
  EXPECT_EQ(shell("s2", "git commit -a -m x").status, 1);
  EXPECT_EQ(shell("s1", "git commit -q -a -m x").status, 0);
}

TEST_F(GitGuard, ALeaseOnPurposeCountsIfItIsOlderThanTheChange) {
  stage_.file("a", "changed first\n");
  stage_.expect(0, "ann", {"acquire", "a", "--reason", "careful"});
  const Answer earlier = shell("s1", "git commit -q -a -m earlier");
  EXPECT_EQ(earlier.status, 0) << earlier.all();
  // Files have their times from the kernel, a tick behind.
  pause_ms(20);
  stage_.file("a", "changed later\n");
  const Answer refused = shell("s1", "git commit -a -m later");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("a: locked by ann"), HasSubstr("reason \"careful\"")));
}

TEST_F(GitGuard, WhoeverLocksTheFileMayCommitWhatAnotherLeftBehind) {
  edit("s1", "a", "of s1\n");
  stop("s1");
  hook("s1", "SessionEnd");
  const Answer passed = shell(
      "s2", std::string(Stage::program()) +
                " acquire a --reason 'its agent is gone' >/dev/null && git commit -q -a -m x");
  EXPECT_EQ(passed.status, 0) << passed.all();
  EXPECT_THAT(passed.err, HasSubstr("you hold it since"));
  EXPECT_THAT(log_of_locks(), HasSubstr("warned"));
}

TEST_F(GitGuard, AHolderInAnotherWorktreeIsAWarning) {
  stage_.git("repo", {"worktree", "add", "-q", "../other", "-b", "other"});
  edit("s1", "a", "of s1\n", "other");
  stage_.file("a", "of s2\n");
  const Answer passed = shell("s2", "git commit -q -a -m x");
  EXPECT_EQ(passed.status, 0);
  EXPECT_THAT(passed.err, HasSubstr("in another worktree"));
  EXPECT_EQ(shell("s1", "git commit -q -a -m x", "other").status, 0);
}

TEST_F(GitGuard, APersonIsWarnedAndTheSettingsDecide) {
  edit("s1", "a", "of s1\n");
  stop("s1");
  shell("s1", "true");
  const std::string commit = ". " + env_file("s1") + "; git commit -q -a -m x";
  stage_.file("lockkeeper.toml", "[git]\npeople = \"block\"\n");
  EXPECT_EQ(past_the_guard(commit).status, 1);
  stage_.file("lockkeeper.toml", "[git]\npolicy = \"off\"\n");
  const Answer warned = past_the_guard(commit);
  EXPECT_EQ(warned.status, 0);
  EXPECT_THAT(warned.err, HasSubstr("a: changed by claude-code (session s1)"));
  edit("s1", "a", "more of s1\n");
  const Answer off = shell("s2", "git commit -q -a -m x");
  EXPECT_EQ(off.status, 0);
  EXPECT_EQ(off.err, "");
}

TEST_F(GitGuard, NothingOfAPausedFeatureIsCommitted) {
  stage_.expect(0, "lead", {"pause", "F-1", "--reason", "the plan changes"});
  stage_.file("a", "x\n");
  const Answer refused = shell("s1", "LOCKKEEPER_FEATURE=F-1 git commit -a -m x");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("F-1"));
  stage_.expect(0, "lead", {"resume", "F-1"});
  EXPECT_EQ(shell("s1", "LOCKKEEPER_FEATURE=F-1 git commit -q -a -m x").status, 0);
}

TEST_F(GitGuard, WhatGitReplaysIsNeverRefusedButRecorded) {
  shell("s2", "git checkout -q -b later && echo later >dir/d && git commit -q -a -m later");
  shell("s2", "git checkout -q -b topic main && echo topic >a && git commit -q -a -m topic");
  shell("s2", "git checkout -q main && echo main >b && git commit -q -a -m main");
  stage_.expect(0, "ann", {"acquire", "a", "b", "c"});
  for (const char* command :
       {"git merge -q --no-edit topic", "git reset -q --hard HEAD^ && git cherry-pick topic",
        "git revert --no-edit HEAD", "git checkout -q topic && git rebase -q main",
        "git checkout -q main && git merge -q --ff-only topic",
        "git checkout -q later && git rebase -q main",
        "echo c >c && git stash -q && git rebase -q HEAD^ && git stash drop -q"}) {
    const Answer passed = shell("s2", command);
    EXPECT_EQ(passed.status, 0) << command << passed.all();
    EXPECT_FALSE(std::filesystem::exists(stage_.repo() + "/.git/rebase-merge")) << command;
  }
  for (const char* what : {"\"merge\"", "\"cherry-pick\"", "\"revert\"", "\"rebase\""}) {
    EXPECT_THAT(log_of_locks(), HasSubstr(what));
  }
}

// Git has ended before the commit: a refusal leaves nothing half done.
TEST_F(GitGuard, WhatIsPickedWithoutACommitIsJudgedLikeAnyOther) {
  shell("s2", "git checkout -q -b topic && echo topic >a && git commit -q -a -m topic");
  shell("s2", "git checkout -q main");
  stage_.expect(0, "ann", {"acquire", "a"});
  pause_ms(20);
  for (const char* command : {"git cherry-pick -n topic", "git merge -q --squash topic"}) {
    EXPECT_EQ(shell("s2", command).status, 0) << command;
    const Answer refused = shell("s2", "git commit -m x");
    EXPECT_EQ(refused.status, 1) << command << refused.all();
    EXPECT_THAT(refused.err, HasSubstr("a: locked by ann")) << command;
    EXPECT_EQ(past_the_guard("git reset -q --hard").status, 0);
  }
}

TEST_F(GitGuard, G1_WhatIsSweptUpInTheMiddleOfARebaseIsRecorded) {
  shell("s2", "echo mine >b && git commit -q -a -m mine");
  edit("s1", "a", "of s1\n");
  edit("s1", "c", "of s1\n");
  stop("s1");
  const Answer stopped = shell("s2",
                               "git stash -q && GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/' git "
                               "rebase -q -i HEAD^ && git stash pop -q");
  EXPECT_EQ(stopped.status, 0) << stopped.all();
  EXPECT_EQ(shell("s2", "git commit -q -m swept -- a").status, 0);
  EXPECT_THAT(log_of_locks(), HasSubstr("\"resources\":[\"a\"]"));
  EXPECT_EQ(shell("s2", "git commit -q -n -m swept -- c && git rebase --continue").status, 0);
  const std::string log = log_of_locks();
  const std::size_t at = log.find("\"rebase\"");
  ASSERT_NE(at, std::string::npos);
  EXPECT_THAT(log.substr(log.rfind('\n', at) + 1), HasSubstr("\"resources\":[\"c\"]"));
}

TEST_F(GitGuard, APatchIsAppliedAndRecorded) {
  stage_.file("a", "patched\n");
  shell("s2", "git commit -q -a -m x && git format-patch -q -1 -o .. && git reset -q --hard HEAD^");
  stage_.expect(0, "ann", {"acquire", "a"});
  const Answer passed = shell("s2", "git am -q ../0001-x.patch");
  EXPECT_EQ(passed.status, 0) << passed.all();
  EXPECT_THAT(log_of_locks(), HasSubstr("\"am\""));
}

TEST_F(GitGuard, MergingMainWhileSomebodyWorksOnAFileOfMainPasses) {
  stage_.git("repo", {"worktree", "add", "-q", "../other", "-b", "other"});
  stage_.file("a", "of main\n");
  shell("s1", "git commit -q -a -m main");
  edit("s1", "a", "more of main\n");
  std::ofstream(stage_.path("other/b")) << "of other\n";
  EXPECT_EQ(shell("s2", "git commit -q -a -m other", "other").status, 0);
  const Answer merged = shell("s2", "git merge -q --no-edit main", "other");
  EXPECT_EQ(merged.status, 0) << merged.all();
}

TEST_F(GitGuard, UnderRunGitIsGuarded) {
  edit("s1", "a", "of s1\n");
  stop("s1");
  // What is named is not refused before: the file may have been staged long ago.
  const Answer refused =
      stage_.as("builder", {"run", "b", "--", "sh", "-c", "git add a && git commit -m x"});
  EXPECT_EQ(refused.status, 1) << refused.all();
  EXPECT_THAT(refused.err, HasSubstr("a: changed by claude-code (session s1)"));
  const Answer inside = stage_.as(
      "builder", {"run", "b", "--", "sh", "-c", "echo mine >b; git commit -q -m mine -- b"});
  EXPECT_EQ(inside.status, 0) << inside.all();
}

TEST_F(GitGuard, ABypassIsNoticedAtTheNextHookAndNotPushed) {
  stage_.git("repo", {"init", "-q", "--bare", "../remote.git"});
  stage_.git("repo", {"remote", "add", "origin", "../remote.git"});
  EXPECT_EQ(shell("s2", "git commit --allow-empty -q -m seen && git push -q origin main").status,
            0);
  edit("s1", "a", "of s1\n");
  stop("s1");
  EXPECT_EQ(shell("s2", "git commit -a -m x").status, 1);
  EXPECT_EQ(shell("s2", "git -c core.hooksPath=/dev/null commit -q -a -m x").status, 0);
  const Answer refused = shell("s2", "git push -q origin main");
  EXPECT_EQ(refused.status, 1) << refused.all();
  EXPECT_THAT(refused.err, HasSubstr("what the commit guard had refused"));
  EXPECT_THAT(log_of_locks(), HasSubstr("bypassed"));
}

TEST_F(GitGuard, TheFirstBypassInAWorktreeIsNoticedToo) {
  edit("s1", "a", "of s1\n");
  stop("s1");
  EXPECT_EQ(shell("s2", "git -c core.hooksPath=/dev/null commit -q -a -m x").status, 0);
  EXPECT_EQ(shell("s2", "git commit -q --allow-empty -m y").status, 0);
  EXPECT_THAT(log_of_locks(), HasSubstr("bypassed"));
}

TEST_F(GitGuard, ACommitThatGitCommitDidNotMakeIsNoticed) {
  edit("s1", "a", "of s1\n");
  stop("s1");
  const Answer moved = shell(
      "s2",
      "git add a && c=$(git commit-tree -p HEAD -m x $(git write-tree)) && git reset -q --soft $c");
  EXPECT_EQ(moved.status, 0) << moved.all();
  EXPECT_EQ(shell("s2", "git commit -q --allow-empty -m y").status, 0);
  EXPECT_THAT(log_of_locks(), HasSubstr("bypassed"));
}

TEST_F(GitGuard, ACommitInARebaseThatWasGivenUpIsNoticed) {
  shell("s2", "echo mine >b && git commit -q -a -m mine");
  edit("s1", "a", "of s1\n");
  stop("s1");
  const Answer given_up =
      shell("s2",
            "git commit -q --allow-empty -m seen && git stash -q && GIT_SEQUENCE_EDITOR='sed -i "
            "s/^pick/edit/' git rebase -q -i HEAD^^ && git stash pop -q && git commit -q -n -m "
            "swept -- a "
            "&& git rebase --abort");
  EXPECT_EQ(given_up.status, 0) << given_up.all();
  EXPECT_THAT(log_of_locks(), Not(HasSubstr("bypassed")));
  EXPECT_EQ(shell("s2", "git commit -q --allow-empty -m y").status, 0);
  EXPECT_THAT(log_of_locks(), HasSubstr("bypassed"));
}

TEST_F(GitGuard, G1_AChangeWhoseCommitIsTakenBackIsItsWritersAgain) {
  edit("s1", "a", "of s1\n");
  stop("s1");
  EXPECT_EQ(shell("s1", "git commit -q -a -m x && git commit -q --amend -m y").status, 0);
  // Going back and forth, or to another branch, takes nothing back.
  EXPECT_EQ(shell("s2", "git reset -q --soft HEAD^ && git reset -q --soft HEAD@{1}").status, 0);
  EXPECT_EQ(shell("s2", "echo s2 >>a && git commit -q -a -m z && git reset -q --hard HEAD^").status,
            0);
  const Answer refused = shell("s2", "git reset -q --soft HEAD^ && git commit -m mine");
  EXPECT_EQ(refused.status, 1) << refused.all();
  EXPECT_THAT(refused.err, HasSubstr("a: changed by claude-code (session s1)"));
  EXPECT_EQ(shell("s1", "git commit -q -m x").status, 0);
  const Answer later = shell("s2", "echo s2 >>a && git commit -q -a -m z");
  EXPECT_EQ(later.status, 0) << later.all();
  EXPECT_EQ(shell("s2", "echo s2 >>a && git commit -q -a -m z").status, 0);
}

TEST_F(GitGuard, WhatAPersonHasCommittedOrRevertedIsNobodysAnyMore) {
  edit("s1", "a", "of s1\n");
  edit("s1", "b", "of s1\n");
  edit("s1", "new", "of s1\n");
  stop("s1");
  EXPECT_EQ(past_the_guard("git commit -q -m x -- a && echo more >>a && git commit -q -m y -- a && "
                           "git checkout -q -- b && rm new")
                .status,
            0);
  // One commit later, our hooks know of the revert.
  EXPECT_EQ(shell("s2", "git commit -q --allow-empty -m z").status, 0);
  const Answer passed =
      shell("s2", "echo s2 >>a && echo s2 >>b && echo s2 >new && git add . && git commit -q -m s2");
  EXPECT_EQ(passed.status, 0) << passed.all();
}

TEST_F(GitGuard, WhoeverWritesAfterAPersonsCommitCommitsAlone) {
  edit("s1", "a", "of s1\n");
  stop("s1");
  EXPECT_EQ(
      past_the_guard("git commit -q -a -m x && echo more >>a && git commit -q -a -m y").status, 0);
  hook("s2", "UserPromptSubmit", {{"prompt", "go on"}});
  edit("s2", "a", "of s1\nmore\nof s2\n");
  stop("s2");
  const Answer passed = shell("s2", "git commit -q -a -m z");
  EXPECT_EQ(passed.status, 0) << passed.all();
}

TEST_F(GitGuard, WhatGitStoresInAnotherWayIsCommittedAllTheSame) {
  stage_.file(".gitattributes", "a text eol=crlf\n");
  edit("s1", "a", "of s1\r\n");
  stop("s1");
  EXPECT_EQ(shell("s1", "git add . && git commit -q -m x").status, 0);
  const Answer passed = shell("s2", "printf 's2\\r\\n' >>a && git commit -q -a -m y");
  EXPECT_EQ(passed.status, 0) << passed.all();
}

TEST_F(GitGuard, G1_WhatAStashHasIsStillItsWriters) {
  edit("s1", "a", "of s1\n");
  stop("s1");
  EXPECT_EQ(past_the_guard("git stash -q").status, 0);
  EXPECT_EQ(shell("s2", "git commit -q --allow-empty -m x && git stash pop -q").status, 0);
  EXPECT_EQ(shell("s2", "git commit -a -m x").status, 1);
}

TEST_F(GitGuard, ABranchOnWhichSomebodyWorksIsNotDeletedOrForced) {
  stage_.git("repo", {"init", "-q", "--bare", "../remote.git"});
  stage_.git("repo", {"remote", "add", "origin", "../remote.git"});
  stage_.git("repo", {"worktree", "add", "-q", "../other", "-b", "other"});
  EXPECT_EQ(shell("s2", "git push -q origin main other").status, 0);
  edit("s1", "a", "of s1\n", "other");
  const Answer deleted = shell("s2", "git push -q origin :other");
  EXPECT_EQ(deleted.status, 1) << deleted.all();
  EXPECT_THAT(deleted.err, HasSubstr("other would be deleted, but claude-code (session s1)"));
  hook("s1", "Stop", Json::object(), "other");
  EXPECT_EQ(shell("s2", "git push -q origin :other").status, 1) << "between two turns, too";
  const Answer forced =
      shell("s2", "git commit -q --amend --allow-empty -m y && git push -q -f origin main:other");
  EXPECT_EQ(forced.status, 1) << forced.all();
  EXPECT_EQ(shell("s2", "git push -q -f origin main").status, 0);
}

TEST_F(GitGuard, AFirstPushOfABranchWarnsOfLocksToo) {
  stage_.git("repo", {"init", "-q", "--bare", "../remote.git"});
  stage_.git("repo", {"remote", "add", "origin", "../remote.git"});
  stage_.git("repo", {"push", "-q", "origin", "main"});
  stage_.git("repo", {"fetch", "-q", "origin"});
  stage_.expect(0, "ann", {"acquire", "a"});
  EXPECT_EQ(past_the_guard(
                "git checkout -q -b topic && echo x >>a && GIT_COMMITTER_DATE='4000000000 +0000' "
                "git commit -q -a -m x")
                .status,
            0);
  const Answer pushed = shell("s2", "git push -q -u origin topic");
  EXPECT_EQ(pushed.status, 0) << pushed.all();
  EXPECT_THAT(pushed.err, HasSubstr("files that others hold"));
}

TEST_F(GitGuard, WhatIsCommittedAfterALostLockIsNotPushed) {
  stage_.git("repo", {"init", "-q", "--bare", "../remote.git"});
  const std::string program = Stage::program();
  const Answer ran = stage_.as(
      "builder",
      {"run", "--keep-going", "a", "--", "sh", "-c",
       "env -u LOCKKEEPER_LEASE -u LOCKKEEPER_FENCE -u LOCKKEEPER_SESSION LOCKKEEPER_AGENT=boss " +
           program +
           " break a --reason hangs >/dev/null && echo late >a && git commit -q -a -m late &&"
           " git push -q ../remote.git main"});
  EXPECT_NE(ran.status, 0);
  EXPECT_THAT(ran.err, HasSubstr("after its lock was lost"));
  const Answer seen = past_the_guard("git log --format=%s -1");
  EXPECT_EQ(seen.out, "late\n");
}

TEST_F(GitGuard, AWorkflowsAgentsAreGuarded) {
  edit("s1", "a", "of s1\n");
  stop("s1");
  stage_.file("plan.yaml",
              "agents:\n- agent: worker\n  task_description: x\n  files: [b]\n"
              "  command: git add a && git commit -m x\n");
  stage_.as("lead", {"workflow", "run", "plan.yaml", "--output", stage_.path("out")});
  std::string said;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(stage_.path("out"))) {
    if (entry.is_regular_file()) said += text_of(entry.path());
  }
  EXPECT_THAT(said, HasSubstr("a: changed by claude-code (session s1)"));
}

TEST_F(GitGuard, InstalledItIsEverybodysAndGoesWithoutATrace) {
  const std::string config = stage_.repo() + "/.git/config";
  stage_.git("repo", {"config", "core.hooksPath", "own"});
  std::filesystem::create_directories(stage_.repo() + "/own");
  std::ofstream(stage_.repo() + "/own/pre-commit") << "#!/bin/sh\necho ran >>../ran\n";
  std::filesystem::permissions(stage_.repo() + "/own/pre-commit",
                               std::filesystem::perms::owner_all);
  const std::string before = text_of(config);
  EXPECT_NE(stage_.as("", {"install", "git", "--user"}).status, 0);
  EXPECT_NE(stage_.as("", {"install", "git", "claude"}).status, 0);
  EXPECT_EQ(text_of(config), before);
  const Answer installed = stage_.as("", {"install", "git"});
  EXPECT_EQ(installed.status, 0) << installed.all();
  edit("s1", "a", "of s1\n");
  stop("s1");
  // A person is warned; the repository's own hook runs.
  const Answer warned = past_the_guard("git commit -q -a -m x");
  EXPECT_EQ(warned.status, 0) << warned.all();
  EXPECT_THAT(warned.err, HasSubstr("a: changed by claude-code (session s1)"));
  EXPECT_EQ(text_of(stage_.path("ran")), "ran\n");
  EXPECT_THAT(stage_.as("", {"doctor"}).all(), HasSubstr("everybody's commits here are guarded"));
  // Another tool comes after us.
  std::ofstream(config, std::ios::app) << "[core]\n\thooksPath = /elsewhere\n";
  EXPECT_THAT(stage_.as("", {"doctor"}).all(), HasSubstr("/elsewhere"));
  EXPECT_THAT(hook("s3", "SessionStart").out, HasSubstr("is not at work"));
  const Answer removed = stage_.as("", {"install", "git", "--uninstall"});
  EXPECT_EQ(removed.status, 0) << removed.all();
  EXPECT_EQ(text_of(config), before + "[core]\n\thooksPath = /elsewhere\n");
}

TEST_F(GitGuard, WithoutATableNothingIsAskedAndNothingIsMade) {
  STAGE_IS_LOCAL("the hub has made the table");
  stage_.file("a", "x\n");
  const Answer passed = shell("s1", "git commit -q -a -m x");
  EXPECT_EQ(passed.all(), "");
  EXPECT_FALSE(std::filesystem::exists(stage_.store()));
}

TEST_F(GitGuard, ATableThatCannotBeReadRefusesAgents) {
  edit("s1", "a", "of s1\n");
  shell("s1", "true");
  std::filesystem::remove_all(stage_.store());
  std::ofstream(stage_.store()) << "not a folder";
  const Answer refused = shell("s1", "git commit -a -m x");
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("cannot tell"));
}

// --- the repository's own hooks --------------------------------------------------------------

class OwnHooks : public GitGuard {
 protected:
  // A hook that leaves its name, its arguments and its input.
  void own(const std::string& folder, const std::string& name, const std::string& more = "") {
    const std::string file = folder + "/" + name;
    std::filesystem::create_directories(folder);
    std::ofstream(file) << "#!/bin/sh\necho \"$(basename \"$0\") $*\" >>" << ran() << "\n"
                        << more << "\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
  std::string ran() const { return stage_.path("ran"); }
};

TEST_F(OwnHooks, RunAfterOursWithArgumentsInputAndVerdict) {
  const std::string folder = stage_.repo() + "/.git/hooks";
  for (const char* name : {"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"}) {
    own(folder, name);
  }
  own(folder, "pre-push", "cat >>" + ran());
  stage_.file("a", "x\n");
  EXPECT_EQ(shell("s1", "git commit -q -a -m x").status, 0);
  EXPECT_EQ(text_of(ran()),
            "pre-commit \nprepare-commit-msg .git/COMMIT_EDITMSG message\n"
            "commit-msg .git/COMMIT_EDITMSG\npost-commit \n");
  stage_.git("repo", {"init", "-q", "--bare", "../remote.git"});
  EXPECT_EQ(shell("s1", "git push -q ../remote.git main").status, 0);
  EXPECT_THAT(text_of(ran()), HasSubstr("pre-push ../remote.git ../remote.git\nrefs/heads/main "));
  own(folder, "pre-commit", "exit 3");
  EXPECT_NE(shell("s1", "git commit -q --allow-empty -m x").status, 0);
}

TEST_F(OwnHooks, AreFoundByCoreHooksPath) {
  own(stage_.repo() + "/my hooks", "pre-commit");
  stage_.git("repo", {"config", "core.hooksPath", "my hooks"});
  EXPECT_EQ(shell("s1", "git commit -q --allow-empty -m x").status, 0);
  EXPECT_EQ(text_of(ran()), "pre-commit \n");
  stage_.git("repo", {"worktree", "add", "-q", "../other", "-b", "other"});
  own(stage_.path("other/my hooks"), "pre-commit");
  EXPECT_EQ(shell("s1", "git commit -q --allow-empty -m x", "other").status, 0);
  EXPECT_EQ(text_of(ran()), "pre-commit \npre-commit \n");
}

TEST_F(OwnHooks, AreFoundInTheUsersConfigAndInTheEnvironment) {
  own(stage_.path("home/hooks"), "pre-commit");
  std::ofstream(stage_.path("home/.gitconfig")) << "[core]\n\thooksPath = ~/hooks\n";
  EXPECT_EQ(shell("s1", "git commit -q --allow-empty -m x").status, 0);
  EXPECT_EQ(text_of(ran()), "pre-commit \n");
  std::filesystem::remove(stage_.path("home/.gitconfig"));
  stage_.env["GIT_CONFIG_COUNT"] = "1";
  stage_.env["GIT_CONFIG_KEY_0"] = "core.hooksPath";
  stage_.env["GIT_CONFIG_VALUE_0"] = stage_.path("home/hooks");
  EXPECT_EQ(shell("s2", "git commit -q --allow-empty -m x").status, 0);
  EXPECT_EQ(text_of(ran()), "pre-commit \npre-commit \n");
}

TEST_F(OwnHooks, RareOnesRunWhereTheRepositoryHasThem) {
  own(stage_.repo() + "/.git/hooks", "reference-transaction");
  EXPECT_EQ(shell("s1", "git commit -q --allow-empty -m x").status, 0);
  EXPECT_THAT(text_of(ran()), HasSubstr("reference-transaction committed"));
}

// What manages hooks writes where git says that they are.
TEST_F(OwnHooks, AndTheToolsThatAskForTheirFolderDoNotSeeOurs) {
  own(stage_.repo() + "/.git/hooks", "pre-commit", "git rev-parse --git-path hooks >>" + ran());
  EXPECT_EQ(shell("s1", "git commit -q --allow-empty -m x").status, 0);
  EXPECT_EQ(text_of(ran()), "pre-commit \n.git/hooks\n");
  const Answer asked =
      shell("s1", "git -C . rev-parse --git-path hooks; git config core.hooksPath");
  EXPECT_EQ(asked.out, ".git/hooks\n") << asked.err;
  // The same where the guard is in the repository.
  EXPECT_EQ(stage_.as("", {"install", "git"}).status, 0);
  std::filesystem::remove(ran());
  EXPECT_EQ(past_the_guard("git commit -q --allow-empty -m x").status, 0);
  EXPECT_EQ(text_of(ran()), "pre-commit \n" + stage_.repo() + "/.git/hooks\n");
}

TEST_F(OwnHooks, HaveNoFileOfOursOpen) {
  own(stage_.repo() + "/.git/hooks", "pre-push",
      "if (: <&3) 2>/dev/null; then echo open; fi >>" + ran());
  stage_.git("repo", {"init", "-q", "--bare", "../remote.git"});
  // Whoever started the tests may have one open.
  EXPECT_EQ(shell("s1", "git push -q ../remote.git main 3<&-").status, 0);
  EXPECT_EQ(text_of(ran()), "pre-push ../remote.git ../remote.git\n");
}

TEST_F(OwnHooks, AScriptWithoutAFirstLineAndOneThatMayNotRun) {
  const std::string hook = stage_.repo() + "/.git/hooks/pre-commit";
  own(stage_.repo() + "/.git/hooks", "pre-commit");
  std::ofstream(hook) << "echo plain >>" << ran() << "\n";
  EXPECT_EQ(shell("s1", "git commit -q --allow-empty -m x").status, 0);
  EXPECT_EQ(text_of(ran()), "plain\n");
  std::filesystem::permissions(hook, std::filesystem::perms::owner_read);
  const Answer ignored = shell("s1", "git commit -q --allow-empty -m x");
  EXPECT_EQ(ignored.status, 0);
  EXPECT_EQ(text_of(ran()), "plain\n");
  EXPECT_THAT(ignored.err, HasSubstr("hook was ignored because it's not set as executable"));
  EXPECT_EQ(
      shell("s1", "git config advice.ignoredHook false; git commit -q --allow-empty -m x").err, "");
  // Git itself cannot start it either.
  std::filesystem::remove(hook);
  std::filesystem::create_directory(hook);
  EXPECT_NE(shell("s1", "git commit -q --allow-empty -m x").status, 0);
}

}  // namespace
}  // namespace lockkeeper::stage
