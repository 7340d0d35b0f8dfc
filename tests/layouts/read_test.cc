// Other tools' locks refuse ours, with who and where; they end where they end.
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

class Reading : public testing::Test {
 protected:
  void SetUp() override { stage_.add_both(); }

  LayoutStage stage_;
};

TEST_F(Reading, AMkdirLockRefusesAcquireAndCheckWithItsHolder) {
  ASSERT_TRUE(stage_.bash_takes("src__a.c", "worker-7"));
  for (const char* verb : {"acquire", "check"}) {
    const Json held = LayoutStage::conflict(stage_.expect(75, "ann", {verb, "src/a.c"}));
    EXPECT_EQ(held["agent"], "worker-7");
    EXPECT_EQ(held["foreign"]["kind"], "mkdir");
    EXPECT_EQ(held["foreign"]["path"], stage_.mkdir_lock("src__a.c"));
    EXPECT_TRUE(held["fence"].is_null());
    EXPECT_TRUE(held["alive"].is_null());
    EXPECT_TRUE(held["expires_at"].is_null());
  }
  // Folders and patterns over it, and only over it.
  stage_.expect(75, "ann", {"acquire", "src/"});
  stage_.expect(75, "ann", {"acquire", "**/*.c"});
  stage_.expect(75, "ann", {"acquire", "src/a.c", "--mode", "shared"});
  stage_.expect(0, "ann", {"acquire", "src/b.c"});
  stage_.expect(0, "ann", {"check", "docs/"});
  // An agent of the same name is not the same owner.
  stage_.expect(75, "worker-7", {"acquire", "src/a.c"});
  stage_.bash_drops("src__a.c");
  stage_.expect(0, "ann", {"check", "src/a.c"});
  stage_.expect(0, "ann", {"acquire", "src/a.c"});
  stage_.healthy();
}

TEST_F(Reading, AFolderWithoutAnOwnerFileIsALockOfAnUnknownHolder) {
  fs::create_directories(stage_.mkdir_lock("a.c"));
  const Json held = LayoutStage::conflict(stage_.expect(75, "ann", {"acquire", "a.c"}));
  EXPECT_EQ(held["agent"], "unknown");
  write_text(stage_.mkdir_lock("a.c") + "/owner", "agent: late\n");
  EXPECT_EQ(LayoutStage::conflict(stage_.expect(75, "ann", {"acquire", "a.c"}))["agent"], "late");
}

TEST_F(Reading, ALockOfAnUnknownHolderSaysHowToEndIt) {
  fs::create_directories(stage_.mkdir_lock("a.c"));
  for (const char* verb : {"acquire", "check"}) {
    EXPECT_THAT(stage_.as("ann", {verb, "a.c"}).err,
                HasSubstr("lockkeeper break --foreign --reason TEXT " + stage_.mkdir_lock("a.c")));
  }
}

TEST_F(Reading, AWorkflowLockRefusesItsFilesAndAllBelowItsFolders) {
  stage_.workflow_takes("builder", {"b.c"}, {"lib"});
  for (const char* name : {"b.c", "lib/deep/x.c", "lib/", "*.c"}) {
    const Json held = LayoutStage::conflict(stage_.expect(75, "ann", {"acquire", name}));
    EXPECT_EQ(held["agent"], "builder") << name;
    EXPECT_EQ(held["reason"], "t");
    EXPECT_EQ(held["foreign"]["kind"], "workflow");
    EXPECT_EQ(held["foreign"]["path"], stage_.workflow_lock("builder"));
    EXPECT_TRUE(held["fence"].is_null());
    EXPECT_FALSE(held["expires_at"].is_null());
  }
  stage_.expect(0, "ann", {"acquire", "api:GET /v1"});
  stage_.workflow_drops("builder");
  stage_.expect(0, "ann", {"acquire", "lib/"});
}

