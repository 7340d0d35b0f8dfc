// Shell commands that would destroy, put away or commit what another agent has not committed, with
// the real git.
#include <algorithm>

#include "enforce/hook/commands_testing.h"

namespace lockkeeper::enforce::hook {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(Commands, TheWorktreesOwnPathIsAllOfIt) {
  leave_work();
  const std::string top = site_.files.at("repo");
  for (const std::string& command :
       {"git checkout -- " + top, std::string("git restore \"$PWD\""),
        std::string("git restore $(pwd)"), "git stash push -- " + top, "git clean -f " + top,
        "git rm -rf " + top, "git add " + top, "git -C src checkout -- " + top}) {
    EXPECT_NE(refused(command), "") << command;
  }
}

TEST_F(Commands, AFolderThatOnlyTheShellKnowsMayBeAnyButAFileHasItsName) {
  leave_work();
  wrote("s2", "mine.c", "changed by s2");
  for (const char* command :
       {"cd \"$X\" && git add mine.c", "git -C \"$X\" add mine.c", "cd $X && git restore mine.c",
        "cd \"$X\" && git commit -m x -- mine.c", "cd && git add mine.c",
        "cd \"$(git rev-parse --show-toplevel)\" && git add mine.c && git commit -m x"}) {
    EXPECT_EQ(refused(command), "") << command;
  }
  for (const char* command :
       {"cd \"$X\" && git restore s.c", "git -C \"$X\" restore a.c", "cd \"$X\" && git restore .",
        "git -C $X reset --hard", "cd \"$(git rev-parse --show-toplevel)\" && git add -A"}) {
    EXPECT_NE(refused(command), "") << command;
  }
}

TEST_F(Commands, AFolderThatOnlyTheShellKnowsMayBeInAnotherWorktree) {
  git("worktree add -q ../tree -b tree");
  left_at("tree/a.c");
  for (const char* command : {"git -C \"$X\" reset --hard", "cd $X && git reset --hard",
                              "for d in ../tree ../repo; do git -C $d reset --hard; done"}) {
    EXPECT_NE(refused(command), "") << command;
  }
  EXPECT_EQ(refused("git reset --hard"), "") << "nobody else works here";
  EXPECT_EQ(refused("cd \"$(git rev-parse --show-toplevel)\" && git add -A"), "");
}

// The history of all worktrees, their locks and what was kept are in one folder.
TEST_F(Commands, GitsOwnFolderBelongsToEveryWorktree) {
  git("worktree add -q ../tree -b tree");
  left_at("tree/a.c");
  for (const char* command : {"rm -rf .git", "rm -rf .git && git init", "rm -rf .git/objects",
                              "cd .git && rm -rf refs", "rm -rf ../repo", "rm -rf ../repo/.git"}) {
    EXPECT_NE(refused(command), "") << command;
  }
  EXPECT_EQ(refused("rm -rf src"), "");
  EXPECT_EQ(refused("rm -rf .git/hooks"), "");
}

TEST_F(Commands, TheSecondOfTwoTakesTheNextStash) {
  wrote("s1", "a.c", "changed by s1");
  ran("s1", "stash push -q -- a.c");
  over("s1");
  wrote("s2", "mine.c", "changed by s2");
  ran("s2", "stash push -q -- mine.c");
  for (const char* command :
       {"git stash drop; git stash drop", "git stash pop && git stash pop",
        "for i in 1 2; do git stash drop; done", "while git stash drop; do :; done"}) {
    EXPECT_NE(refused(command), "") << command;
  }
  EXPECT_EQ(refused("git stash pop"), "") << "its own is the newest";
}

TEST_F(Commands, WithoutTheHistoryNobodysOwnFilesHelp) {
  leave_work();
  wrote("s2", "mine.c", "changed by s2");
  EXPECT_THAT(refused("rm -rf .git"), HasSubstr("lockkeeper message send claude-code@s1"));
  EXPECT_THAT(refused("rm -rf ."), HasSubstr("rm -- mine.c"));
}

// Tried with git 2.39.5: these reset what is staged, and leave alone, or stop at, what is not.
TEST_F(Commands, WhatIsNotStagedOutlivesTheEndOfAMerge) {
  leave_work();
  for (const char* command : {"git reset --merge", "git merge --abort", "git cherry-pick --abort",
                              "git revert --skip", "git am --skip"}) {
    EXPECT_EQ(refused(command), "") << command;
    git("add a.c");
    EXPECT_THAT(refused(command), AllOf(HasSubstr("(session s1): a.c"), Not(HasSubstr("s.c"))))
        << command;
    git("restore --staged a.c");
  }
}

TEST_F(Commands, InAMergeEverythingStagedIsCommitted) {
  git("checkout -q main2");
  write("b.c", "b");
  git("add b.c");
  git("commit -m b");
  git("checkout -q main");
  git("merge --no-commit --no-ff main2");
  wrote("s1", "a.c", "changed by s1");
  wrote("s2", "mine.c", "changed by s2");
  EXPECT_THAT(refused("git commit -am merged"), HasSubstr("git add -- mine.c; then git commit"));
  EXPECT_THAT(refused("git add -A && git commit"), HasSubstr("git add -- mine.c"));
}

TEST_F(Commands, EachAccidentIsRefusedAndNamesWhoseAndWhatToRunInstead) {
  leave_work();
  wrote("s2", "mine.c", "changed by s2");
  const std::pair<const char*, const char*> kAccidents[] = {
      {"git stash", "git stash push -- mine.c"},
      {"git stash -u", "git stash push -u -- mine.c"},
      {"git stash push -m wip", "git stash push -- mine.c"},
      {"git stash save wip", "git stash push -- mine.c"},
      {"git stash push -- a.c", "git stash push --"},
      {"git reset --hard", "git restore --staged --worktree -- mine.c"},
      {"git reset --hard HEAD~1", "git restore --staged --worktree -- mine.c"},
      {"git rebase --abort", "lockkeeper message send claude-code@s1 --type question"},
      {"git rebase --skip", "lockkeeper message send"},
      {"git checkout -- .", "git restore -- mine.c"},
      {"git checkout .", "git restore --"},
      {"git checkout a.c", "git restore --"},
      {"git checkout -- a.c mine.c", "git restore -- mine.c"},
      {"git checkout -- '*.c'", "git restore --"},
      {"git checkout HEAD -- src", "git restore --"},
      {"git checkout -f", "git restore --"},
      {"git checkout main2", "git worktree add"},
      {"git checkout -b x HEAD~1", "git worktree add"},
      {"git switch main2", "git worktree add"},
      {"git switch --discard-changes main2", "git worktree add"},
      {"git restore .", "git restore -- mine.c"},
      {"git restore a.c", "git restore --"},
      {"git clean -f", "git clean -f --"},
      {"git clean -fdx", "git clean -f --"},
      {"git clean -f new.c", "git clean -f --"},
      {"git add -A", "git add -- mine.c"},
      {"git add .", "git add -- mine.c"},
      {"git add -u", "git add -- mine.c"},
      {"git add src", "git add --"},
      {"git commit -am done", "git commit -m MESSAGE -- mine.c"},
      {"git commit -m done src", "git commit -m MESSAGE --"},
      {"git pull --autostash", "--no-autostash"},
      {"git rebase --autostash main2", "--no-autostash"},
      {"git merge --autostash main2", "--no-autostash"},
      {"rm -rf src", "rm --"},
      {"rm -r *", "rm -- mine.c"},
      {"git rm -rf src", "git rm -f --"},
      {"git rm -f a.c", "git rm -f --"},
      {"git rm -f '*.c'", "git rm -f -- mine.c"},
      {"git bisect good", "git worktree add"},
      {"cd src && git checkout -- .", "git restore --"},
      {"git -C src add .", "git add --"},
      {"cd \"$(git rev-parse --show-toplevel)\" && git stash", "git stash push --"},
      {"bash -c 'git stash'", "git stash push --"},
      {"git ls-files -m | xargs git checkout --", "git restore --"},
  };
  for (const auto& [accident, instead] : kAccidents) {
    EXPECT_THAT(refused(accident), AllOf(HasSubstr("claude-code (session s1): "),
                                         HasSubstr(instead), HasSubstr("Nothing of this call")))
        << accident;
  }
  EXPECT_THAT(events("refused"), Contains("claude-code a.c"));
  EXPECT_THAT(events("refused"), Contains("claude-code src/s.c"));
}

TEST_F(Commands, WhatTouchesNothingOfOthersPassesWithoutAWord) {
  leave_work();
  wrote("s2", "mine.c", "changed by s2");
  write("plain/p.c", "nobody's");
  for (const char* const harmless : {
           "git stash push -- mine.c",
           "git stash list",
           "git stash show",
           "git stash create",
           "git add mine.c",
           "git add a.c",
           "git add plain",
           "git restore --staged .",
           "git restore mine.c",
           "git checkout -- mine.c",
           "git checkout HEAD -- plain",
           "git clean -nfd",
           "git clean -fd plain",
           "git reset",
           "git reset --soft HEAD~1",
           "git commit -m 'then git reset --hard'",
           "git commit -m done -- mine.c",
           "git commit -F - <<'EOF'\ngit reset --hard\nEOF",
           "git pull",
           "git rebase main2",
           "git branch -D main2",
           "git commit --amend --no-edit",
           "git stash drop",
           "rm -rf plain",
           "rm -rf build",
           "rm -rf /nowhere/x",
           "rm a.c",
           "make",
           "git status",
       }) {
    const Said said = run(Client::kClaude, command("s2", harmless));
    EXPECT_EQ(said.out + said.err, "") << harmless;
  }
  EXPECT_THAT(events("refused"), IsEmpty());
}

TEST_F(Commands, WhatGitLeavesAlonePasses) {
  leave_work();
  wrote("s2", "mine.c", "changed by s2");
  const std::string theirs = " ':(exclude)a.c' ':!src' ':^new.c'";
  const std::string kPasses[] = {
      "git add -A -- ." + theirs,
      "git add -A --" + theirs,
      "git add :/mine.c",
      "git stash push --" + theirs,
      "cd src && git add -A -- :/ ':(top,exclude)a.c' ':!s.c' ':!/new.c'",
      "git clean -fd -e new.c",
      "git clean -fd --exclude='*.c'",
  };
  for (const std::string& passes : kPasses) {
    EXPECT_EQ(refused(passes), "") << passes;
  }
  EXPECT_THAT(refused("git add -A -- . ':!a.c'"),
              AllOf(HasSubstr("src/s.c"), Not(HasSubstr("a.c,"))));
  EXPECT_NE(refused("git add -A -- . ':!a.c' \":!$X\""), "");
  EXPECT_NE(refused("cd src && git add -A -- :/ ':!a.c' ':!s.c' ':!/new.c'"), "")
      << "that is src/a.c";
  EXPECT_NE(refused("git add :/src"), "");
  EXPECT_NE(refused("git clean -fd -e other.c"), "");
}

TEST_F(Commands, OnlyFoldersThatALoopNamesAreRemoved) {
  leave_work();
  EXPECT_EQ(refused("for d in dist build; do rm -rf \"./$d\"; done"), "");
  EXPECT_NE(refused("for d in dist src; do rm -rf \"./$d\"; done"), "");
}

TEST_F(Commands, ARepositoryThatCannotBeReadAndMayBeMeantIsNoReason) {
  leave_work();
  site_.files.folder("outside/broken");
  site_.files.git("outside/broken", "init");
  const std::string outside = site_.files.at("outside");
  site_.files.write("outside/broken/.git/lockkeeper/data.mdb", "garbage");
  EXPECT_NE(refused("rm -rf " + outside + "/broken"), "");
  EXPECT_EQ(refused("rm -rf \"" + outside + "/$X\""), "");
  EXPECT_THAT(told(command("s2", "rm -rf \"" + outside + "/$X\"")), HasSubstr("cannot tell"));
}

TEST_F(Commands, ABranchThatBeginsAtHeadMovesNothing) {
  leave_work();
  EXPECT_EQ(refused("git checkout -b fix/x main"), "");
  EXPECT_EQ(refused("git switch -c fix/x main2"), "") << "it is the same commit";
  EXPECT_THAT(told(command("s2", "git checkout -b fix/x main")), HasSubstr("session s1"));
  for (const char* const way : {"git checkout --detach", "git switch --detach", "git branch -m new",
                                "git branch -m main new"}) {
    EXPECT_THAT(told(command("s2", way)), HasSubstr("session s1")) << way;
  }
  EXPECT_EQ(told(command("s2", "git branch -m main2 new")), "");
  git("branch -f main2 HEAD~1");
  EXPECT_NE(refused("git checkout -b fix/x main2"), "");
}

TEST_F(Commands, AllOfOnesOwnFilesAreNamed) {
  leave_work();
  for (int i = 0; i < 20; ++i) wrote("s2", "own" + std::to_string(i) + ".c", "x");
  EXPECT_THAT(refused("git add -A"),
              AllOf(HasSubstr("git add -- own0.c own1.c"), HasSubstr("own19.c"),
                    Not(HasSubstr("…")), Not(HasSubstr("#"))));
  const std::string folder(200, 'd');
  for (int i = 0; i < 12; ++i) wrote("s2", folder + "/" + std::to_string(i) + ".c", "x");
  EXPECT_THAT(refused("git add -A"), HasSubstr(".c # and then the other "));
}

TEST_F(Commands, TheCommandToRunInsteadWorksWhereverTheAgentIs) {
  leave_work();
  wrote("s2", "mine.c", "changed by s2");
  json there = command("s2", "git stash");
  there["cwd"] = at("src");
  std::string top = at("");
  while (top.ends_with('/')) top.pop_back();
  EXPECT_THAT(refusal(there), HasSubstr("git -C " + top + " stash push -- mine.c"));
  there = command("s2", "rm -rf ../*");
  there["cwd"] = at("src");
  EXPECT_THAT(refusal(there), HasSubstr("rm -- " + at("mine.c")));
  wrote("s2", "src/[id].c", "made by s2");
  EXPECT_THAT(refused("git add -A"),
              HasSubstr("git --literal-pathspecs add -- mine.c 'src/[id].c'"));
}

TEST_F(Commands, AFileOfOnesOwnIsRestoredHoweverItIsNamed) {
  leave_work();
  wrote("s2", "mine.c", "changed by s2");
  EXPECT_EQ(refused("git checkout -f mine.c"), "");
  std::filesystem::remove(at("mine.c"));
  EXPECT_EQ(refused("git checkout mine.c"), "") << "the index still has it";
  EXPECT_EQ(refused("cd src && git checkout ../mine.c"), "");
  EXPECT_THAT(refused("git checkout -f main2"), HasSubstr("a.c"));
  std::filesystem::remove(at("a.c"));
  EXPECT_THAT(refused("git checkout a.c"), HasSubstr("would discard"));
}

TEST_F(Commands, TheBranchThatOneIsOnIsNoMove) {
  leave_work();
  EXPECT_EQ(refused("git checkout main"), "");
  EXPECT_EQ(refused("git switch main"), "");
  EXPECT_NE(refused("git checkout --detach main"), "");
  EXPECT_NE(refused("git checkout -f main"), "");
}

TEST_F(Commands, ACdThatFailsLeavesTheCommandWhereItWas) {
  leave_work();
  write("there/t.c", "t");
  EXPECT_NE(refused("cd missing; rm -rf *"), "");
  EXPECT_NE(refused("false && cd /; git stash -u"), "");
  EXPECT_NE(refused("f() { cd /; }; git reset --hard"), "");
  EXPECT_NE(refused("R=$(pwd); cd there; rm -rf $R/src"), "");
  EXPECT_EQ(refused("cd there; rm -rf *"), "");
  EXPECT_EQ(refused("cd missing && rm -rf *"), "");
  EXPECT_EQ(refused("mkdir -p out; cd out; rm -rf *"), "");
  std::filesystem::create_directory_symlink(site_.files.path(), at("link"));
  EXPECT_NE(refused("cd link/..; git add -A"), "") << "the shell goes back the way it came";
}

TEST_F(Commands, RepositoriesThatTheCallItselfMakesAreNobodys) {
  leave_work();
  for (const char* const harmless : {
           "D=$(mktemp -d); cd $D; git init; git add -A; git commit -am x; rm -rf $D",
           "T=$(mktemp -d) && git clone . $T/c && cd $T/c && git reset --hard",
           "git clone -q . \"$T\"; cd \"$T\"; git checkout main2",
           "git clone . copy && cd copy && git checkout main2",
           "git worktree add .trees/w -b w && cd .trees/w && git add -A",
       }) {
    const Said said = run(Client::kClaude, command("s2", harmless));
    EXPECT_EQ(said.out + said.err, "") << harmless;
  }
  EXPECT_NE(refused("git init; git add -A"), "") << "that one is there already";
}

TEST_F(Commands, TheShellsWildcardsStayInTheirFolder) {
  wrote("s1", "src/s.c", "changed by s1");
  over("s1");
  EXPECT_EQ(refused("rm -rf *.c"), "");
  EXPECT_EQ(refused("git checkout -- *.c"), "");
  EXPECT_NE(refused("git checkout -- '*.c'"), "") << "git's go deeper";
  EXPECT_NE(refused("rm -rf */*.c"), "");
  EXPECT_NE(refused("rm -rf s*"), "");
  write("src/deep/d.h", "d");
  wrote("s1", "src/deep/d.h", "changed by s1");
  over("s1");
  EXPECT_NE(refused("git add *.h"), "") << "the shell finds none, so git sees the pattern";
}

// G1: its lines are in the file, whoever wrote the last one.
TEST_F(Commands, TheEarlierWriterOfAFileStillHasWorkInIt) {
  wrote("s1", "a.c", "changed by s1");
  over("s1");
  wrote("s2", "a.c", "changed by s1 and s2");
  EXPECT_THAT(refused("git checkout -- a.c"), HasSubstr("session s1"));
  EXPECT_THAT(refused("git commit -am all"), AllOf(HasSubstr("session s1"), HasSubstr("FILE")));
  EXPECT_THAT(refused("git checkout -- a.c", "s1"), HasSubstr("session s2"));
  git("commit -am all");
  EXPECT_EQ(refused("git checkout -- a.c"), "");
}

TEST_F(Commands, ASettingOfGitMakesAPullAStash) {
  leave_work();
  EXPECT_EQ(refused("git pull"), "");
  git("config rebase.autoStash true");
  EXPECT_THAT(refused("git pull"), HasSubstr("session s1"));
  EXPECT_EQ(refused("git pull --no-autostash"), "");
}

TEST_F(Commands, WhatIsCommittedIsNobodysLoss) {
  leave_work();
  ASSERT_NE(refused("git reset --hard"), "");
  git("add -A");
  EXPECT_THAT(refused("git reset --hard"), HasSubstr("new.c")) << "added, but not committed";
  git("commit -m all");
  EXPECT_EQ(refused("git reset --hard"), "");
  EXPECT_EQ(refused("git checkout main2"), "");
  EXPECT_EQ(refused("rm -rf src"), "");
}

TEST_F(Commands, ASessionAndItsSubagentsAreOneParty) {
  leave_work();
  EXPECT_EQ(refused("git stash", "s1"), "");
  EXPECT_EQ(refusal(as_subagent(command("s1", "git stash"), "x")), "");
  const json made = as_subagent(edit("s3", "mine.c", "e"), "y");
  ASSERT_EQ(refusal(made), "");
  write("mine.c", "changed by a subagent");
  run(Client::kClaude, as_subagent(batch("s3", {{made, "ok"}}), "y"));
  EXPECT_EQ(refused("git checkout -- mine.c", "s3"), "");
  EXPECT_THAT(refused("git checkout -- mine.c", "s1"), HasSubstr("session s3"));
}

TEST_F(Commands, WorkInAnotherWorktreeIsNotTouched) {
  git("worktree add ../other");
  leave_work();
  json there = command("s2", "git reset --hard");
  there["cwd"] = site_.files.at("other");
  EXPECT_EQ(refusal(there), "");
  there["cwd"] = at("src");
  EXPECT_THAT(refusal(there), HasSubstr("a.c"));
  EXPECT_THAT(refused("git -C " + at("") + " stash"), HasSubstr("a.c"));
  EXPECT_EQ(refused("git -C ../other stash"), "");
}

TEST_F(Commands, RemovingAWorktreeWithWorkInItIsRefused) {
  git("worktree add ../other");
  left_at("other/a.c");
  EXPECT_THAT(refused("git worktree remove --force ../other"), HasSubstr("session s1"));
  EXPECT_THAT(refused("git worktree remove -f other"), HasSubstr("session s1"));
  EXPECT_EQ(refused("git worktree remove ../other"), "") << "git refuses that by itself";
  EXPECT_THAT(refused("rm -rf ../other"), HasSubstr("session s1"));
  EXPECT_EQ(refused("git worktree remove -f ../third"), "");
  EXPECT_THAT(refused("git worktree remove --force \"$w\""), HasSubstr("session s1"));
}

TEST_F(Commands, AFolderTakesTheRepositoriesInItAlong) {
  git("worktree add .trees/one -b one");
  git("init ../above/nested");
  left_at("repo/.trees/one/a.c");
  EXPECT_THAT(refused("rm -rf .trees"), HasSubstr("session s1"));
  EXPECT_THAT(refused("rm -rf .trees/*"), HasSubstr("session s1"));
  EXPECT_THAT(refused("git clean -ffdx"), HasSubstr("session s1"));
  EXPECT_THAT(refused("git clean -ffd .trees"), HasSubstr("session s1"));
  EXPECT_EQ(refused("git clean -fdx"), "") << "git leaves other repositories alone";
  EXPECT_EQ(refused("rm -rf build"), "");
  EXPECT_EQ(refused("rm -rf ../above"), "");
  left_at("above/nested/n.c");
  EXPECT_THAT(refused("rm -rf ../above"), HasSubstr("n.c"));
  EXPECT_THAT(refused("cd .. && rm -rf abo*"), HasSubstr("n.c"));
}

TEST_F(Commands, TheRepositoryItselfIsNotRemovedUnderOthers) {
  EXPECT_EQ(refused("rm -rf .git"), "");
  leave_work();
  EXPECT_THAT(refused("rm -rf .git"), HasSubstr("session s1"));
  EXPECT_NE(refused("rm -rf .git/objects"), "");
  EXPECT_EQ(refused("rm -rf .git/lockkeeper .git/hooks"), "");
}

TEST_F(Commands, AFileThatIsBeingEditedIsNotTakenAwayUnderItsEditor) {
  ASSERT_EQ(refusal(edit("s1", "src/s.c", "e1")), "");
  EXPECT_THAT(refused("rm -rf src"), HasSubstr("src/s.c"));
  EXPECT_THAT(refused("git switch main2"), HasSubstr("src/s.c"));
  EXPECT_EQ(refused("git stash"), "") << "there is nothing to put away yet";
  EXPECT_EQ(refused("git add -A"), "");
}

TEST_F(Commands, ChangesInWhatIsHeldOnPurposeAreItsHolders) {
  take({"ann", ""}, "src/");
  EXPECT_EQ(refused("git reset --hard"), "") << "nothing is changed there";
  write("src/s.c", "changed by ann's editor");
  EXPECT_THAT(refused("git reset --hard"), HasSubstr("of ann: src/s.c"));
  EXPECT_THAT(refused("git add -A"), HasSubstr("of ann: src/s.c"));
  EXPECT_EQ(refused("git checkout -- a.c"), "");
}

TEST_F(Commands, IgnoredFilesAreDeletedOnlyByWhatDeletesThem) {
  wrote("s1", "k.secret", "made by s1");
  over("s1");
  EXPECT_EQ(refused("git stash -u"), "");
  EXPECT_EQ(refused("git clean -fd"), "");
  EXPECT_EQ(refused("git add -A"), "");
  EXPECT_THAT(refused("git clean -fdx"), HasSubstr("k.secret"));
  EXPECT_THAT(refused("rm -rf *"), HasSubstr("k.secret"));
}

TEST_F(Commands, ThePolicyOfTheFilesDecides) {
  leave_work();
  write("lockkeeper.toml", "[hook]\npolicy = \"warn\"\n");
  EXPECT_THAT(told(command("s2", "git stash")),
              AllOf(HasSubstr("would put away"), HasSubstr("let through")));
  EXPECT_THAT(events("warned"), Contains("claude-code a.c"));
  EXPECT_THAT(events("refused"), IsEmpty());
  EXPECT_THAT(told(claude("s1", "UserPromptSubmit")), HasSubstr("touches your work in a.c"));
  write("lockkeeper.toml", "[hook]\npolicy = \"ask\"\n");
  EXPECT_THAT(run(Client::kClaude, command("s2", "git stash")).out, HasSubstr("\"ask\""));
  write("lockkeeper.toml", "[hook]\npolicy = \"off\"\n");
  EXPECT_EQ(refused("git stash"), "");
  write("lockkeeper.toml",
        "[hook]\npolicy = \"off\"\n[[hook.path]]\npaths = [\"src/\"]\npolicy = \"block\"\n");
  EXPECT_THAT(refused("git stash"), AllOf(HasSubstr("src/s.c"), Not(HasSubstr("a.c,"))));
  EXPECT_EQ(refused("git checkout -- a.c"), "");
}

TEST_F(Commands, AnAliasIsWhatItStandsFor) {
  git("config alias.nuke 'reset --hard'");
  git("config alias.away '!cd src && git stash'");
  git("config alias.twice nuke");
  git("config alias.st status");
  EXPECT_EQ(refused("git nuke"), "");
  leave_work();
  EXPECT_THAT(refused("git nuke"), AllOf(HasSubstr("\"git nuke\""), HasSubstr("a.c")));
  EXPECT_THAT(refused("git nuke HEAD~1"), HasSubstr("a.c"));
  EXPECT_THAT(refused("git away"), HasSubstr("a.c"));
  EXPECT_THAT(refused("git twice"), HasSubstr("a.c"));
  EXPECT_EQ(refused("git st"), "");
  EXPECT_EQ(refused("git no-such-thing"), "");
}

TEST_F(Commands, ANewBranchPassesAndSaysUnderWhomItMovesHead) {
  EXPECT_EQ(told(command("s2", "git checkout -b x")), "");
  leave_work();
  EXPECT_THAT(told(command("s2", "git checkout -b x")),
              AllOf(HasSubstr("session s1"), HasSubstr("git worktree add")));
  EXPECT_EQ(refused("git switch -c x"), "");
}

TEST_F(Commands, WhatCannotBeToldIsSaidAndPasses) {
  EXPECT_EQ(told(command("s2", "rm -rf \"$DIR\"")), "") << "nobody else is here";
  leave_work();
  EXPECT_THAT(told(command("s2", "rm -rf \"$DIR\"")), HasSubstr("cannot tell"));
  EXPECT_THAT(told(command("s2", "eval \"$X\"")), HasSubstr("cannot tell"));
  EXPECT_EQ(told(command("s2", "D=$(mktemp -d); rm -rf \"$D\"")), "");
  EXPECT_THAT(refused("git checkout -- \"$FILE\""), HasSubstr("a.c"))
      << "certainly destructive, of whatever files";
}

TEST_F(Commands, ATableThatCannotBeReadRefusesWhatDestroys) {
  leave_work();
  for (const auto& entry : std::filesystem::directory_iterator(site_.realm.store_folder)) {
    if (entry.is_regular_file()) std::ofstream(entry.path(), std::ios::trunc) << "garbage";
  }
  EXPECT_THAT(refused("git stash"), AllOf(HasSubstr("cannot tell"), HasSubstr("doctor")));
  EXPECT_EQ(refused("make"), "");
  EXPECT_EQ(refused("rm -rf .git/lockkeeper"), "") << "this repairs it";
  write("lockkeeper.toml", "[hook]\non_failure = \"pass\"\n");
  EXPECT_EQ(refused("git stash"), "");
  write("lockkeeper.toml", "[hook]\npolicy = \"perhaps\"\n");
  EXPECT_THAT(refused("git stash"), HasSubstr("cannot tell"));
  EXPECT_EQ(refused("make"), "") << "it may be what repairs the settings";
}

TEST_F(Commands, NothingIsCreatedForThem) {
  EXPECT_EQ(refused("git reset --hard"), "");
  EXPECT_EQ(refused("rm -rf src"), "");
  EXPECT_FALSE(has_store());
}

TEST_F(Commands, EveryClientHearsItInItsDialect) {
  leave_work();
  const json input = {{"command", "git reset --hard"}};
  json codex_call = codex("x", "PreToolUse");
  codex_call.update({{"tool_name", "Bash"}, {"tool_use_id", "u"}, {"tool_input", input}});
  const std::pair<Client, json> kCalls[] = {
      {Client::kCodex, codex_call},
      {Client::kGemini,
       {{"session_id", "x"},
        {"cwd", at("")},
        {"hook_event_name", "BeforeTool"},
        {"tool_name", "run_shell_command"},
        {"tool_input", input}}},
      {Client::kCopilot,
       {{"sessionId", "x"},
        {"timestamp", 1},
        {"cwd", at("")},
        {"toolName", "bash"},
        {"toolArgs", input}}},
      {Client::kOpencode,
       {{"event", "tool.execute.before"},
        {"sessionID", "x"},
        {"directory", at("")},
        {"callID", "u"},
        {"tool", "bash"},
        {"args", input}}},
  };
  for (const auto& [client, payload] : kCalls) {
    const Said said = run(client, payload);
    EXPECT_THAT(said.out, testing::AnyOf(HasSubstr("\"deny\""), HasSubstr("\"refuse\"")))
        << client_name(client) << said.err;
    EXPECT_THAT(said.out, HasSubstr("session s1")) << client_name(client);
  }
}

}  // namespace
}  // namespace lockkeeper::enforce::hook
