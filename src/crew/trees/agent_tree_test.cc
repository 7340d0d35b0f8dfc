#include "crew/trees/agent_tree.h"

#include "crew/trees/trees_testing.h"
#include "crew/trees/worktree_ops.h"

namespace lockkeeper::crew {
namespace {

using testing::HasSubstr;

using AgentTrees = TreesTest;

TEST_F(AgentTrees, IsMadeOnceAndFoundAgain) {
  const TreeOrders wanted = orders("a");
  const Folder folder = marks("a");
  {
    AgentTree tree(wanted, folder, {});
    const auto start = tree.ensure();
    ASSERT_TRUE(start) << start.error().message;
    EXPECT_EQ(*start, base);
  }
  EXPECT_EQ(text_of("trees/a/f"), "one\n");
  EXPECT_EQ(says("trees/a", {"symbolic-ref", "HEAD"}), "refs/heads/lk/run/a");
  repo.write("trees/a/f", "half done\n");
  AgentTree again(wanted, folder, {});
  EXPECT_EQ(again.ensure().value_or(""), base);
  EXPECT_EQ(text_of("trees/a/f"), "half done\n") << "an earlier attempt's work";
  EXPECT_EQ(text_of("r/f"), "one\n");
}

TEST_F(AgentTrees, WhatAKilledMakerLeftIsMadeAnew) {
  const TreeOrders wanted = orders("a");
  const Folder folder = marks("a");
  ASSERT_TRUE(AgentTree(wanted, folder, {}).ensure());
  // Killed before "ready": a branch with a merge on it, a locked worktree with half of its files.
  ASSERT_TRUE(folder.write("tree.json",
                           R"({"ready":false,"start":"","provided":{"copies":[],"links":[]}})"));
  repo.git("trees/a", "commit --allow-empty -m half");
  repo.git("r", "worktree lock " + repo.at("trees/a"));
  repo.write("trees/a/junk", "");
  std::filesystem::remove(repo.at("trees/a/.git"));
  const auto start = AgentTree(wanted, folder, {}).ensure();
  ASSERT_TRUE(start) << start.error().message;
  EXPECT_EQ(*start, base);
  EXPECT_FALSE(is_there("trees/a/junk"));
  EXPECT_EQ(says("trees/a", {"rev-parse", "HEAD"}), base);
}

TEST_F(AgentTrees, LockFilesOfAKilledGitAreNotInTheWay) {
  const TreeOrders wanted = orders("a");
  const Folder folder = marks("a");
  const std::string locks[] = {"r/.git/worktrees/a/index.lock", "r/.git/worktrees/a/HEAD.lock",
                               "r/.git/refs/heads/lk/run/a.lock"};
  ASSERT_TRUE(AgentTree(wanted, folder, {}).ensure());
  repo.write("trees/a/f", "two\n");
  for (const std::string& lock : locks) repo.write(lock, "");
  repo.write("r/.git/index.lock", "");
  AgentTree tree(wanted, folder, {});
  ASSERT_TRUE(tree.ensure());
  const auto commit = tree.commit({});
  EXPECT_TRUE(commit && commit->made) << (commit ? "nothing to commit" : commit.error().message);
  EXPECT_TRUE(is_there("r/.git/index.lock")) << "somebody else's";
}

// Seen when two agents began at once: git reads the others' folders while they are being made.
TEST_F(AgentTrees, AnotherWorktreeThatIsJustBeingMadeIsNotInTheWay) {
  repo.write("r/.git/worktrees/b/gitdir", repo.at("trees/b/.git") + "\n");
  repo.write("r/.git/worktrees/b/HEAD", base + "\n");
  repo.write("r/.git/worktrees/b/commondir", "");
  const auto writer = git::Writer::open(repo.at("r"));
  ASSERT_TRUE(writer);
  int failed = 0;
  const auto clear = [&]() -> Result<void> {
    // The other is done after the second failure.
    if (++failed == 2) repo.write("r/.git/worktrees/b/commondir", "../..\n");
    return clear_worktree(*writer, repo.at("trees/a"));
  };
  const auto added = add_worktree(*writer, {"--detach", repo.at("trees/a"), base}, clear);
  EXPECT_TRUE(added) << added.error().message;
  EXPECT_EQ(failed, 2) << "git itself can do it now";
  EXPECT_EQ(text_of("trees/a/f"), "one\n");
}

TEST_F(AgentTrees, AWorktreeThatNamesAnotherGitFolderLosesNothingThere) {
  const TreeOrders wanted = orders("a");
  const Folder folder = marks("a");
  ASSERT_TRUE(AgentTree(wanted, folder, {}).ensure());
  repo.write("r/.git/index.lock", "");
  repo.write("trees/a/.git", "gitdir: " + repo.at("r/.git") + "\n");
  static_cast<void>(AgentTree(wanted, folder, {}).ensure());
  EXPECT_TRUE(is_there("r/.git/index.lock"));
}

TEST_F(AgentTrees, SomebodyElsesBranchOrFolderIsRefusedAndStays) {
  repo.git("r", "branch lk/run/a");
  repo.write("trees/b/mine", "mine\n");
  for (const char* agent : {"a", "b"}) {
    const TreeOrders wanted = orders(agent);
    const Folder folder = marks(agent);
    for (int i = 0; i < 2; ++i) {
      const auto start = AgentTree(wanted, folder, {}).ensure();
      ASSERT_FALSE(start);
      EXPECT_THAT(start.error().message, HasSubstr("already exists"));
    }
  }
  EXPECT_EQ(says("r", {"rev-parse", "lk/run/a"}), base);
  EXPECT_EQ(text_of("trees/b/mine"), "mine\n");
}

TEST_F(AgentTrees, ARemovedWorktreeIsMadeAgainFromItsBranch) {
  const std::string tip = works("a", "g", "new\n");
  std::filesystem::remove_all(repo.at("trees/a"));
  const TreeOrders wanted = orders("a");
  const Folder folder = marks("a");
  AgentTree tree(wanted, folder, {});
  EXPECT_EQ(tree.ensure().value_or(""), base);
  EXPECT_EQ(text_of("trees/a/g"), "new\n");
  EXPECT_EQ(says("trees/a", {"rev-parse", "HEAD"}), tip);
}

TEST_F(AgentTrees, BeginsWithTheWorkThatItBuildsOn) {
  const std::string a = works("a", "a", "a\n");
  const std::string b = works("b", "b", "b\n");
  const std::string c = works("c", "c", "c\n", {a, b});
  EXPECT_EQ(text_of("trees/c/a") + text_of("trees/c/b"), "a\nb\n");
  const TreeOrders wanted = orders("c");
  const Folder folder = marks("c");
  AgentTree tree(wanted, folder, {});
  const auto start = tree.ensure();
  ASSERT_TRUE(start);
  const auto changes = tree.changes(*start, c);
  ASSERT_TRUE(changes) << changes.error().message;
  ASSERT_EQ(changes->size(), 1U) << "only its own";
  EXPECT_EQ(changes->front().path, "c");
}

TEST_F(AgentTrees, AWorktreeInWhichNothingWasDoneCatchesUp) {
  TreeOrders wanted = orders("c");
  const Folder folder = marks("c");
  ASSERT_EQ(AgentTree(wanted, folder, {}).ensure().value_or(""), base);
  const std::string a = works("a", "a", "a\n");
  wanted.with = {a};
  repo.write("trees/c/f", "mine\n");
  EXPECT_EQ(AgentTree(wanted, folder, {}).ensure().value_or(""), base);
  EXPECT_EQ(text_of("trees/c/f"), "mine\n") << "an attempt's work is not thrown away";
  repo.git("trees/c", "checkout f");
  EXPECT_EQ(AgentTree(wanted, folder, {}).ensure().value_or(""), a);
  EXPECT_EQ(text_of("trees/c/a"), "a\n");
}

TEST_F(AgentTrees, WhatCannotBeBuiltOnIsToldAndNothingIsLeft) {
  const std::string a = works("a", "f", "a\n");
  const std::string b = works("b", "f", "b\n");
  TreeOrders wanted = orders("c");
  wanted.with = {a, b};
  const Folder folder = marks("c");
  const auto start = AgentTree(wanted, folder, {}).ensure();
  ASSERT_FALSE(start);
  EXPECT_THAT(start.error().message, HasSubstr("cannot be merged: conflict in f"));
  EXPECT_FALSE(is_there("trees/c"));
  EXPECT_EQ(says("r", {"branch", "--list", "lk/run/c"}), "");
  wanted.with = {a};
  EXPECT_EQ(AgentTree(wanted, folder, {}).ensure().value_or(""), a);
}

TEST_F(AgentTrees, CommitsEverythingOnce) {
  const TreeOrders wanted = orders("a");
  const Folder folder = marks("a");
  AgentTree tree(wanted, folder, {});
  const auto start = tree.ensure();
  ASSERT_TRUE(start);
  const auto nothing = tree.commit({});
  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_FALSE(nothing->made);
  EXPECT_EQ(nothing->tip, base);
  repo.write("trees/a/new dir/-x *", "x\n");
  std::filesystem::remove(repo.at("trees/a/f"));
  const auto done = tree.commit({});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(done->made);
  EXPECT_EQ(says("trees/a", {"status", "--porcelain"}), "");
  EXPECT_EQ(says("trees/a", {"log", "-1", "--format=%an <%ae> %s %(trailers)"}),
            "t <t@example.org> a: work Lockkeeper-Agent: a");
  const auto changes = tree.changes(*start, done->tip);
  ASSERT_TRUE(changes);
  ASSERT_EQ(changes->size(), 2U);
  EXPECT_EQ((*changes)[0].path, "f");
  EXPECT_EQ((*changes)[0].kind, Change::Kind::kRemoved);
  EXPECT_EQ((*changes)[1].path, "new dir/-x *");
  // Made, but the one who made it was killed before it could say so.
  const auto again = tree.commit({});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(again->made);
  EXPECT_EQ(again->tip, done->tip);
}

TEST_F(AgentTrees, HooksRunAsUsualAndMayRefuse) {
  repo.write("r/.git/hooks/pre-commit",
             "#!/bin/sh\necho \"$LOCKKEEPER_AGENT $GIT_DIR\" >&2\nexit 1\n");
  std::filesystem::permissions(repo.at("r/.git/hooks/pre-commit"),
                               std::filesystem::perms::owner_all);
  const TreeOrders wanted = orders("a");
  const Folder folder = marks("a");
  AgentTree tree(wanted, folder, {});
  ASSERT_TRUE(tree.ensure());
  repo.write("trees/a/f", "two\n");
  const auto done = tree.commit({{"LOCKKEEPER_AGENT", "ann"}});
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("git commit failed"));
  EXPECT_THAT(done.error().message, HasSubstr("ann "));
  EXPECT_EQ(text_of("trees/a/f"), "two\n");
  EXPECT_EQ(says("trees/a", {"rev-parse", "HEAD"}), base);
  std::filesystem::remove(repo.at("r/.git/hooks/pre-commit"));
  EXPECT_TRUE(tree.commit({}));
}

TEST_F(AgentTrees, WhatAnAgentLeftInTheMiddleIsNotCommitted) {
  const TreeOrders wanted = orders("a");
  const Folder folder = marks("a");
  AgentTree tree(wanted, folder, {});
  ASSERT_TRUE(tree.ensure());
  repo.git("trees/a", "switch -c other");
  EXPECT_THAT(tree.commit({}).error().message, HasSubstr("is on \"other\""));
  repo.git("trees/a", "checkout --detach");
  EXPECT_THAT(tree.commit({}).error().message, HasSubstr("not on a branch"));
  repo.git("trees/a", "switch lk/run/a");
  const std::string b = works("b", "g", "b\n");
  repo.git("trees/a", "merge --no-ff --no-commit " + b);
  EXPECT_THAT(tree.commit({}).error().message, HasSubstr("in the middle of a merge"));
  repo.git("trees/a", "merge --abort");
  repo.init("trees/a/inner");
  EXPECT_THAT(tree.commit({}).error().message, HasSubstr("\"inner\" is a repository of its own"));
  std::filesystem::remove_all(repo.at("trees/a/inner"));
  const auto done = tree.commit({});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_FALSE(done->made);
}

TEST_F(AgentTrees, IsRemovedWithItsBranch) {
  repo.write("r/.env", "SECRET=1\n");
  repo.write("r/node_modules/m/index.js", "m\n");
  const std::string tip = works("a", "g", "g\n");
  EXPECT_EQ(text_of("trees/a/.env"), "SECRET=1\n");
  EXPECT_EQ(text_of("trees/a/node_modules/m/index.js"), "m\n");
  EXPECT_EQ(says("trees/a", {"show", "--format=", "--name-only"}), "g") << "not what we provided";
  const TreeOrders wanted = orders("a");
  const Folder folder = marks("a");
  const auto kept = AgentTree(wanted, folder, {}).remove(tip);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->kept, "");
  EXPECT_TRUE(kept->folder_gone);
  EXPECT_FALSE(is_there("trees/a"));
  EXPECT_EQ(says("r", {"branch", "--list", "lk/*"}), "");
  EXPECT_EQ(text_of("r/node_modules/m/index.js"), "m\n") << "the link was followed";
  const auto again = AgentTree(wanted, folder, {}).remove(tip);
  EXPECT_TRUE(again && again->folder_gone && again->kept.empty());
}

