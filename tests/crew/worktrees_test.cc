// `workflow run --worktrees` as a person uses it: where agents work, what is committed and merged,
// and what is left alone.
#include <filesystem>

#include "crew/tree_stage.h"

namespace lockkeeper::stage {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

using CrewTrees = TreeStage;

TEST_F(CrewTrees, EachAgentHasItsOwnAndAllIsMerged) {
  write_plan({{"a",
               {"x"},
               "touch m1; " + until("m1") + "; echo a > x; rm m1; " + says("a", "x"),
               {},
               {"task_description: Change x", "task: T-7"}},
              {"b", {"y"}, "[ ! -e m1 ]; echo b > y; echo new > n; " + says("b", "y")},
              {"c", {"z"}, "true"}});
  const Answer answer = run_trees();
  ASSERT_EQ(answer.status, 0) << answer.all();
  EXPECT_THAT(ran(), ElementsAre("a", "b")) << "each held its lock";
  EXPECT_EQ(text_of("x") + text_of("y") + text_of("n"), "a\nb\nnew\n");
  EXPECT_EQ(says_git({"log", "--first-parent", "--format=%s", base_ + ".."}).find("Merge "), 0U);
  EXPECT_EQ(says_git({"rev-list", "--count", "--no-merges", base_ + ".."}), "2");
  EXPECT_EQ(state("a"), "merged");
  EXPECT_EQ(state("c"), "nothing");
  const std::string commit = tree("a")["commit"].get<std::string>();
  const std::string text = says_git({"log", "-1", "--format=%an <%ae>%n%B", commit});
  EXPECT_THAT(text, HasSubstr("Ann <ann@example.org>\na: Change x\n"));
  EXPECT_THAT(text, HasSubstr("Lockkeeper-Run: " + report()["run"].get<std::string>()));
  EXPECT_THAT(text, HasSubstr("Lockkeeper-Agent: a\nLockkeeper-Task: T-7"));
  EXPECT_EQ(agent("b")["attempts"][0]["changes"].size(), 2U);
  EXPECT_THAT(answer.out, HasSubstr("c  changed nothing: there is nothing to commit\n"));
  EXPECT_THAT(answer.out, HasSubstr("a  merged into main as "));
  EXPECT_THAT(read_text(out() + "/report.md"), HasSubstr("## Worktrees\n"));
  expect_no_trees();
  expect_nothing_left();
}

TEST_F(CrewTrees, TheLocksAreThoseOfTheWholeRepository) {
  write_plan({{"a", {"x"}, "touch m1; " + until(stage_.path("m2")) + "; rm m1"}});
  stage_.git("repo", {"worktree", "add", "-q", stage_.path("other"), "-b", "other"});
  auto process = start_trees();
  ASSERT_TRUE(tells(process, "a  started")) << process.err();
  EXPECT_EQ(stage_.as("bob", {"acquire", "x"}).status, 75);
  Launch there = stage_.launch("bob", {"check", "x"});
  there.folder = stage_.path("other");
  EXPECT_EQ(stage_.finish(there).status, 75);
  write_text(stage_.path("m2"), "");
  EXPECT_EQ(process.wait(), 0) << process.err();
}

TEST_F(CrewTrees, AnAgentBeginsWithTheWorkThatItNeeds) {
  // c needs a; b and c take turns at y: whoever is second begins with the work of the first.
  write_plan({{"a", {"x"}, "echo a > x"},
              {"b", {"y"}, "echo \"$(cat y) b\" > y", {}, {"priority: 1"}},
              {"c", {"y", "z"}, "cat x > z; echo \"$(cat y) c\" > y", {"a"}}});
  const Answer answer = run_trees();
  ASSERT_EQ(answer.status, 0) << answer.all();
  EXPECT_EQ(text_of("z"), "a\n");
  EXPECT_THAT(text_of("y"), testing::AnyOf("y b c\n", "y c b\n"));
  expect_no_trees();
}

TEST_F(CrewTrees, AConflictIsReportedAndNothingIsForced) {
  write_plan({{"a", {"x"}, "echo a > f", {}, {"priority: 1"}},
              {"b", {"y"}, "echo b > f"},
              {"c", {"z"}, "echo c > z", {"b"}}});
  const Answer answer = run_trees();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_THAT(answer.err, HasSubstr("2 branches are not merged: lk/"));
  EXPECT_THAT(answer.err, HasSubstr("/b (conflict in f) and 1 more"));
  EXPECT_EQ(state("a"), "merged");
  EXPECT_EQ(state("b"), "conflict");
  EXPECT_THAT(tree("b")["conflicts"], ElementsAre("f"));
  EXPECT_EQ(state("c"), "unmerged");
  EXPECT_EQ(tree("c")["why"], "it builds on b");
  EXPECT_EQ(report()["outcome"], "failed");
  EXPECT_EQ(text_of("f") + text_of("z"), "a\nz\n");
  EXPECT_EQ(says_git({"status", "--porcelain"}), "");
  EXPECT_FALSE(exists(stage_.repo() + "/.git/MERGE_HEAD"));
  const std::string branch = tree("b")["branch"].get<std::string>();
  EXPECT_THAT(answer.err, HasSubstr("git merge " + branch));
  EXPECT_EQ(read_text(tree("b")["folder"].get<std::string>() + "/f"), "b\n");
  stage_.git("repo", {"merge", "-q", "-s", "ours", "-m", "solved", branch});
  const Answer resumed = run({"--resume"});
  EXPECT_EQ(resumed.status, 0) << resumed.all();
  EXPECT_EQ(text_of("f") + text_of("z"), "a\nc\n");
  EXPECT_EQ(report()["outcome"], "done");
  expect_no_trees();
}

TEST_F(CrewTrees, ABranchThatWasGivenUpIsLeftAlone) {
  write_plan({{"a", {"x"}, "echo a > f", {}, {"priority: 1"}},
              {"b", {"y"}, "echo b > f"},
              {"c", {"z"}, "echo c > z", {"b"}}});
  EXPECT_EQ(run_trees().status, 1);
  const std::string branch = tree("b")["branch"].get<std::string>();
  const std::string built_on_it = tree("c")["branch"].get<std::string>();
  stage_.git("repo", {"worktree", "remove", "--force", tree("b")["folder"].get<std::string>()});
  stage_.git("repo", {"branch", "-D", branch});
  for (int i = 0; i < 2; ++i) {
    const Answer answer = run({"--resume"});
    EXPECT_EQ(answer.status, 1) << "c has the work of b: " << answer.all();
    EXPECT_EQ(state("b"), "given_up");
    EXPECT_EQ(state("c"), "unmerged");
    EXPECT_THAT(tree("c")["why"].get<std::string>(), HasSubstr("it builds on b, which was given"));
    EXPECT_EQ(answer.out.find("b  is given up: its branch " + branch) != std::string::npos, i == 0);
  }
  stage_.git("repo", {"worktree", "remove", "--force", tree("c")["folder"].get<std::string>()});
  stage_.git("repo", {"branch", "-D", built_on_it});
  const Answer answer = run({"--resume"});
  EXPECT_EQ(answer.status, 0) << answer.all();
  EXPECT_EQ(report()["outcome"], "done");
  EXPECT_EQ(text_of("f") + text_of("z"), "a\nz\n");
  expect_no_trees();
}

TEST_F(CrewTrees, ACheckoutThatSomebodyWorksInIsLeftAlone) {
  stage_.file("f", "mine\n");
  write_plan({{"a", {"x"}, "echo a > x; " + until(stage_.path("m2"))}});
  const Answer refused = run_trees();
  EXPECT_EQ(refused.status, 1) << refused.all();
  EXPECT_THAT(refused.err,
              HasSubstr("has uncommitted changes, which agents in worktrees would not"));
  EXPECT_FALSE(exists(out())) << "nothing was begun";
  stage_.git("repo", {"checkout", "-q", "f"});
  auto process = start_trees();
  ASSERT_TRUE(tells(process, "a  started")) << process.err();
  stage_.file("f", "mine\n");
  write_text(stage_.path("m2"), "");
  EXPECT_EQ(process.wait(), 1) << process.err();
  EXPECT_THAT(tree("a")["why"].get<std::string>(), HasSubstr("has uncommitted changes in f"));
  EXPECT_EQ(text_of("f") + text_of("x"), "mine\nx\n");
  stage_.git("repo", {"commit", "-qam", "mine"});
  EXPECT_EQ(run({"--resume"}).status, 0);
  EXPECT_EQ(text_of("f") + text_of("x"), "mine\na\n");
  expect_no_trees();
}

TEST_F(CrewTrees, WhatAnotherHoldsInTheCheckoutIsNotChanged) {
  write_plan({{"a", {"x"}, "echo a > f"}});
  stage_.expect(0, "ann", {"acquire", "f"});
  const Answer answer = run_trees();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_THAT(tree("a")["why"].get<std::string>(), HasSubstr("ann"));
  EXPECT_EQ(text_of("f"), "f\n");
  stage_.expect(0, "ann", {"release", "f"});
  EXPECT_EQ(run({"--resume"}).status, 0);
  EXPECT_EQ(text_of("f"), "a\n");
  expect_no_trees();
  expect_nothing_left();
}

TEST_F(CrewTrees, WhatAFailedAgentLeftIsKeptAndWorkedOn) {
  write_plan({{"a", {"x"}, "cat x; echo half >> x; [ -e \"$RAN\" ]", {}, {"retries: 0"}},
              {"b", {"y"}, "echo b > y"}});
  const Answer answer = run_trees();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_EQ(state("a"), "open");
  EXPECT_EQ(state("b"), "merged") << "it does not need a";
  const std::string folder = tree("a")["folder"].get<std::string>();
  EXPECT_THAT(answer.out, HasSubstr("its work is in " + folder));
  EXPECT_EQ(read_text(folder + "/x"), "x\nhalf\n");
  EXPECT_EQ(text_of("x"), "x\n");
  write_text(stage_.path("ran"), "");
  EXPECT_EQ(run({"--resume"}).status, 0);
  EXPECT_EQ(text_of("x"), "x\nhalf\nhalf\n");
  expect_no_trees();
}

TEST_F(CrewTrees, ACommitThatAHookRefusesIsAFailedAttempt) {
  const std::string hook = stage_.repo() + "/.git/hooks/pre-commit";
  write_text(hook, "#!/bin/sh\n[ -e \"$RAN\" ] || { echo lint: no; exit 1; }\n");
  std::filesystem::permissions(hook, std::filesystem::perms::owner_all);
  write_plan({{"a", {"x"}, "echo a > x", {}, {"retries: 0"}}, {"b", {"y"}, "true", {"a"}}});
  const Answer answer = run_trees();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_EQ(ending("a"), "uncommitted");
  EXPECT_THAT(answer.out, HasSubstr("could not be committed: git commit failed"));
  EXPECT_THAT(answer.out, HasSubstr("lint: no"));
  EXPECT_EQ(agent("b")["standing"], "skipped");
  write_text(stage_.path("ran"), "");
  EXPECT_EQ(run({"--resume"}).status, 0);
  EXPECT_EQ(text_of("x"), "a\n");
  expect_no_trees();
}

TEST_F(CrewTrees, AnAgentMayCommitItself) {
  write_plan({{"a", {"x"}, "echo 1 > x; git commit -qam own; echo 2 > x"}});
  ASSERT_EQ(run_trees().status, 0) << log("a");
  EXPECT_EQ(text_of("x"), "2\n");
  EXPECT_EQ(says_git({"rev-list", "--count", "--no-merges", base_ + ".."}), "2");
  expect_no_trees();
}

TEST_F(CrewTrees, AStrictScopeHoldsForAllThatIsMerged) {
  write_plan({{"a", {"x"}, "[ -e f2 ] || echo stray > f2; echo a > x", {}, {"retries: 1"}}});
  EXPECT_EQ(run_trees({"--strict-scope"}).status, 1);
  EXPECT_EQ(agent("a")["attempts"].size(), 2U);
  EXPECT_EQ(ending("a"), "strayed") << "the second attempt did not change f2, but its branch does";
  EXPECT_FALSE(exists(stage_.repo() + "/f2"));
}

TEST_F(CrewTrees, SecretsAndCachesComeAlong) {
  stage_.file("lockkeeper.toml", "[worktrees]\nlink = [\"node_modules/\"]\n");
  stage_.git("repo", {"add", "-A"});
  stage_.git("repo", {"commit", "-qm", "settings"});
  stage_.file(".env", "KEY=1\n");
  stage_.file("node_modules/m", "m\n");
  stage_.file("notes.txt", "mine\n");
  write_plan({{"a", {"x"}, "cat .env node_modules/m > x; [ ! -e notes.txt ]"}});
  const Answer answer = run_trees();
  ASSERT_EQ(answer.status, 0) << answer.all() << log("a");
  EXPECT_THAT(answer.err, HasSubstr("do not see what git does not track: notes.txt"));
  EXPECT_EQ(text_of("x"), "KEY=1\nm\n");
  EXPECT_EQ(says_git({"diff", "--name-only", "HEAD^", "HEAD"}), "x");
  EXPECT_EQ(text_of("node_modules/m"), "m\n");
}

TEST_F(CrewTrees, AChangedCopyKeepsItsWorktree) {
  stage_.file(".env", "KEY=1\n");
  write_plan({{"a", {"x"}, "echo KEY=2 > .env; echo a > x"}});
  const Answer answer = run_trees();
  ASSERT_EQ(answer.status, 0) << answer.all();
  EXPECT_EQ(state("a"), "merged");
  EXPECT_EQ(tree("a")["removed"], false);
  EXPECT_EQ(tree("a")["kept"], "its copy of .env was changed");
  EXPECT_EQ(read_text(tree("a")["folder"].get<std::string>() + "/.env"), "KEY=2\n");
  EXPECT_THAT(answer.out, HasSubstr("is kept: its copy of .env was changed"));
  const std::string folder = tree("a")["folder"].get<std::string>();
  EXPECT_THAT(answer.err, HasSubstr("git worktree remove --force " + folder + " && git branch -D " +
                                    tree("a")["branch"].get<std::string>()));
}

TEST_F(CrewTrees, G2WhatAnAgentWroteInACopiedFolderStays) {
  stage_.file("lockkeeper.toml", "[worktrees]\ncopy = [\"data/\"]\n");
  stage_.file(".gitignore", "data/\n");
  stage_.git("repo", {"add", "-A"});
  stage_.git("repo", {"commit", "-qm", "settings"});
  stage_.file("data/in", "in\n");
  write_plan({{"a", {"x"}, "echo precious > data/out; echo new > data/in; echo a > x"}});
  const Answer answer = run_trees();
  ASSERT_EQ(answer.status, 0) << answer.all();
  EXPECT_EQ(state("a"), "merged");
  EXPECT_EQ(tree("a")["kept"], "its copy of data/in was changed; not in git: data/out");
  EXPECT_EQ(read_text(tree("a")["folder"].get<std::string>() + "/data/out"), "precious\n");
  EXPECT_EQ(text_of("data/in"), "in\n");
}

TEST_F(CrewTrees, G2AnAttemptKeepsWhatAnEarlierOneLeftInItsWorktree) {
  for (const char* flag : {"--worktrees", "--no-scope-check"}) {
    write_plan({{"a",
                 {"x"},
                 "if [ \"$LOCKKEEPER_ATTEMPT\" = 1 ]; then echo first > n; exit 1; else rm n; fi",
                 {},
                 {"retries: 1"}}});
    Words more{flag};
    if (more.front() == "--no-scope-check") more.emplace_back("--restart");
    EXPECT_EQ(run_trees(more).status, 0);
    const std::string folder = tree("a")["folder"].get<std::string>();
    const Json lost = stage_.json("lead", {"recover"}).json();
    bool kept = false;
    for (const Json& each : lost["lost"]) {
      kept = kept || each.dump().find(folder) != std::string::npos;
    }
    EXPECT_TRUE(kept) << flag << " " << lost.dump();
  }
}

TEST_F(CrewTrees, WhatWasProvidedIsNeverMerged) {
  stage_.file(".gitignore", "\n");
  stage_.git("repo", {"commit", "-qam", "nothing is ignored"});
  stage_.file(".env", "KEY=1\n");
  write_plan({{"a", {"x"}, "echo a > x; git add -A -f; git commit -qm own", {}, {"retries: 0"}}});
  const Answer answer = run_trees();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_EQ(ending("a"), "uncommitted");
  EXPECT_THAT(answer.out, HasSubstr("its own commit has .env, which the run copied"));
  EXPECT_THAT(answer.out, HasSubstr("reset --soft "));
  EXPECT_EQ(text_of("x"), "x\n");
}

TEST_F(CrewTrees, AnAgentsOwnCommitsLeaveOutWhatWasProvided) {
  stage_.file("lockkeeper.toml",
              "[worktrees]\ncopy = [\".env*\", \"da ta*/\"]\nlink = [\"node_modules/\"]\n");
  stage_.file(".gitignore", "node_modules/\n");  // the folder, not a link of that name
  stage_.git("repo", {"add", "-A"});
  stage_.git("repo", {"commit", "-qm", "settings"});
  stage_.git("repo", {"config", "core.excludesFile", stage_.path("mine")});
  write_text(stage_.path("mine"), "*.swp");
  stage_.file(".env", "KEY=1\n");
  stage_.file("da ta[1]*/in", "in\n");
  stage_.file("node_modules/m", "m\n");
  write_plan(
      {{"a",
        {"x"},
        "echo a > x; echo out > 'da ta[1]*/out'; touch n.swp; git add -A; git commit -qm own"}});
  const Answer answer = run_trees();
  ASSERT_EQ(answer.status, 0) << answer.all() << log("a");
  EXPECT_EQ(says_git({"diff", "--name-only", base_ + "..HEAD", "--", "x", ".env", "node_modules",
                      "n.swp", "da*"}),
            "da ta[1]*/out\nx");
  EXPECT_EQ(tree("a")["kept"], nullptr) << tree("a").dump();
}

TEST_F(CrewTrees, NothingInTheCheckoutIsOverwritten) {
  stage_.file(".gitignore", "*.out\n");
  stage_.git("repo", {"commit", "-qam", "ignored"});
  stage_.file("a.out", "mine\n");
  stage_.file("new", "mine\n");
  write_plan({{"a", {"x"}, "echo a > a.out; echo a > new; git add -f a.out"}});
  const Answer answer = run_trees();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_EQ(tree("a")["why"], "in the way, and not in git: a.out, new");
  EXPECT_EQ(text_of("a.out") + text_of("new"), "mine\nmine\n");
  std::filesystem::remove(stage_.repo() + "/a.out");
  std::filesystem::remove(stage_.repo() + "/new");
  EXPECT_EQ(run({"--resume"}).status, 0);
  EXPECT_EQ(text_of("a.out") + text_of("new"), "a\na\n");
  expect_no_trees();
}

TEST_F(CrewTrees, NoNameOfAnAgentIsABranchOrAPathUnchecked) {
  std::vector<Hand> hands;
  for (const char* name : {"../up", "a..b", "x.lock", "-f", "a b", "@{", "dot.", ".", "é", "a~1"}) {
    hands.push_back({name, {}, "echo {agent} > made.{attempt}.$LOCKKEEPER_SESSION_NAME$$"});
  }
  write_plan(hands);
  const Answer answer = run_trees();
  ASSERT_EQ(answer.status, 0) << answer.all();
  for (const Hand& hand : hands) EXPECT_EQ(state(hand.agent), "merged") << hand.agent;
  expect_no_trees();
  EXPECT_FALSE(exists(stage_.path("state/lockkeeper/up")));
}

TEST_F(CrewTrees, WhereARunCannotEndItDoesNotBegin) {
  write_plan({{"a", {"x"}, "echo never >> \"$RAN\""}});
  const auto refused = [&](const std::string& why) {
    const Answer answer = run_trees();
    EXPECT_EQ(answer.status, 1) << answer.all();
    EXPECT_THAT(answer.err, HasSubstr(why));
    EXPECT_FALSE(exists(out()));
  };
  stage_.git("repo", {"checkout", "-q", "--detach"});
  refused("is not on a branch");
  stage_.git("repo", {"checkout", "-q", "main"});
  stage_.git("repo", {"branch", "lk"});
  refused("a branch is called \"lk\"");
  stage_.git("repo", {"branch", "-D", "lk"});
  stage_.git("repo", {"config", "--unset", "user.name"});
  stage_.git("repo", {"config", "user.useConfigOnly", "true"});
  refused("git does not know as whom to commit");
  stage_.git("repo", {"config", "user.name", "Ann"});
  stage_.git("repo", {"checkout", "-q", "--orphan", "empty"});
  stage_.git("repo", {"rm", "-rqf", "."});
  refused("has no commit yet");
  EXPECT_TRUE(ran().empty());
}

TEST_F(CrewTrees, ARunGoesOnAsItBegan) {
  write_plan({{"a", {"x"}, "[ -e \"$RAN\" ] && echo a > x", {}, {"retries: 0"}}});
  EXPECT_EQ(run().status, 1);
  const Answer mixed = run_trees({"--resume"});
  EXPECT_EQ(mixed.status, 65) << mixed.all();
  EXPECT_THAT(mixed.err, HasSubstr("was started without --worktrees"));
  EXPECT_EQ(run_trees({"--restart"}).status, 1);
  write_text(stage_.path("ran"), "");
  EXPECT_EQ(run({"--resume"}).status, 0) << "without the flag, too";
  EXPECT_EQ(state("a"), "merged");
  expect_no_trees();
}

TEST_F(CrewTrees, CtrlCStopsAndAResumeMerges) {
  const std::string mark = stage_.path("m2");
  write_plan({{"a", {"x"}, "echo a > x"},
              {"b",
               {"y"},
               "[ -e " + mark + " ] || { touch " + stage_.path("m1") +
                   "; sleep 60 & wait; }; echo b > y"}});
  auto process = start_trees();
  ASSERT_TRUE(eventually([&] { return exists(stage_.path("m1")); })) << process.err();
  ASSERT_TRUE(tells(process, "a  is done")) << process.out();
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(), 130) << process.err();
  EXPECT_EQ(says_git({"rev-parse", "HEAD"}), base_) << "a stopped run merges nothing";
  write_text(mark, "");
  EXPECT_EQ(run({"--resume"}).status, 0);
  EXPECT_EQ(text_of("x") + text_of("y"), "a\nb\n");
  expect_no_trees();
}

