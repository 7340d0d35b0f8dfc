// Commands that replace, delete or take what others have committed or stashed, with the real git.
#include "enforce/hook/commands_testing.h"

namespace lockkeeper::enforce::hook {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(Commands, TheLastCommitOfAnotherIsNotAmended) {
  wrote("s1", "a.c", "changed by s1");
  ran("s1", "commit -m work a.c");
  over("s1");
  EXPECT_THAT(refused("git commit --amend --no-edit"),
              AllOf(HasSubstr("session s1"), HasSubstr("would replace a commit")));
  EXPECT_EQ(refused("git commit --amend --no-edit", "s1"), "");
  git("commit --allow-empty -m person");
  EXPECT_EQ(refused("git commit --amend --no-edit"), "") << "nobody knows whose it is";
}

TEST_F(Commands, ACommitInAnotherWorktreeHasItsMaker) {
  git("worktree add -q ../other -b topic");
  wrote("s1", "../other/a.c", "changed by s1");
  ran("s1", "-C ../other commit -m work a.c");
  EXPECT_EQ(events("committed").size(), 1U);
  EXPECT_THAT(refused("git -C ../other commit --amend --no-edit"), HasSubstr("session s1"));
  EXPECT_THAT(refused("cd ../other && git commit --amend --no-edit"), HasSubstr("session s1"));
  over("s1");
  git("worktree remove --force ../other");
  EXPECT_THAT(refused("git branch -D topic"), HasSubstr("session s1"));
  EXPECT_EQ(refused("git branch -D topic", "s1"), "");
}

TEST_F(Commands, AMergeHasItsMaker) {
  git("checkout -q main2");
  write("b.c", "b");
  git("add b.c");
  git("commit -m b");
  git("checkout -q main");
  git("commit --allow-empty -m on-main");
  age_objects();
  wrote("s1", "a.c", "changed by s1");
  ran("s1", "merge --no-edit main2");
  EXPECT_EQ(events("committed").size(), 1U);
  EXPECT_THAT(refused("git commit --amend --no-edit"), HasSubstr("session s1"));
}

TEST_F(Commands, AStashThatSomebodyElseMayHaveMadeIsNobodys) {
  git("worktree add -q ../other -b topic");
  wrote("s1", "a.c", "changed by s1");
  json there = command("s2", "make");
  there["cwd"] = site_.files.at("other");
  run(Client::kClaude, there);
  ran("s1", "stash push -- a.c");
  EXPECT_THAT(events("stashed"), IsEmpty());
}

TEST_F(Commands, ACommitOfTheSameSecondIsNotTheCallers) {
  age_objects();
  wrote("s1", "a.c", "changed by s1");
  ran("s1", "commit -m work a.c");
  over("s1");
  EXPECT_EQ(events("committed").size(), 1U) << "those before are not its own";
  ran("s2", "status");
  EXPECT_EQ(events("committed").size(), 1U) << "that was another's";
  git("commit --allow-empty -m person");
  age_objects();
  ran("s2", "status");
  EXPECT_EQ(events("committed").size(), 1U);
}

TEST_F(Commands, AnUnmergedBranchOfAnotherIsNotDeleted) {
  git("checkout -b theirs");
  wrote("s1", "a.c", "changed by s1");
  ran("s1", "commit -m work a.c");
  over("s1");
  git("checkout main");
  EXPECT_THAT(refused("git branch -D theirs"),
              AllOf(HasSubstr("session s1"), HasSubstr("branch theirs")));
  EXPECT_EQ(refused("git branch -D theirs", "s1"), "");
  EXPECT_EQ(refused("git branch -D main2"), "");
  git("merge theirs");
  EXPECT_EQ(refused("git branch -D theirs"), "");
}

TEST_F(Commands, ABranchWithACommitOfAnotherIsNotLostInAnyWay) {
  git("checkout -b theirs");
  wrote("s1", "a.c", "changed by s1");
  ran("s1", "commit -m work a.c");
  over("s1");
  git("commit --allow-empty -m on-top");
  git("checkout main");
  for (const char* const way :
       {"git branch -D theirs", "git branch -D @{-1}", "git branch -D \"$b\"",
        "git branch --list 't*' | xargs git branch -D", "git branch -f theirs main",
        "git checkout -B theirs", "git switch -C theirs main2", "git branch -M main2 theirs"}) {
    EXPECT_THAT(refused(way), AllOf(HasSubstr("session s1"), HasSubstr("branch theirs"))) << way;
    EXPECT_EQ(refused(way, "s1"), "") << way;
  }
  EXPECT_EQ(refused("git branch -f theirs theirs"), "");
  EXPECT_EQ(told(command("s1", "git branch -D \"$b\"")), "") << "none of them is another's";
  EXPECT_EQ(refused("git checkout -B other"), "");
  git("branch copy theirs");
  EXPECT_EQ(refused("git branch -D theirs"), "") << "another branch has it";
  EXPECT_THAT(refused("git branch -D theirs copy"), HasSubstr("branch theirs"));
}

TEST_F(Commands, ABranchOnWhichAnotherWorksIsNotPushedOverWithoutItsHook) {
  git("worktree add -q ../other -b topic");
  wrote("s1", "../other/a.c", "changed by s1");
  for (const char* const way :
       {"git push --no-verify origin --delete topic", "git push --no-verify origin :topic",
        "git push --no-verify -f origin topic", "git push --no-verify origin +HEAD:topic",
        "git -C ../other push --no-verify --force", "git push --no-verify --mirror origin"}) {
    EXPECT_THAT(refused(way),
                AllOf(HasSubstr("session s1"), HasSubstr("branch topic"),
                      HasSubstr("lockkeeper message send claude-code@s1 --type question")))
        << way;
    EXPECT_EQ(refused(way, "s1"), "") << way;
  }
  EXPECT_EQ(refused("git push --no-verify origin topic"), "");
  EXPECT_EQ(refused("git push --no-verify -f origin main2"), "");
  EXPECT_EQ(refused("git push -f origin topic"), "") << "its hook judges that";
}

TEST_F(Commands, TheStashOfAnotherIsNotDropped) {
  wrote("s1", "a.c", "changed by s1");
  ran("s1", "stash push -- a.c");
  over("s1");
  EXPECT_THAT(refused("git stash drop"), AllOf(HasSubstr("session s1"), HasSubstr("stash@{0}")));
  EXPECT_THAT(refused("git stash clear"), HasSubstr("stash@{0}"));
  EXPECT_EQ(refused("git stash drop", "s1"), "");
  wrote("s2", "mine.c", "changed by s2");
  ran("s2", "stash push -- mine.c");
  EXPECT_EQ(refused("git stash drop"), "") << "the newest is its own";
  EXPECT_THAT(refused("git stash drop stash@{1}"), HasSubstr("stash@{1}"));
  EXPECT_THAT(refused("git stash clear"), Not(HasSubstr("stash@{0}")));
}

TEST_F(Commands, TheStashOfAnotherIsNotPopped) {
  wrote("s1", "a.c", "changed by s1");
  ran("s1", "stash push -- a.c");
  over("s1");
  for (const char* const way : {"git stash pop", "git stash pop stash@{0}", "git stash pop \"$S\"",
                                "git stash; git pull; git stash pop",
                                "git stash push -- mine.c; git stash pop", "git stash branch b"}) {
    EXPECT_THAT(refused(way), AllOf(HasSubstr("session s1"), HasSubstr("stash@{0}"))) << way;
    EXPECT_EQ(refused(way, "s1"), "") << way;
  }
  over("s1");
  // What it brings back is what the text itself puts away.
  wrote("s2", "mine.c", "changed by s2");
  EXPECT_EQ(refused("git stash; git pull; git stash pop"), "");
  EXPECT_EQ(refused("git stash push -- mine.c; git stash drop"), "");
  EXPECT_NE(refused("git stash push -- src; git stash pop"), "") << "there is nothing in src";
  EXPECT_NE(refused("git stash; git stash pop; git stash pop"), "");
  ran("s2", "stash push -- mine.c");
  EXPECT_EQ(refused("git stash pop"), "");
  EXPECT_THAT(refused("git stash pop 1"), HasSubstr("git stash pop stash@{0}"));
  EXPECT_THAT(refused("git stash drop 1"), HasSubstr("git stash drop stash@{0}"));
}

TEST_F(Commands, TheStashOfAnotherIsAppliedWithAWordToBoth) {
  wrote("s1", "a.c", "changed by s1");
  ran("s1", "stash push -- a.c");
  over("s1");
  EXPECT_THAT(told(command("s2", "git stash apply")),
              AllOf(HasSubstr("session s1"), HasSubstr("stash@{0}"), HasSubstr("let through")));
  EXPECT_THAT(events("warned"), ElementsAre("claude-code stash@{0}"));
  EXPECT_THAT(told(claude("s1", "UserPromptSubmit")), HasSubstr("brings your stash@{0}"));
  EXPECT_EQ(told(command("s1", "git stash apply")), "");
}

}  // namespace
}  // namespace lockkeeper::enforce::hook
