// How a layout comes to a realm and leaves it: by the verb, by the settings, and what each does to
// what is there already.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "layouts/layout_stage.h"

namespace lockkeeper::layouts {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Register : public testing::Test {
 protected:
  void settings(const std::string& text) { stage_.file("lockkeeper.toml", text); }

  LayoutStage stage_;
};

TEST_F(Register, NoneRegisteredNothingIsWrittenAndNothingSeen) {
  stage_.bash_takes("a.c");
  stage_.expect(0, "ann", {"acquire", "a.c"});
  EXPECT_FALSE(exists(stage_.store() + "/layouts.json"));
  EXPECT_FALSE(exists(stage_.store() + "/layouts.lock"));
  EXPECT_TRUE(stage_.expect(0, "", {"layout", "list"}).json()["layouts"].empty());
}

TEST_F(Register, ByVerbTwiceIsOnceAndGitDoesNotShowIt) {
  const std::string id = stage_.add("mkdir", "spec");
  EXPECT_EQ(stage_.add("mkdir", stage_.repo() + "/spec/"), id);
  stage_.add("workflow", "out");
  const Json all = stage_.expect(0, "", {"layout", "list"}).json()["layouts"];
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]["id"], id);
  EXPECT_EQ(all[0]["from"], "registered");
  EXPECT_EQ(all[0]["mode"], "both");
  stage_.expect(0, "ann", {"acquire", "a.c"});
  const std::string exclude = read_text(stage_.repo() + "/.git/info/exclude");
  EXPECT_THAT(exclude, HasSubstr("/spec/.locks/\n"));
  EXPECT_EQ(exclude.find("/spec/.locks/"), exclude.rfind("/spec/.locks/"));
  const Answer status = stage_.finish(stage_.command({"git", "status", "--porcelain"}));
  EXPECT_EQ(status.out, "") << "what layouts write is not part of the repository";
}

TEST_F(Register, WhatCannotBeALayoutIsRefusedAndNothingIsRegistered) {
  EXPECT_EQ(stage_.expect(65, "", {"layout", "add", "svn", "spec"}).status, 65);
  EXPECT_EQ(stage_.expect(65, "", {"layout", "add", "mkdir", "no/such"}).status, 65);
  stage_.file("plain");
  EXPECT_EQ(stage_.expect(65, "", {"layout", "add", "mkdir", "plain"}).status, 65);
  EXPECT_EQ(stage_.expect(65, "", {"layout", "add", "mkdir", ".git/hooks"}).status, 65);
  EXPECT_EQ(stage_.expect(65, "", {"layout", "add", "workflow", ".git"}).status, 65);
  EXPECT_EQ(stage_.expect(65, "", {"layout", "add", "mkdir", "spec", "--option", "x=1"}).status,
            65);
  EXPECT_EQ(stage_.expect(64, "", {"layout", "add", "mkdir", "spec", "--mode", "rw"}).status, 64);
  EXPECT_EQ(stage_.expect(66, "", {"layout", "remove", "mkdir-00000000"}).status, 66);
  EXPECT_EQ(stage_.expect(66, "", {"layout", "ignore", "elsewhere/x"}).status, 66);
  EXPECT_TRUE(stage_.expect(0, "", {"layout", "list"}).json()["layouts"].empty());
  stage_.expect(0, "ann", {"acquire", "a.c"});
}

TEST_F(Register, BySettingsOffReadAndBoth) {
  settings("[[layout]]\nkind = \"mkdir\"\nroot = \"spec\"\nmode = \"off\"\n");
  ASSERT_TRUE(stage_.bash_takes("a.c"));
  stage_.expect(0, "ann", {"acquire", "a.c"});
  stage_.expect(0, "ann", {"release", "a.c"});
  settings("[[layout]]\nkind = \"mkdir\"\nroot = \"spec\"\nmode = \"read\"\n");
  EXPECT_EQ(LayoutStage::conflict(stage_.expect(75, "ann", {"acquire", "a.c"}))["agent"], "bash");
  stage_.expect(0, "ann", {"acquire", "b.c"});
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("a.c")) << "read: ours are not shown";
  settings("[[layout]]\nkind = \"mkdir\"\nroot = \"spec\"\n");
  stage_.expect(0, "ann", {"acquire", "c.c"});
  EXPECT_THAT(stage_.mkdir_locks(), testing::Contains("c.c"));
  const Json row = stage_.layout("mkdir");
  EXPECT_THAT(row["from"].get<std::string>(), HasSubstr("lockkeeper.toml"));
  const Answer removed = stage_.expect(65, "", {"layout", "remove", row["id"]});
  EXPECT_THAT(removed.out, HasSubstr("lockkeeper.toml"));
}