TEST_F(CrewTrees, ProgramsAreToldToo) {
  write_plan({{"a", {"x"}, "echo a > x"}});
  const std::vector<Json> lines = stage_.json("lead", words({"--worktrees"})).lines();
  bool merged = false;
  for (const Json& line : lines) {
    if (line["event"] != "merged") continue;
    merged = true;
    EXPECT_EQ(line["agent"], "a");
    EXPECT_EQ(line["worktree"]["state"], "merged");
    EXPECT_EQ(line["worktree"]["merge"], says_git({"rev-parse", "HEAD"}));
  }
  EXPECT_TRUE(merged);
  EXPECT_EQ(lines.back()["worktrees"]["branch"], "refs/heads/main");
  EXPECT_EQ(lines.back()["counts"]["unmerged"], 0);
  EXPECT_EQ(lines.back()["agents"][0]["worktree"]["removed"], true);
}

TEST_F(CrewTrees, ASparseCheckoutStaysSparse) {
  stage_.file("big/one", "1\n");
  stage_.file("src/two", "2\n");
  stage_.git("repo", {"add", "-A"});
  stage_.git("repo", {"commit", "-qm", "folders"});
  stage_.git("repo", {"sparse-checkout", "set", "src"});
  write_plan({{"a", {"src/"}, "[ ! -e big ]; echo 3 > src/two"}});
  ASSERT_EQ(run_trees().status, 0) << log("a");
  EXPECT_EQ(text_of("src/two"), "3\n");
  EXPECT_FALSE(exists(stage_.repo() + "/big"));
  EXPECT_EQ(says_git({"show", "HEAD:big/one"}), "1");
  expect_no_trees();
}

TEST_F(CrewTrees, ARunInALinkedWorktreeEndsThere) {
  const std::string linked = stage_.path("linked");
  stage_.git("repo", {"worktree", "add", "-q", linked, "-b", "topic"});
  write_plan({{"a", {"x"}, "echo a > x"}});
  Launch launch = stage_.launch("lead", words({"--worktrees"}));
  launch.folder = linked;
  const Answer answer = stage_.finish(launch);
  ASSERT_EQ(answer.status, 0) << answer.all();
  EXPECT_EQ(read_text(linked + "/x"), "a\n");
  EXPECT_EQ(text_of("x"), "x\n");
  EXPECT_EQ(says_git({"rev-parse", "main"}), base_);
}

}  // namespace
}  // namespace lockkeeper::stage