TEST_F(Reading, AWorkflowLockThatChangesItsScopeIsSeenAsItIsNow) {
  stage_.workflow_takes("builder", {"a.c"});
  const fs::path lock = stage_.workflow_lock("builder");
  fs::last_write_time(lock, fs::last_write_time(lock) - std::chrono::seconds(1));
  stage_.expect(75, "ann", {"acquire", "a.c"});
  stage_.expect(0, "ann", {"check", "b.c"});
  stage_.workflow_takes("builder", {"b.c"});
  stage_.expect(0, "ann", {"check", "a.c"});
  stage_.expect(75, "ann", {"check", "b.c"});
  stage_.expect(0, "ann", {"acquire", "a.c"});
  stage_.expect(75, "ann", {"acquire", "b.c"});
  EXPECT_EQ(stage_.list()["leases"].size(), 2U);
  stage_.healthy();
}

TEST_F(Reading, AWorkflowLockEndsAtItsOwnTime) {
  stage_.workflow_takes("builder", {"a.c"}, {}, 3);
  stage_.expect(75, "ann", {"acquire", "a.c"});
  stage_.expect(0, "ann", {"acquire", "a.c", "--wait=60s"});
  EXPECT_TRUE(exists(stage_.workflow_lock("builder"))) << "theirs to remove, not ours";
  stage_.workflow_takes("old", {"b.c"}, {}, -10);
  stage_.expect(0, "ann", {"check", "b.c"});
  stage_.expect(0, "ann", {"acquire", "b.c"});
  stage_.healthy();
}

