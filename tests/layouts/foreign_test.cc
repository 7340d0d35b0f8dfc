// Both at once: overlaps that nobody could prevent, and other tools' locks taken over or broken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "layouts/layout_stage.h"

namespace lockkeeper::layouts {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Foreign : public testing::Test {
 protected:
  void SetUp() override { stage_.add_both(); }

  LayoutStage stage_;
};

TEST_F(Foreign, I7_AnOverlapIsRecordedAndToldToOurHolder) {
  const Answer held = stage_.expect(0, "ann", {"acquire", "src/", "--ttl", "none"});
  stage_.workflow_takes("builder", {"src/a.c"});
  stage_.expect(0, "", {"layout", "list"});
  const std::vector<Json> conflicts = stage_.events("foreign_conflict");
  ASSERT_EQ(conflicts.size(), 1U);
  EXPECT_EQ(conflicts[0]["agent"], "ann");
  EXPECT_EQ(conflicts[0]["lease"], held.lease());
  EXPECT_EQ(conflicts[0]["cause"], "workflow");
  EXPECT_EQ(conflicts[0]["reason"], stage_.workflow_lock("builder"));
  const Answer told = stage_.as("ann", {"message", "list"});
  EXPECT_THAT(told.all(), HasSubstr("foreign_conflict"));
  EXPECT_THAT(told.all(), HasSubstr("builder"));
  // Ours stands: the holder decides.
  stage_.expect(0, "ann", {"check", "src/", "--fence", std::to_string(held.fence())});
  stage_.expect(0, "", {"layout", "list"});
  EXPECT_EQ(stage_.events("foreign_conflict").size(), 1U) << "once";
  stage_.healthy();
}

TEST_F(Foreign, I7_RunNoticesAnOverlapWhileItRuns) {
  Process run = stage_.start_holding("ann", "src/");
  stage_.workflow_takes("builder", {}, {"src/deep"});
  EXPECT_TRUE(eventually([&] { return run.err().find("foreign_conflict") != std::string::npos; }))
      << run.err();
  EXPECT_THAT(run.err(), HasSubstr("builder"));
  EXPECT_EQ(stage_.events("foreign_conflict").size(), 1U);
  run.signal(SIGTERM);
  run.wait();
}

TEST_F(Foreign, AdoptByTheArtefactsPathMakesItOurs) {
  ASSERT_TRUE(stage_.bash_takes("src__a.c", "worker"));
  const Answer mine = stage_.expect(0, "ann", {"adopt", "spec/.locks/files/src__a.c"});
  EXPECT_THAT(mine.out, HasSubstr("\"src/a.c\""));
  EXPECT_GT(mine.fence(), 0U);
  EXPECT_THAT(read_text(stage_.mkdir_lock("src__a.c") + "/owner"), HasSubstr("agent: ann"));
  stage_.expect(0, "ann", {"check", "src/a.c", "--held"});
  EXPECT_EQ(LayoutStage::conflict(stage_.expect(75, "bob", {"acquire", "src/a.c"}))["agent"],
            "ann");
  EXPECT_EQ(stage_.events("ended").at(0)["cause"], "adopted");
  EXPECT_EQ(stage_.list()["leases"].size(), 1U);
  stage_.expect(0, "ann", {"release", "--lease", mine.lease()});
  EXPECT_THAT(stage_.mkdir_locks(), IsEmpty());
  EXPECT_THAT(stage_.workflow_names(), IsEmpty());
  EXPECT_THAT(stage_.traces(), IsEmpty());
  stage_.healthy();
}

// The folder's name can be read as src/m.py and as src__m.py; its holder meant one of them.
TEST_F(Foreign, D8_AnAdoptedNameIsOneLockAndItsReleaseFreesIt) {
  for (const char* const what : {"spec/.locks/files/src__m.py", "src/m.py"}) {
    ASSERT_TRUE(stage_.bash_takes("src__m.py", "worker"));
    const Answer mine = stage_.expect(0, "ann", {"adopt", what});
    ASSERT_EQ(mine.json()["lease"]["resources"].size(), 1U) << mine.out;
    EXPECT_EQ(mine.json()["lease"]["resources"][0]["key"], "src/m.py");
    stage_.expect(0, "ann", {"release", "src/m.py"});
    EXPECT_THAT(stage_.mkdir_locks(), IsEmpty()) << "scripts may take it";
    EXPECT_EQ(stage_.list()["leases"].size(), 0U);
  }
  ASSERT_TRUE(stage_.bash_takes("src__m.py", "worker"));
  const Answer named = stage_.expect(0, "ann", {"adopt", "src__m.py"});
  EXPECT_EQ(named.json()["lease"]["resources"][0]["key"], "src__m.py") << "as it was asked for";
  stage_.expect(0, "ann", {"release", "src__m.py"});
  EXPECT_THAT(stage_.mkdir_locks(), IsEmpty());
  stage_.healthy();
}

TEST_F(Foreign, AdoptOfAFolderWithoutAnOwnerFile) {
  ASSERT_TRUE(std::filesystem::create_directories(stage_.mkdir_lock("a.c")));
  stage_.expect(75, "ann", {"acquire", "a.c"});
  stage_.expect(0, "ann", {"adopt", "a.c"});
  EXPECT_THAT(read_text(stage_.mkdir_lock("a.c") + "/owner"), HasSubstr("agent: ann"));
  stage_.expect(0, "ann", {"release", "a.c"});
  EXPECT_THAT(stage_.mkdir_locks(), IsEmpty());
  stage_.healthy();
}

TEST_F(Foreign, AdoptByWhatItHolds) {
  stage_.workflow_takes("builder", {"a.c"}, {"lib"});
  const Answer mine = stage_.expect(0, "ann", {"adopt", "a.c", "--ttl", "2h"});
  EXPECT_EQ(mine.json()["lease"]["resources"].size(), 2U);
  EXPECT_EQ(mine.json()["lease"]["reason"], "t");
  const Json file = Json::parse(read_text(stage_.workflow_lock("builder")));
  EXPECT_EQ(file["agent"], "ann");
  stage_.expect(75, "bob", {"acquire", "lib/x"});
  stage_.expect(0, "ann", {"release", "--all"});
  EXPECT_THAT(stage_.workflow_names(), IsEmpty());
  EXPECT_THAT(stage_.mkdir_locks(), IsEmpty());
  stage_.healthy();
}

TEST_F(Foreign, AdoptOfNothingOrOfOursIsNotFound) {
  stage_.expect(66, "ann", {"adopt", "a.c"});
  stage_.expect(0, "ann", {"acquire", "a.c"});
  stage_.expect(66, "bob", {"adopt", "a.c"});
  stage_.expect(66, "bob", {"adopt", "spec/.locks/files/a.c"});
  ASSERT_TRUE(stage_.bash_takes("b.c"));
  stage_.expect(75, "ann", {"acquire", "b.c"});
  stage_.bash_drops("b.c");
  stage_.expect(66, "ann", {"adopt", "b.c"});
}

TEST_F(Foreign, AdoptOfWhatOverlapsAnotherHolderIsHeldAndChangesNothing) {
  stage_.expect(0, "bob", {"acquire", "src/"});
  stage_.workflow_takes("builder", {"src/a.c"});
  const std::string before = read_text(stage_.workflow_lock("builder"));
  stage_.expect(75, "ann", {"adopt", stage_.workflow_lock("builder")});
  EXPECT_EQ(read_text(stage_.workflow_lock("builder")), before);
  stage_.expect(75, "cat", {"acquire", "src/a.c"});
  stage_.healthy();
}

// A lease taken through the dialect: whoever removes its artefact has released it.
TEST_F(Foreign, I7_AnAdoptedLeaseWhoseArtefactIsRemovedIsReleasedAndItsHolderTold) {
  ASSERT_TRUE(stage_.bash_takes("a.c"));
  const Answer mine = stage_.expect(0, "ann", {"adopt", "a.c"});
  stage_.bash_drops("a.c");
  stage_.expect(0, "bob", {"check", "a.c"});
  stage_.expect(0, "bob", {"acquire", "a.c"});
  std::vector<Json> released = stage_.events("released");
  ASSERT_FALSE(released.empty());
  EXPECT_EQ(released.back()["cause"], "artefact_removed");
  EXPECT_EQ(released.back()["lease"], mine.lease());
  stage_.expect(79, "ann", {"renew", "--lease", mine.lease()});
  stage_.expect(79, "ann", {"check", "a.c", "--fence", std::to_string(mine.fence())});
  stage_.healthy();
}

TEST_F(Foreign, L1_AWaiterBehindAnAdoptedLeaseIsServedWhenItsArtefactIsRemoved) {
  ASSERT_TRUE(stage_.bash_takes("a.c"));
  stage_.expect(0, "ann", {"adopt", "a.c", "--ttl", "none"});
  Process waiter = stage_.start("bob", {"acquire", "a.c", "--wait=60s"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  stage_.bash_drops("a.c");
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
  EXPECT_THAT(read_text(stage_.mkdir_lock("a.c") + "/owner"), HasSubstr("agent: bob"));
}

TEST_F(Foreign, BreakTakesAnotherToolsLockOnlyWithForeign) {
  ASSERT_TRUE(stage_.bash_takes("a.c", "worker"));
  stage_.expect(75, "ann", {"acquire", "a.c"});
  const Answer plain = stage_.expect(77, "boss", {"break", "a.c", "--reason", "r"});
  EXPECT_THAT(plain.out, HasSubstr("--foreign"));
  EXPECT_TRUE(exists(stage_.mkdir_lock("a.c")));
  const Json broken =
      stage_.expect(0, "boss", {"break", "a.c", "--reason", "gone home", "--foreign"}).json();
  EXPECT_EQ(broken["broken"][0]["agent"], "worker");
  EXPECT_FALSE(exists(stage_.mkdir_lock("a.c")));
  const Json event = stage_.events("broken").at(0);
  EXPECT_EQ(event["cause"], "foreign");
  EXPECT_EQ(event["reason"], "gone home");
  stage_.expect(0, "ann", {"acquire", "a.c"});
  // Ours is not another tool's.
  stage_.expect(66, "boss", {"break", "a.c", "--reason", "r", "--foreign"});
  EXPECT_TRUE(exists(stage_.mkdir_lock("a.c")));
  stage_.healthy();
}

// On record, but not seen by any command yet.
TEST_F(Foreign, BreakForeignSeesALockThatNobodyHasLookedAt) {
  ASSERT_TRUE(stage_.bash_takes("a.c", "worker"));
  stage_.expect(0, "boss", {"break", "a.c", "--reason", "r", "--foreign"});
  EXPECT_FALSE(exists(stage_.mkdir_lock("a.c")));
  stage_.workflow_takes("builder", {"b.c"});
  stage_.expect(77, "boss", {"break", "b.c", "--reason", "r"});
  stage_.expect(0, "boss", {"break", "--agent", "builder", "--reason", "r", "--foreign"});
  EXPECT_FALSE(exists(stage_.workflow_lock("builder")));
}

// It went, and one of ours stands under the same name.
TEST_F(Foreign, BreakForeignOfALockThatWentAwayTouchesNothing) {
  ASSERT_TRUE(stage_.bash_takes("a.c", "worker"));
  stage_.expect(75, "ann", {"acquire", "a.c"});
  const std::string id = stage_.list()["leases"][0]["id"];
  stage_.bash_drops("a.c");
  stage_.expect(0, "ann", {"acquire", "a.c"});
  const std::string owner = read_text(stage_.mkdir_lock("a.c") + "/owner");
  stage_.expect(66, "boss", {"break", "--lease", id, "--reason", "r", "--foreign"});
  EXPECT_EQ(read_text(stage_.mkdir_lock("a.c") + "/owner"), owner);
}

// A name stands for several paths; whichever is asked for, it is refused with the holder.
TEST_F(Foreign, AnUnusualReadingOfAKnownNameIsRefusedToo) {
  stage_.file("src/a.c");
  ASSERT_TRUE(stage_.bash_takes("src__a.c", "worker"));
  stage_.expect(75, "ann", {"acquire", "src/a.c"});
  stage_.pass_ms(2'100);  // no longer young: known by its stamp
  stage_.expect(75, "ann", {"acquire", "src/a.c"});
  EXPECT_EQ(LayoutStage::conflict(stage_.expect(75, "ann", {"acquire", "src__a.c"}))["agent"],
            "worker");
  stage_.expect(75, "ann", {"check", "src__a.c"});
  stage_.expect(75, "ann", {"acquire", "src/a.c"});
}

TEST_F(Foreign, AThousandForeignLocksAreAllSeenAndAllEnd) {
  for (int i = 0; i < 1'000; ++i) stage_.bash_takes("f" + std::to_string(i));
  EXPECT_EQ(stage_.layout("mkdir")["foreign"], 1'000);
  stage_.expect(75, "ann", {"acquire", "f0", "f999"});
  stage_.expect(0, "ann", {"acquire", "free"});
  fs::remove_all(stage_.repo() + "/spec/.locks");
  EXPECT_EQ(stage_.layout("mkdir")["foreign"], 0);
  stage_.expect(0, "ann", {"acquire", "f0", "f999"});
  stage_.healthy();
}

}  // namespace
}  // namespace lockkeeper::layouts