TEST_F(AgentTrees, NothingThatWouldBeLostIsRemoved) {
  repo.write("r/.env", "SECRET=1\n");
  const std::string tip = works("a", "g", "g\n");
  const TreeOrders wanted = orders("a");
  const Folder folder = marks("a");
  const auto why_kept = [&] {
    const auto kept = AgentTree(wanted, folder, {}).remove(tip);
    EXPECT_TRUE(kept) << kept.error().message;
    EXPECT_TRUE(is_there("trees/a/.env"));
    return kept && !kept->folder_gone ? kept->kept : "";
  };
  repo.write("trees/a/left", "x\n");
  EXPECT_EQ(why_kept(), "uncommitted: left");
  std::filesystem::remove(repo.at("trees/a/left"));
  repo.write("trees/a/f", "changed\n");
  EXPECT_EQ(why_kept(), "uncommitted: f");
  repo.git("trees/a", "checkout f");
  repo.write("trees/a/.env", "SECRET=2\n");
  EXPECT_EQ(why_kept(), "its copy of .env was changed");
  repo.write("trees/a/.env", "SECRET=1\n");
  repo.git("trees/a", "commit --allow-empty -m more");
  EXPECT_EQ(why_kept(), "its branch has other commits now");
  repo.git("trees/a", "reset --hard HEAD^");
  repo.git("trees/a", "checkout --detach");
  EXPECT_EQ(why_kept(), "it is not on a branch any more");
  repo.git("trees/a", "checkout lk/run/a");
  repo.git("r", "worktree lock --reason busy " + repo.at("trees/a"));
  const auto locked = AgentTree(wanted, folder, {}).remove(tip);
  ASSERT_TRUE(locked && !locked->folder_gone);
  EXPECT_EQ(locked->kept, "it is locked (\"busy\")");
  EXPECT_TRUE(is_there("trees/a/.env")) << "whoever locked it works there";
  EXPECT_TRUE(is_there("trees/a/g"));
  repo.git("r", "worktree unlock " + repo.at("trees/a"));
  const auto kept = AgentTree(wanted, folder, {}).remove(tip);
  EXPECT_TRUE(kept && kept->folder_gone && kept->kept.empty());
}

