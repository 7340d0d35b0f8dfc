#include "crew/changes/changes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "crew/changes/changes_testing.h"

namespace lockkeeper::crew {
namespace {

namespace fs = std::filesystem;

// A repository with two committed files, a dirty one and an untracked one.
class InGit : public testing::Test {
 protected:
  InGit() {
    repository_.init("r");
    repository_.write("r/src/a.txt", "a\n");
    repository_.write("r/src/b.txt", "b\n");
    repository_.write("r/dirty.txt", "committed\n");
    repository_.write("r/.gitignore", "*.o\n/build/\n");
    repository_.git("r", "add -A");
    repository_.git("r", "commit -m files");
    repository_.write("r/dirty.txt", "not committed\n");
    repository_.write("r/new.txt", "not tracked\n");
    root_ = repository_.at("r");
  }
  void write(const std::string& name, const std::string& text) {
    repository_.write("r/" + name, text);
  }
  void git(const std::string& arguments) { repository_.git("r", arguments); }
  void remove(const std::string& name) { fs::remove_all(root_ + "/" + name); }
  // Sets the times back and forth, as `touch` does.
  void touch(const std::string& name) {
    fs::last_write_time(root_ + "/" + name, fs::file_time_type::clock::now());
  }
  Words during(const std::function<void()>& work, const Words& leave_out = {}) {
    return changes_during(root_, work, leave_out);
  }