TEST_F(Register, LeasesThatAreHeldAlreadyAreShownWhenALayoutComes) {
  stage_.expect(0, "ann", {"acquire", "a.c", "src/b.c"});
  stage_.expect(0, "bob", {"acquire", "docs/", "--mode", "shared"});
  stage_.add_both();
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("a.c", "src__b.c"));
  EXPECT_EQ(stage_.workflow_mirrors().size(), 2U);
  EXPECT_THAT(stage_.traces(), IsEmpty());
  stage_.expect(0, "ann", {"release", "--all"});
  EXPECT_THAT(stage_.mkdir_locks(), IsEmpty());
  EXPECT_EQ(stage_.workflow_mirrors().size(), 1U);
}

TEST_F(Register, RemoveTakesOursAwayAndForgetsTheirs) {
  const std::string id = stage_.add("mkdir", "spec");
  ASSERT_TRUE(stage_.bash_takes("theirs"));
  stage_.expect(75, "ann", {"acquire", "theirs"});
  stage_.expect(0, "ann", {"acquire", "ours"});
  stage_.expect(0, "", {"layout", "remove", id});
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("theirs"));
  stage_.expect(0, "bob", {"acquire", "theirs"});
  stage_.expect(75, "bob", {"acquire", "ours"});
  EXPECT_EQ(stage_.events("ended").at(0)["cause"], "layout_removed");
  stage_.healthy();
}

// Both ways in which a layout stops counting without `layout remove`: nobody can end its locks
// afterwards, so they must end by themselves.
TEST_F(Register, ALayoutThatLeavesTheSettingsOrIsSwitchedOffBlocksNobody) {
  settings("[[layout]]\nkind = \"mkdir\"\nroot = \"spec\"\n");
  stage_.add("workflow", "out");
  ASSERT_TRUE(stage_.bash_takes("a.c"));
  stage_.workflow_takes("wf", {"b.c"});
  stage_.expect(75, "ann", {"acquire", "a.c"});
  stage_.expect(75, "ann", {"acquire", "b.c"});
  stage_.expect(0, "ann", {"acquire", "mine"});
  settings("");
  stage_.add("workflow", "out", {"--mode", "off"});
  stage_.expect(0, "ann", {"acquire", "a.c"});
  stage_.expect(0, "ann", {"acquire", "b.c"});
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("a.c")) << "what showed ours is taken away";
  EXPECT_TRUE(stage_.workflow_mirrors().empty());
  EXPECT_TRUE(exists(stage_.workflow_lock("wf")));
  stage_.healthy();
}

TEST_F(Register, FromBothToReadTakesOursAwayAndStillSeesTheirs) {
  stage_.add("mkdir", "spec");
  ASSERT_TRUE(stage_.bash_takes("theirs"));
  stage_.expect(0, "ann", {"acquire", "ours"});
  stage_.add("mkdir", "spec", {"--mode", "read"});
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("theirs"));
  stage_.expect(75, "ann", {"acquire", "theirs"});
  stage_.add("mkdir", "spec");
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("ours", "theirs"));
  stage_.healthy();
}

TEST_F(Register, CheckWithoutAStoreCreatesNothingAndSeesTheLocksOfASettingsLayout) {
  settings("[[layout]]\nkind = \"mkdir\"\nroot = \"spec\"\n");
  ASSERT_TRUE(stage_.bash_takes("a.c"));
  const Json held = LayoutStage::conflict(stage_.expect(75, "ann", {"check", "a.c"}));
  EXPECT_EQ(held["foreign"]["kind"], "mkdir");
  EXPECT_EQ(held["foreign"]["path"], stage_.mkdir_lock("a.c"));
  stage_.expect(0, "ann", {"check", "b.c"});
  EXPECT_FALSE(exists(stage_.store()));
}

TEST_F(Register, ManyLayoutsOfOneKindEachShowEachLease) {
  for (int i = 0; i < 3; ++i) {
    fs::create_directories(stage_.repo() + "/m" + std::to_string(i));
    stage_.add("mkdir", "m" + std::to_string(i));
  }
  stage_.expect(0, "ann", {"acquire", "a.c"});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(exists(stage_.repo() + "/m" + std::to_string(i) + "/.locks/files/a.c/owner"));
  }
  stage_.expect(0, "ann", {"release", "a.c"});
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(exists(stage_.repo() + "/m" + std::to_string(i) + "/.locks/files/a.c"));
  }
}

}  // namespace
}  // namespace lockkeeper::layouts