TEST_F(AgentTrees, G2WhatWasWrittenAmongCopiesIsNotRemoved) {
  repo.write("r/.gitignore", "data/\n.env\nnode_modules\nout/\n");
  repo.git("r", "commit -am ignored");
  base = says("r", {"rev-parse", "HEAD"});
  repo.write("r/data/in", "in\n");
  repo.write("r/data/deep/more", "more\n");
  repo.write("r/node_modules/m", "m\n");
  TreeOrders wanted = orders("a");
  wanted.patterns.copy = {".env*", "data/"};
  const Folder folder = marks("a");
  ASSERT_TRUE(AgentTree(wanted, folder, {}).ensure());
  const auto why_kept = [&] {
    const auto kept = AgentTree(wanted, folder, {}).remove(base);
    EXPECT_TRUE(kept) << kept.error().message;
    return kept && !kept->folder_gone ? kept->kept : "removed";
  };
  repo.write("trees/a/data/deep/new", "precious\n");
  EXPECT_EQ(why_kept(), "not in git: data/deep/new");
  repo.write("trees/a/data/in", "changed\n");
  EXPECT_EQ(why_kept(), "its copy of data/in was changed; not in git: data/deep/new");
  repo.write("trees/a/data/in", "in\n");
  // What the agent itself has committed there is safe, and only that.
  repo.git("trees/a", "add -f data/deep/new");
  repo.git("trees/a", "commit -m own");
  const std::string tip = says("trees/a", {"rev-parse", "HEAD"});
  repo.git("r", "merge -q " + tip);
  repo.write("trees/a/data/deep/new", "more precious\n");
  const auto changed = AgentTree(wanted, folder, {}).remove(tip);
  ASSERT_TRUE(changed && !changed->folder_gone);
  EXPECT_EQ(changed->kept, "not in git: data/deep/new");
  repo.git("trees/a", "reset -q --hard " + base);
  repo.write("trees/a/.env", "made here\n");
  EXPECT_EQ(why_kept(), "not in git: .env") << "ignored, but the settings would have copied it";
  std::filesystem::remove(repo.at("trees/a/.env"));
  std::filesystem::remove(repo.at("trees/a/node_modules"));
  repo.write("trees/a/node_modules/own", "own\n");
  EXPECT_EQ(why_kept(), "its link node_modules was replaced");
  std::filesystem::remove_all(repo.at("trees/a/node_modules"));
  std::filesystem::remove(repo.at("trees/a/data/in"));
  repo.write("trees/a/out/built", "built\n");
  const auto removed = AgentTree(wanted, folder, {}).remove(base);
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(removed->kept, "");
  EXPECT_THAT(removed->ignored, testing::ElementsAre("out/")) << "told";
  EXPECT_EQ(text_of("r/data/in") + text_of("r/node_modules/m"), "in\nm\n");
}

