// Our leases as other tools see them: when they appear, what they say, and that they go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "layouts/layout_stage.h"

namespace lockkeeper::layouts {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Showing : public testing::Test {
 protected:
  void SetUp() override { stage_.add_both(); }

  void nothing_is_shown() {
    EXPECT_THAT(stage_.mkdir_locks(), IsEmpty());
    EXPECT_THAT(stage_.workflow_names(), IsEmpty());
    EXPECT_THAT(stage_.traces(), IsEmpty());
    stage_.healthy();
  }
  // Looks at the layouts on nobody's behalf.
  void look() { stage_.expect(0, "", {"layout", "list"}); }

  LayoutStage stage_;
};

TEST_F(Showing, ANativeLeaseIsShownInEveryBothLayoutAndNotInAReadOne) {
  fs::create_directories(stage_.repo() + "/only");
  stage_.add("mkdir", "only", {"--mode", "read"});
  const Answer held = stage_.expect(0, "ann", {"acquire", "src/a.c", "--reason", "why"});
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("src__a.c"));
  EXPECT_FALSE(exists(stage_.repo() + "/only/.locks"));
  const std::vector<Json> files = stage_.workflow_mirrors();
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0]["agent"], "ann");
  EXPECT_EQ(files[0]["files"], Json({"src/a.c"}));
  EXPECT_EQ(files[0]["task_description"], "why");
  EXPECT_FALSE(stage_.bash_takes("src__a.c")) << "their step fails, as it should";
  EXPECT_FALSE(held.json().contains("unmirrored"));
  EXPECT_EQ(stage_.layout("mkdir")["shown"], 1);
  stage_.expect(0, "ann", {"release", "src/a.c"});
  nothing_is_shown();
}

TEST_F(Showing, WhatCannotBeShownIsListedAsUnmirrored) {
  const Json held =
      stage_.expect(0, "ann", {"acquire", "docs/", "*.h", "api:GET /v1", "a.c"}).json();
  ASSERT_TRUE(held.contains("unmirrored")) << held.dump(1);
  std::size_t of_mkdir = 0;
  for (const Json& one : held["unmirrored"]) {
    if (one["layout"].get<std::string>().starts_with("mkdir")) of_mkdir = one["resources"].size();
  }
  EXPECT_EQ(of_mkdir, 3U) << held.dump(1);
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("a.c"));
}

TEST_F(Showing, TheModeOfWhatIsWrittenFollowsTheUmask) {
  stage_.expect(0, "ann", {"acquire", "a.c"});
  struct stat found{};
  ASSERT_EQ(::stat((stage_.mkdir_lock("a.c") + "/owner").c_str(), &found), 0);
  const mode_t mask = ::umask(022);
  ::umask(mask);
  EXPECT_EQ(found.st_mode & 0777U, 0666U & ~mask);
}

TEST_F(Showing, ItGoesWithBreakExpiryAndTheDeathOfAnAttachedHolder) {
  stage_.expect(0, "ann", {"acquire", "a.c"});
  stage_.expect(0, "boss", {"break", "a.c", "--reason", "r"});
  nothing_is_shown();
  stage_.expect(0, "ann", {"acquire", "a.c", "--ttl", "1s"});
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("a.c"));
  stage_.expect(0, "bob", {"acquire", "a.c", "--wait=60s"});
  EXPECT_THAT(read_text(stage_.mkdir_lock("a.c") + "/owner"), HasSubstr("agent: bob"));
  EXPECT_EQ(stage_.workflow_mirrors().size(), 1U);
  stage_.expect(0, "bob", {"release", "a.c"});
  nothing_is_shown();
  Process run = stage_.start_holding("cat", "a.c");
  ASSERT_TRUE(exists(stage_.mkdir_lock("a.c")));
  run.signal_group(SIGKILL);
  run.wait();
  stage_.expect(0, "dan", {"acquire", "other"});
  stage_.expect(0, "dan", {"release", "other"});
  EXPECT_TRUE(eventually([&] {
    look();
    return stage_.mkdir_locks().empty();
  })) << "a dead holder's artefact stays";
  nothing_is_shown();
}