TEST_F(Reading, L1_AWaiterIsServedWhenTheForeignLockGoesAway) {
  ASSERT_TRUE(stage_.bash_takes("a.c"));
  Process waiter = stage_.start("ann", {"acquire", "--json", "a.c", "--wait"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  stage_.bash_drops("a.c");
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
  const std::string owner = read_text(stage_.mkdir_lock("a.c") + "/owner");
  EXPECT_THAT(owner, HasSubstr("agent: ann")) << "shown before it was answered";
  EXPECT_EQ(stage_.workflow_mirrors().size(), 1U);
  stage_.healthy();
}

TEST_F(Reading, L1_AWaiterBehindAWorkflowLockIsServedInTheQueuesOrder) {
  stage_.workflow_takes("builder", {"a.c"});
  Process first = stage_.start("ann", {"acquire", "a.c", "--wait"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  Process second = stage_.start("bob", {"acquire", "a.c", "--wait"});
  ASSERT_TRUE(stage_.queue_grows_to(2));
  stage_.workflow_drops("builder");
  EXPECT_EQ(first.wait(), 0) << first.err();
  EXPECT_TRUE(second.running());
  stage_.expect(0, "ann", {"release", "a.c"});
  EXPECT_EQ(second.wait(), 0) << second.err();
  ASSERT_EQ(stage_.workflow_mirrors().size(), 1U);
  EXPECT_EQ(stage_.workflow_mirrors()[0]["agent"], "bob");
}

TEST_F(Reading, AWaiterIsNotServedWhileAnotherToolHoldsWhatWasReleased) {
  stage_.expect(0, "ann", {"acquire", "a.c", "b.c"});
  Process waiter = stage_.start("bob", {"acquire", "--json", "a.c", "--wait=30s"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  // Another tool breaks in while ann still holds it.
  stage_.workflow_takes("builder", {"a.c"});
  stage_.expect(0, "ann", {"release", "a.c"});
  // Unless it was handed over before anybody had looked: then it comes back to the queue.
  ASSERT_TRUE(eventually([&] { return stage_.waiters() == 1; }));
  stage_.workflow_drops("builder");
  EXPECT_EQ(waiter.wait(), 0) << waiter.out();
  // A handoff that came before anybody had looked was taken back. What stays came after the end of
  // the other's.
  std::vector<std::string> words;
  for (const Json& event : stage_.as("", {"log", "--json"}).lines()) {
    words.push_back(event["agent"].get<std::string>() + " " + event["event"].get<std::string>());
  }
  ASSERT_GE(words.size(), 2U);
  EXPECT_EQ(words.end()[-2], "builder released");
  EXPECT_EQ(words.end()[-1], "bob granted");
  EXPECT_EQ(std::ranges::count(words, "bob granted"),
            std::ranges::count(words, "bob withdrawn") + 1);
  stage_.healthy();
}

TEST_F(Reading, ListAndLogShowThemWithoutAFence) {
  ASSERT_TRUE(stage_.bash_takes("a.c", "worker"));
  stage_.expect(75, "ann", {"acquire", "a.c"});
  const Json lease = stage_.list()["leases"].at(0);
  EXPECT_EQ(lease["agent"], "worker");
  EXPECT_TRUE(lease["fence"].is_null());
  EXPECT_EQ(lease["foreign"]["path"], stage_.mkdir_lock("a.c"));
  EXPECT_EQ(stage_.events("foreign_seen").size(), 1U);
  stage_.expect(75, "ann", {"acquire", "a.c"});
  EXPECT_EQ(stage_.events("foreign_seen").size(), 1U) << "it is seen once";
  const Json row = stage_.layout("mkdir");
  EXPECT_EQ(row["foreign"], 1);
  EXPECT_EQ(row["shown"], 0);
  // The table of people has no number for it either.
  EXPECT_THAT(stage_.as("", {"list"}).out, testing::ContainsRegex("[0-9a-f]+  -      -\n"));
  stage_.bash_drops("a.c");
  stage_.expect(0, "ann", {"acquire", "a.c"});
  EXPECT_EQ(stage_.events("released").at(0)["cause"], "artefact_removed");
}

// A name that is longer than a key of the store may be.
TEST_F(Reading, LongNamesComeAndGoLikeShortOnes) {
  const std::string folder(120, 'd');
  const std::string file(110, 'f');
  const std::string name = folder + "__" + file;
  ASSERT_TRUE(stage_.bash_takes(name));
  stage_.expect(75, "ann", {"acquire", folder + "/" + file});
  stage_.bash_drops(name);
  stage_.expect(0, "ann", {"acquire", folder + "/" + file});
  fs::remove_all(stage_.mkdir_lock(name));
  stage_.expect(0, "", {"layout", "list"});
  EXPECT_TRUE(exists(stage_.mkdir_lock(name))) << "ours is made again";
  stage_.expect(0, "ann", {"release", "--all"});
  EXPECT_THAT(stage_.mkdir_locks(), IsEmpty());
  stage_.healthy();
}

TEST_F(Reading, NamesOutsideAsciiComeAndGoLikeOthers) {
  std::string name = "\"q\" %41 ";
  name += std::string(120, '#');  // longer in a key of the store than such a key may be
  name += "\xc3\xa9\xe4\xb8\xad.c";
  ASSERT_TRUE(stage_.bash_takes(name));
  stage_.expect(75, "ann", {"acquire", name});
  stage_.bash_drops(name);
  stage_.expect(0, "ann", {"acquire", name});
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre(name));
  stage_.expect(0, "ann", {"release", name});
  EXPECT_THAT(stage_.mkdir_locks(), IsEmpty());
}

TEST_F(Reading, I10_BrokenJsonBlocksPathGrantsNamesTheFileAndCanBeIgnored) {
  fs::create_directories(stage_.repo() + "/out/locks");
  const std::string path = stage_.workflow_lock("broken");
  for (const std::string& text :
       {std::string("{"), std::string(), std::string("[]"), std::string("{\"agent\":5}")}) {
    write_text(path, text);
    for (const char* verb : {"acquire", "check"}) {
      const Answer blocked = stage_.expect(69, "ann", {verb, "a.c"});
      EXPECT_THAT(blocked.out, HasSubstr(path));
      EXPECT_THAT(blocked.out, HasSubstr("lockkeeper layout ignore"));
    }
  }
  // Nothing else stops: what was taken before is kept, shown, released.
  EXPECT_FALSE(stage_.layout("workflow")["error"].is_null());
  EXPECT_EQ(stage_.layout("mkdir")["error"], Json());
  EXPECT_THAT(stage_.expect(69, "", {"list"}).out, HasSubstr(path)) << "never half of the truth";
  stage_.expect(0, "ann", {"acquire", "api:GET /v1"});
  stage_.expect(0, "", {"layout", "ignore", "out/locks/broken.lock"});
  stage_.expect(0, "ann", {"acquire", "a.c"});
  EXPECT_EQ(stage_.layout("workflow")["error"], Json());
  EXPECT_EQ(stage_.layout("workflow")["ignored"].size(), 1U);
  stage_.expect(0, "", {"layout", "ignore", path, "--again"});
  stage_.expect(69, "ann", {"acquire", "b.c"});
  stage_.expect(0, "ann", {"renew", "a.c"});
  stage_.expect(0, "ann", {"release", "a.c"});
  fs::remove(path);
  stage_.expect(0, "ann", {"acquire", "b.c"});
}

// Its name was stored as text, and then no file had it.
TEST_F(Reading, ALockFileWhoseNameIsNotUtf8CanBeIgnored) {
  fs::create_directories(stage_.repo() + "/out/locks");
  const std::string name = "out/locks/bad\xff.lock";
  write_text(stage_.repo() + "/" + name, "{");
  stage_.expect(69, "ann", {"acquire", "a.c"});
  stage_.expect(0, "", {"layout", "ignore", name});
  stage_.expect(0, "ann", {"acquire", "a.c"});
  stage_.expect(0, "", {"layout", "ignore", name, "--again"});
  stage_.expect(69, "ann", {"acquire", "b.c"});
}

// Otherwise the locks of that tool would look free.
TEST_F(Reading, ALayoutWhoseRootIsNotUtf8IsReadAllTheSame) {
  const std::string root = "odd\xff";
  fs::create_directories(stage_.repo() + "/" + root + "/.locks/files");
  stage_.expect(0, "", {"layout", "add", "mkdir", root});
  fs::create_directory(stage_.repo() + "/" + root + "/.locks/files/z.c");
  stage_.expect(75, "ann", {"acquire", "z.c"});
}

TEST_F(Reading, I10_DoctorNamesALockFileThatCannotBeRead) {
  fs::create_directories(stage_.repo() + "/out/locks");
  stage_.expect(0, "", {"doctor"});
  const std::string path = stage_.workflow_lock("broken");
  write_text(path, "{");
  const Answer sick = stage_.as("", {"doctor"});
  EXPECT_EQ(sick.status, 69) << sick.all();
  EXPECT_THAT(sick.out, HasSubstr(path));
  EXPECT_THAT(sick.out, HasSubstr("lockkeeper layout ignore"));
  stage_.expect(0, "", {"layout", "ignore", path});
  stage_.expect(0, "", {"doctor"});
}

TEST_F(Reading, AForeignLockThatIsIgnoredBlocksNobody) {
  ASSERT_TRUE(stage_.bash_takes("a.c"));
  stage_.workflow_takes("builder", {"b.c"});
  stage_.expect(75, "ann", {"acquire", "a.c", "b.c"});
  stage_.expect(0, "", {"layout", "ignore", "spec/.locks/files/a.c"});
  stage_.expect(0, "", {"layout", "ignore", "out/locks/builder.lock"});
  stage_.expect(0, "ann", {"check", "b.c"});
  stage_.expect(0, "ann", {"acquire", "b.c"});
  stage_.expect(0, "ann", {"check", "a.c"});
  EXPECT_TRUE(exists(stage_.mkdir_lock("a.c")));
  EXPECT_TRUE(exists(stage_.workflow_lock("builder")));
}

}  // namespace
}  // namespace lockkeeper::layouts