  realm::TestRepository repository_;
  std::string root_;
};

TEST_F(InGit, IsAskedAndFindsNothingWhereNothingHappened) {
  const Tree tree = tree_of(root_);
  EXPECT_TRUE(tree.by_git);
  EXPECT_EQ(tree.head.size(), 40U);
  EXPECT_EQ(tree.files.size(), 5U);
  EXPECT_TRUE(tree.files.at("dirty.txt").dirty);
  EXPECT_TRUE(tree.files.at("new.txt").dirty);
  EXPECT_FALSE(tree.files.at("src/a.txt").dirty);
  EXPECT_EQ(during([] {}), Words{});
}

TEST_F(InGit, WhatWasAddedModifiedAndRemoved) {
  EXPECT_EQ(during([&] {
              write("src/a.txt", "other\n");
              write("deep/er/c.txt", "c\n");
              remove("src/b.txt");
            }),
            (Words{"added deep/er/c.txt", "modified src/a.txt", "removed src/b.txt"}));
}

TEST_F(InGit, TouchedIsNotChanged) {
  EXPECT_EQ(during([&] {
              touch("src/a.txt");
              touch("dirty.txt");
              touch("new.txt");
              write("src/b.txt", "b\n");
            }),
            Words{});
}

TEST_F(InGit, WhatWasDirtyBeforeAndChangedAgainIsAChange) {
  EXPECT_EQ(during([&] {
              write("dirty.txt", "not committed!\n");
              write("new.txt", "not tracked!\n");
            }),
            (Words{"modified dirty.txt", "modified new.txt"}));
}

TEST_F(InGit, CommittedChangesCountAndCommittingAloneDoesNot) {
  EXPECT_EQ(during([&] {
              write("src/a.txt", "committed by the agent\n");
              remove("src/b.txt");
              write("src/c.txt", "c\n");
              git("add -A");
              git("commit -m work");
            }),
            (Words{"modified src/a.txt", "removed src/b.txt", "added src/c.txt"}))
      << "dirty.txt and new.txt were committed as they were";
}

TEST_F(InGit, TakenBackIsAChangeOfWhatWasDirty) {
  EXPECT_EQ(during([&] { git("checkout -- dirty.txt"); }), Words{"modified dirty.txt"});
}

TEST_F(InGit, ABranchSwitchedToCounts) {
  git("checkout -b other");
  write("src/a.txt", "on other\n");
  git("commit -m other src/a.txt");
  EXPECT_EQ(during([&] { git("checkout main"); }), Words{"modified src/a.txt"});
}

TEST_F(InGit, TheBitForProgramsCounts) {
  EXPECT_EQ(during([&] {
              ::chmod((root_ + "/src/a.txt").c_str(), 0755);
              ::chmod((root_ + "/new.txt").c_str(), 0755);
            }),
            (Words{"modified new.txt", "modified src/a.txt"}));
}

TEST_F(InGit, TheIndexAloneIsNoChange) {
  EXPECT_EQ(during([&] {
              git("rm --cached src/a.txt");
              git("add new.txt");
            }),
            Words{});
}

TEST_F(InGit, LookingWritesNothing) {
  touch("src/a.txt");
  const auto before = fs::last_write_time(root_ + "/.git/index");
  tree_of(root_);
  EXPECT_EQ(fs::last_write_time(root_ + "/.git/index"), before);
  EXPECT_FALSE(fs::exists(root_ + "/.git/index.lock"));
}

TEST_F(InGit, IgnoredAndLeftOutDoNotCount) {
  EXPECT_EQ(during(
                [&] {
                  write("src/a.o", "object");
                  write("build/x", "x");
                  write("out/agent.log", "log");
                  write("other/report.md", "md");
                  write(".lockkeeper/data", "store");
                  write("output.txt", "counts");
                },
                {root_ + "/out", "other/"}),
            Words{"added output.txt"});
}

TEST_F(InGit, ToIgnoreIsNotToRemoveAndToUnignoreIsNotToAdd) {
  write("hidden.o", "object");
  ::usleep(100'000);  // older than the look
  EXPECT_EQ(during([&] { write(".gitignore", "*.txt\n"); }), Words{"modified .gitignore"});
}

TEST_F(InGit, WhatTheIndexWasToldToLookAwayFromIsSeen) {
  EXPECT_EQ(during([&] {
              git("update-index --assume-unchanged src/a.txt");
              git("update-index --skip-worktree src/b.txt");
              write("src/a.txt", "hidden\n");
              write("src/b.txt", "hidden\n");
            }),
            (Words{"modified src/a.txt", "modified src/b.txt"}));
  EXPECT_EQ(during([&] { write("src/a.txt", "hidden again\n"); }), Words{"modified src/a.txt"});
}

TEST_F(InGit, NamesOfAnyBytes) {
  const std::string odd = "line\nbreak \"quoted\" \xff.txt";
  EXPECT_EQ(during([&] { write(odd, "x"); }), Words{"added " + odd});
  git("add -A");
  git("commit -m odd");
  EXPECT_EQ(during([&] { write(odd, "y"); }), Words{"modified " + odd});
  EXPECT_EQ(during([&] { remove(odd); }), Words{"removed " + odd});
}

TEST_F(InGit, SymlinksAreNamesNotWhatTheyLeadTo) {
  repository_.write("elsewhere/x", "x");
  repository_.link("../elsewhere", "r/away");
  repository_.link("src/a.txt", "r/link");
  git("add -A");
  git("commit -m links");
  EXPECT_EQ(during([&] { repository_.write("elsewhere/x", "changed"); }), Words{});
  EXPECT_EQ(during([&] {
              remove("link");
              repository_.link("src/b.txt", "r/link");
              remove("away");
              write("away", "a file now");
            }),
            (Words{"modified away", "modified link"}));
}

TEST_F(InGit, AFolderThatBecameASymlinkIsGone) {
  repository_.write("elsewhere/a.txt", "a\n");
  repository_.write("elsewhere/b.txt", "b\n");
  EXPECT_EQ(during([&] {
              remove("src");
              repository_.link("../elsewhere", "r/src");
            }),
            (Words{"added src", "removed src/a.txt", "removed src/b.txt"}));
}

TEST_F(InGit, NoCommitYet) {
  repository_.folder("fresh");
  repository_.git("fresh", "init .");
  repository_.write("fresh/a", "a");
  const std::string root = repository_.at("fresh");
  EXPECT_TRUE(tree_of(root).by_git);
  EXPECT_EQ(tree_of(root).head, "");
  EXPECT_EQ(changes_during(root,
                           [&] {
                             repository_.git("fresh", "add -A");
                             repository_.git("fresh", "commit -m first");
                             repository_.write("fresh/b", "b");
                           }),
            Words{"added b"});
}

TEST_F(InGit, SubmodulesAndRepositoriesInside) {
  repository_.init("library");
  repository_.write("library/l.txt", "l\n");
  repository_.git("library", "add -A");
  repository_.git("library", "commit -m l");
  git("submodule add ../library libs/library");
  git("commit -m submodule");
  repository_.init("r/inner");
  write("inner/i.txt", "i\n");
  EXPECT_EQ(tree_of(root_).nested.size(), 2U);
  EXPECT_EQ(during([&] {
              write("libs/library/l.txt", "changed\n");
              repository_.git("r/libs/library", "commit -am changed");
              write("libs/library/m.txt", "m\n");
              write("inner/i.txt", "changed\n");
              write("inner/j.txt", "j\n");
            }),
            (Words{"modified inner/i.txt", "added inner/j.txt", "modified libs/library/l.txt",
                   "added libs/library/m.txt"}));
}

TEST_F(InGit, AWorktreeIsARepositoryToo) {
  git("worktree add ../linked");
  const std::string root = repository_.at("linked");
  EXPECT_TRUE(tree_of(root).by_git);
  EXPECT_EQ(changes_during(root, [&] { repository_.write("linked/src/a.txt", "x\n"); }),
            Words{"modified src/a.txt"});
}

TEST_F(InGit, AFolderOfARepositoryIsWalkedNotAskedAbout) {
  EXPECT_FALSE(tree_of(root_ + "/src").by_git);
}

TEST_F(InGit, OfTwoKindsOfTreesNothingIsSaid) {
  const Tree before = tree_of(root_);
  fs::rename(root_ + "/.git", root_ + "/away");
  const auto changes = changes_between(before, tree_of(root_), root_);
  ASSERT_FALSE(changes);
  EXPECT_EQ(changes.error().message, "git answered only before the agent ran");
}

TEST_F(InGit, ADamagedRepositoryIsWalked) {
  write(".git/HEAD", "nonsense");
  const Tree tree = tree_of(root_);
  EXPECT_FALSE(tree.by_git);
  EXPECT_TRUE(tree.files.contains("src/a.txt"));
  EXPECT_FALSE(tree.files.contains(".git/HEAD"));
}

// --- without git ---------------------------------------------------------

class OutsideGit : public testing::Test {
 protected:
  OutsideGit() {
    repository_.write("w/a.txt", "a");
    repository_.write("w/b/c.txt", "c");
    root_ = repository_.at("w");
  }
  Words during(const std::function<void()>& work, const Words& leave_out = {}) {
    return changes_during(root_, work, leave_out);
  }
  realm::TestRepository repository_;
  std::string root_;
};

TEST_F(OutsideGit, WhatWasAddedModifiedAndRemoved) {
  EXPECT_FALSE(tree_of(root_).by_git);
  EXPECT_EQ(during([] {}), Words{});
  EXPECT_EQ(during([&] {
              repository_.write("w/a.txt", "longer");
              repository_.write("w/n/e/w", "w");
              fs::remove_all(root_ + "/b");
            }),
            (Words{"modified a.txt", "removed b/c.txt", "added n/e/w"}));
}

TEST_F(OutsideGit, OneTickIsNotMissed) {
  for (int i = 0; i < 20; ++i) {
    repository_.write("w/a.txt", "x");
    EXPECT_EQ(during([&] { repository_.write("w/a.txt", "y"); }), Words{"modified a.txt"}) << i;
  }
}

TEST_F(OutsideGit, PermissionsCount) {
  EXPECT_EQ(during([&] { ::chmod((root_ + "/a.txt").c_str(), 0600); }), Words{"modified a.txt"});
}

TEST_F(OutsideGit, SymlinksAreNotFollowed) {
  repository_.write("elsewhere/x", "x");
  repository_.link("../elsewhere", "w/away");
  repository_.link(".", "w/round");
  EXPECT_EQ(tree_of(root_).files.size(), 4U);
  EXPECT_EQ(during([&] { repository_.write("elsewhere/x", "y"); }), Words{});
}

TEST_F(OutsideGit, LeftOutFoldersAndPipesDoNoHarm) {
  ASSERT_EQ(::mkfifo((root_ + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(during(
                [&] {
                  repository_.write("w/out/log", "x");
                  repository_.write("w/.lockkeeper/x", "x");
                  repository_.write("w/.git/x", "x");
                  repository_.write("w/outer", "x");
                },
                {root_ + "/out/"}),
            Words{"added outer"});
}

TEST_F(InGit, WithoutGitTheTreeIsWalked) {
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", root_.c_str(), 1);
  const Tree tree = tree_of(root_);
  ::setenv("PATH", before.c_str(), 1);
  EXPECT_FALSE(tree.by_git);
  EXPECT_TRUE(tree.files.contains("src/a.txt"));
}

TEST_F(OutsideGit, AsDeepAsItGoes) {
  std::string path = "w";
  for (int i = 0; i < 400; ++i) path += "/d";
  repository_.write(path + "/x", "x");
  EXPECT_EQ(tree_of(root_).files.size(), 3U);
}

TEST_F(OutsideGit, ARootThatIsGoneIsAnError) {
  EXPECT_FALSE(scan_tree(root_ + "/missing", {}));
}

}  // namespace
}  // namespace lockkeeper::crew