TEST_F(Showing, AnExpiredLeaseIsTakenAwayByWhoeverComesNext) {
  stage_.expect(0, "ann", {"acquire", "a.c", "--ttl", "1s"});
  stage_.pass_ms(1'100);
  stage_.expect(0, "bob", {"acquire", "unrelated"});
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("unrelated"));
  EXPECT_EQ(stage_.workflow_mirrors().size(), 1U);
}

TEST_F(Showing, RenewalMakesThemYoungerAndShowsTheNewEnd) {
  stage_.expect(0, "ann", {"acquire", "a.c", "--ttl", "1m"});
  const std::string name = stage_.repo() + "/out/locks/" + stage_.workflow_names().at(0);
  const std::string before = read_text(name);
  const auto old = fs::last_write_time(name) - std::chrono::hours(1);
  fs::last_write_time(name, old);
  stage_.expect(0, "ann", {"renew", "a.c", "--ttl", "2h"});
  EXPECT_NE(read_text(name), before);
  EXPECT_GT(fs::last_write_time(name), old);
  // Asking again for the same is a renewal too.
  fs::last_write_time(name, old);
  stage_.expect(0, "ann", {"acquire", "a.c", "--ttl", "3h"});
  EXPECT_GT(fs::last_write_time(name), old);
  look();
  EXPECT_THAT(stage_.events("shown_again"), IsEmpty());
  EXPECT_THAT(stage_.events("foreign_seen"), IsEmpty()) << "ours was taken for another's";
  stage_.expect(0, "ann", {"release", "a.c"});
  nothing_is_shown();
}

TEST_F(Showing, APartialReleaseTakesThatPartAwayAndLeavesTheRest) {
  stage_.expect(0, "ann", {"acquire", "a.c", "b.c", "c.c"});
  stage_.expect(0, "ann", {"release", "b.c"});
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("a.c", "c.c"));
  ASSERT_EQ(stage_.workflow_mirrors().size(), 1U);
  EXPECT_EQ(stage_.workflow_mirrors()[0]["files"], Json({"a.c", "c.c"}));
  look();
  EXPECT_THAT(stage_.events("foreign_seen"), IsEmpty());
  EXPECT_TRUE(stage_.bash_takes("b.c"));
  stage_.expect(75, "bob", {"acquire", "b.c"});
  stage_.expect(0, "ann", {"release", "--all"});
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("b.c"));
}

TEST_F(Showing, SharedLeasesAreOneArtefactUntilTheLastEnds) {
  for (const char* agent : {"ann", "bob", "cat"}) {
    stage_.expect(0, agent, {"acquire", "a.c", "--mode", "shared"});
  }
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("a.c"));
  stage_.expect(0, "ann", {"release", "a.c"});
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("a.c"));
  look();
  EXPECT_THAT(stage_.events("foreign_seen"), IsEmpty());
  stage_.expect(0, "bob", {"release", "a.c"});
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("a.c"));
  stage_.expect(0, "cat", {"release", "a.c"});
  nothing_is_shown();
}

TEST_F(Showing, APartOfASharedArtefactIsGivenBackWithoutKeepingItForEver) {
  stage_.expect(0, "ann", {"acquire", "a.c", "b.c", "--mode", "shared"});
  stage_.expect(0, "bob", {"acquire", "a.c", "--mode", "shared"});
  stage_.expect(0, "ann", {"release", "a.c"});
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("a.c", "b.c"));
  stage_.expect(0, "bob", {"release", "a.c"});
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("b.c")) << "nobody holds a.c";
}

