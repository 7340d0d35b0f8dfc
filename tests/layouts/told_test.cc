// What a user is told about layouts: locks that other tools do not see, and lock files that do not
// count yet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class Told : public testing::Test {
 protected:
  Told() {
    stage_.env["COORDMCP_DATA_DIR"] = stage_.path("data");
    fs::create_directories(stage_.path("tmp"));
    stage_.env["TMPDIR"] = stage_.path("tmp");
  }

  std::string id_of_added(const Words& words) {
    return stage_.expect(0, "", words).json()["added"];
  }

  Stage stage_;
};

TEST_F(Told, D11_WhatALayoutCannotShowIsToldInTextToo) {
  stage_.file("src/a");
  const std::string id = id_of_added({"layout", "add", "mkdir", "spec"});
  const Answer acquired = stage_.as("ann", {"acquire", "src/", "b"});
  EXPECT_EQ(acquired.status, 0);
  EXPECT_THAT(acquired.err, HasSubstr("programs that use " + id + " cannot see the lock on src/"));
  EXPECT_THAT(acquired.err, Not(HasSubstr(", b")));
  stage_.expect(0, "ann", {"release", "--all"});
  const Answer ran = stage_.as("ann", {"run", "docs/**", "--", "true"});
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.err, HasSubstr("programs that use " + id + " cannot see the lock on docs/**"));
  EXPECT_THAT(stage_.as("ann", {"acquire", "b"}).err, Not(HasSubstr("not visible")));
}

TEST_F(Told, WhatIsAddedSaysWhoSeesWhomNow) {
  const auto added = [&](const char* root, const char* mode) {
    fs::create_directories(stage_.repo() + "/" + root);
    return stage_.as("", {"layout", "add", "mkdir", root, "--mode", mode}).out;
  };
  EXPECT_THAT(added("one", "both"), HasSubstr("That tool now sees the locks of this realm"));
  EXPECT_THAT(added("two", "read"), HasSubstr("That tool does not see ours"));
  EXPECT_THAT(added("three", "off"), HasSubstr("It is off"));
}

TEST_F(Told, D6_FoldersThatLookLikeLocksAreNamedWithTheCommandThatJoinsThem) {
  fs::create_directories(stage_.repo() + "/spec/.locks/files/a");
  fs::create_directories(stage_.repo() + "/jobs/out/locks");
  write_text(stage_.repo() + "/jobs/out/locks/front.lock",
             R"({"agent":"front","locked_at":"2026-01-01T00:00:00Z","files":["x"],)"
             R"("expires_at":"2099-01-01T00:00:00Z"})");
  fs::create_directories(stage_.path("data/agents/bob"));
  write_text(stage_.path("data/agents/bob/locked_files.json"),
             R"({"locks":{"y":{"file_path":")" + stage_.repo() +
                 R"(/y","locked_by":"bob","locked_at":"2099-01-01T00:00:00"}}})");
  const auto mentions_all = [&](const std::string& text) {
    EXPECT_THAT(text, HasSubstr("(mkdir), which are ignored until you add them: lockkeeper layout "
                                "add mkdir " +
                                stage_.repo() + "/spec"));
    EXPECT_THAT(text, HasSubstr("layout add workflow " + stage_.repo() + "/jobs/out"));
    EXPECT_THAT(text, HasSubstr("layout add coordmcp " + stage_.path("data")));
  };
  mentions_all(stage_.as("", {"doctor"}).out);
  const Answer first = stage_.as("ann", {"acquire", "z"});
  EXPECT_EQ(first.status, 0);
  mentions_all(first.err);
  EXPECT_THAT(stage_.as("ann", {"acquire", "z2"}).err, Not(HasSubstr("layout add")))
      << "it is told once";
  for (const Words& join : std::vector<Words>{
           {"mkdir", "spec"}, {"workflow", "jobs/out"}, {"coordmcp", stage_.path("data")}}) {
    stage_.expect(0, "", {"layout", "add", join[0], join[1]});
  }
  const Answer joined = stage_.as("", {"doctor"});
  EXPECT_EQ(joined.status, 0) << joined.all();
  EXPECT_THAT(joined.out, Not(HasSubstr("layout add")));
  stage_.expect(75, "ann", {"acquire", "x"});
}

TEST_F(Told, D6_AnEmptyRepositoryMentionsNothing) {
  stage_.file("docs/locks/readme.lock", "not a lock");
  EXPECT_THAT(stage_.as("ann", {"acquire", "z"}).err, Not(HasSubstr("another tool")));
  EXPECT_THAT(stage_.as("", {"doctor"}).out, Not(HasSubstr("another tool")));
}

TEST_F(Told, D7_ATaskIsToldThatItsProtocolHasNoPatterns) {
  fs::create_directories(stage_.repo() + "/spec");
  const Answer taken = stage_.json("ann", {"task", "acquire", "T1", "--file", "src/**/*.py"});
  EXPECT_EQ(taken.status, 0) << taken.all();
  EXPECT_THAT(taken.json()["warnings"].dump(), HasSubstr("no patterns"));
}

// A missing root would show nothing, and nobody would notice.
TEST_F(Told, AWorkflowLayoutMakesItsFolderAndShowsLaterLeases) {
  id_of_added({"layout", "add", "workflow", "out"});
  stage_.expect(0, "ann", {"acquire", "a"});
  ASSERT_TRUE(exists(stage_.repo() + "/out/locks"));
  EXPECT_FALSE(fs::is_empty(stage_.repo() + "/out/locks"));
}

TEST_F(Told, ALeaseThatWasTakenWhileTheFolderWasMissingIsShownWhenItIsBack) {
  id_of_added({"layout", "add", "workflow", "out"});
  fs::remove_all(stage_.repo() + "/out");
  const Answer hidden = stage_.as("ann", {"acquire", "a"});
  EXPECT_THAT(hidden.err, HasSubstr("programs that use workflow-"));
  fs::create_directories(stage_.repo() + "/out");
  stage_.expect(0, "", {"layout", "list"});
  EXPECT_FALSE(fs::is_empty(stage_.repo() + "/out/locks"));
  stage_.expect(0, "ann", {"release", "a"});
  EXPECT_TRUE(fs::is_empty(stage_.repo() + "/out/locks"));
}

TEST_F(Told, ACoordMcpFolderThatIsGoneIsMadeAgain) {
  stage_.expect(0, "", {"layout", "add", "coordmcp", stage_.path("data"), "--option", "project=p"});
  stage_.expect(0, "ann", {"acquire", "a"});
  fs::remove_all(stage_.path("data"));
  stage_.expect(0, "ann", {"acquire", "b"});
  EXPECT_THAT(read_text(stage_.path("data/agents/locks/p.json")), HasSubstr("/b\""));
  stage_.expect(0, "ann", {"release", "--all"});
}

// A key is pressed often, and must cost and change nothing.
TEST_F(Told, CompletionKnowsTheLayoutsAndReadsNoneOfThem) {
  const std::string id = id_of_added({"layout", "add", "mkdir", "spec"});
  stage_.expect(0, "ann", {"acquire", "a"});
  fs::create_directories(stage_.repo() + "/spec/.locks/files/b");
  EXPECT_EQ(stage_.as("ann", {"completion", "layouts"}).out, id + "\n");
  EXPECT_EQ(stage_.as("ann", {"completion", "taken"}).out, "a\n");
  EXPECT_EQ(stage_.expect(0, "", {"log"}).lines().size(), 1U) << "nothing was brought in";
}

}  // namespace
}  // namespace lockkeeper::stage