TEST_F(AgentTrees, WhatGitDoesNotLookAtIsNotRemoved) {
  const std::string tip = works("a", "g", "g\n");
  const TreeOrders wanted = orders("a");
  const Folder folder = marks("a");
  const auto why_kept = [&] {
    const auto kept = AgentTree(wanted, folder, {}).remove(tip);
    EXPECT_TRUE(kept) << kept.error().message;
    return kept && !kept->folder_gone ? kept->kept : "removed";
  };
  for (const std::string flag : {"assume-unchanged", "skip-worktree"}) {
    repo.git("trees/a", "update-index --" + flag + " f");
    repo.write("trees/a/f", "local\n");
    EXPECT_EQ(why_kept(), "git was told not to look at f (git update-index)");
    repo.git("trees/a", "update-index --no-" + flag + " f");
    repo.git("trees/a", "checkout f");
  }
  repo.init("trees/a/node_modules/");  // ignored, with commits of its own
  EXPECT_EQ(why_kept(), "not in git: node_modules/");
  std::filesystem::remove_all(repo.at("trees/a/node_modules"));
  EXPECT_EQ(why_kept(), "removed");
}

TEST_F(AgentTrees, CommitsWithWhatWasProvidedAreRefused) {
  repo.write("r/.gitignore", "x\n");
  repo.git("r", "commit -am ignored");
  base = says("r", {"rev-parse", "HEAD"});
  repo.write("r/.env", "SECRET=1\n");
  repo.write("r/node_modules/m", "m\n");
  const TreeOrders wanted = orders("a");
  const Folder folder = marks("a");
  AgentTree tree(wanted, folder, {});
  ASSERT_TRUE(tree.ensure());
  repo.write("trees/a/g", "g\n");
  repo.git("trees/a", "add -A");
  repo.git("trees/a", "commit -m own");
  const auto refuses = [&](const std::string& names) {
    const auto done = tree.commit({});
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message, HasSubstr("its own commit has " + names + ", which"));
    EXPECT_THAT(done.error().hint, HasSubstr("trees/a reset --soft " + base.substr(0, 12)));
  };
  refuses(".env, node_modules");
  // Removed again, it is still in the history that would be merged.
  repo.git("trees/a", "rm -q --cached .env node_modules");
  repo.git("trees/a", "commit -m without");
  refuses(".env, node_modules");
  repo.git("trees/a", "reset -q --soft " + base);
  const auto done = tree.commit({});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(says("trees/a", {"show", "--format=", "--name-only"}), "g");
}