TEST_F(Showing, ARemovedSharedArtefactIsMadeAgainAndStaysOurs) {
  stage_.expect(0, "ann", {"acquire", "a.c", "--mode", "shared"});
  stage_.expect(0, "bob", {"acquire", "a.c", "--mode", "shared"});
  stage_.expect(0, "ann", {"release", "a.c"});
  fs::remove_all(stage_.mkdir_lock("a.c"));
  look();
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("a.c"));
  look();
  EXPECT_THAT(stage_.events("foreign_seen"), IsEmpty()) << "ours was taken for another's";
  stage_.expect(0, "cat", {"acquire", "a.c", "--mode", "shared"});
  stage_.expect(0, "bob", {"release", "a.c"});
  stage_.expect(0, "cat", {"release", "a.c"});
  nothing_is_shown();
}

TEST_F(Showing, RunIsShownBeforeItsCommandStartsAndNotAfterwards) {
  const std::string spec = stage_.repo() + "/spec/.locks/files";
  const Answer run =
      stage_.as("ann", {"run", "a.c", "--", "sh", "-c", "ls " + spec + " && ls out/locks"});
  EXPECT_EQ(run.status, 0) << run.all();
  EXPECT_THAT(run.out, HasSubstr("a.c\nann.lk-"));
  nothing_is_shown();
}

TEST_F(Showing, AHandoffIsShownBeforeItIsAnswered) {
  stage_.expect(0, "ann", {"acquire", "a.c"});
  Process waiter = stage_.start(
      "bob", {"run", "a.c", "--wait", "--", "cat", stage_.mkdir_lock("a.c") + "/owner"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  stage_.expect(0, "ann", {"release", "a.c"});
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
  EXPECT_THAT(waiter.out(), HasSubstr("agent: bob"));
  nothing_is_shown();
}

TEST_F(Showing, RemovedByAnotherItIsMadeAgainAndOnRecord) {
  const Answer held = stage_.expect(0, "ann", {"acquire", "a.c"});
  fs::remove_all(stage_.mkdir_lock("a.c"));
  fs::remove(stage_.repo() + "/out/locks/" + stage_.workflow_names().at(0));
  look();
  EXPECT_THAT(stage_.mkdir_locks(), ElementsAre("a.c"));
  EXPECT_EQ(stage_.workflow_mirrors().size(), 1U);
  EXPECT_EQ(stage_.events("shown_again").size(), 2U);
  look();
  EXPECT_EQ(stage_.events("shown_again").size(), 2U);
  stage_.expect(0, "ann", {"check", "a.c", "--fence", std::to_string(held.fence())});
  stage_.expect(0, "ann", {"release", "a.c"});
  nothing_is_shown();
}

// Another tool removed ours and took its place: both hold it, which is told once and not at every
// look.
TEST_F(Showing, ReplacedByAnotherIsAConflictThatIsToldOnce) {
  stage_.expect(0, "ann", {"acquire", "a.c"});
  fs::remove_all(stage_.mkdir_lock("a.c"));
  ASSERT_TRUE(stage_.bash_takes("a.c"));
  for (int i = 0; i < 4; ++i) look();
  EXPECT_EQ(stage_.events("foreign_conflict").size(), 1U);
  EXPECT_EQ(stage_.events("foreign_seen").size(), 1U);
  EXPECT_LE(stage_.events("shown_again").size(), 1U) << "a line at every look";
  EXPECT_THAT(read_text(stage_.mkdir_lock("a.c") + "/owner"), HasSubstr("agent: bash"));
  EXPECT_THAT(stage_.traces(), IsEmpty());
  // It goes away: ours is shown again.
  stage_.bash_drops("a.c");
  look();
  EXPECT_THAT(read_text(stage_.mkdir_lock("a.c") + "/owner"), HasSubstr("agent: ann"));
  stage_.expect(0, "ann", {"release", "a.c"});
  nothing_is_shown();
}

}  // namespace
}  // namespace lockkeeper::layouts