TEST_F(AgentTrees, ABranchThatCannotBeDeletedIsNotAKeptWorktree) {
  const std::string tip = works("a", "g", "g\n");
  const TreeOrders wanted = orders("a");
  const Folder folder = marks("a");
  repo.write("r/.git/packed-refs.lock", "");
  const auto kept = AgentTree(wanted, folder, {}).remove(tip);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_TRUE(kept->folder_gone);
  EXPECT_FALSE(is_there("trees/a"));
  EXPECT_THAT(kept->kept, HasSubstr("packed-refs.lock"));
  std::filesystem::remove(repo.at("r/.git/packed-refs.lock"));
  const auto again = AgentTree(wanted, folder, {}).remove(tip);
  EXPECT_TRUE(again && again->kept.empty());
  EXPECT_EQ(says("r", {"branch", "--list", "lk/*"}), "");
}

TEST_F(AgentTrees, WhatWasGivenUpBeginsAgain) {
  works("a", "g", "g\n");
  repo.git("r", "worktree remove --force " + repo.at("trees/a"));
  repo.git("r", "branch -D lk/run/a");
  const TreeOrders wanted = orders("a");
  const Folder folder = marks("a");
  EXPECT_EQ(AgentTree(wanted, folder, {}).ensure().value_or(""), base);
  EXPECT_FALSE(is_there("trees/a/g"));
}

TEST_F(AgentTrees, WhoeverIsStoppedLeavesNothingThatAnotherCannotFinish) {
  const TreeOrders wanted = orders("a");
  const Folder folder = marks("a");
  for (int calls = 0;; ++calls) {
    int left = calls;
    const auto start = AgentTree(wanted, folder, [&] { return left-- > 0; }).ensure();
    if (start) break;
    ASSERT_LT(calls, 1000);
  }
  EXPECT_EQ(AgentTree(wanted, folder, {}).ensure().value_or(""), base);
}

}  // namespace
}  // namespace lockkeeper::crew
