// The examples are run as a person would: what they show must happen, and nothing may be left held.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

const std::string kExamples = LOCKKEEPER_SOURCE_DIR "/examples/";

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Example, SevenAgentsOneRepository) {
  Stage stage;
  stage.env["LOCKKEEPER"] = Stage::program();
  const std::string folder = stage.path("example");
  const Answer run = stage.finish(stage.command({kExamples + "workflow/run.sh", folder}));
  ASSERT_EQ(run.status, 0) << run.all();
  const std::string report = text_of(folder + "/output/report.md");
  EXPECT_THAT(run.out, HasSubstr(report));
  EXPECT_THAT(report, HasSubstr("# Workflow done: 7 agents done"));
  EXPECT_THAT(report, HasSubstr("`tests` failed: exit status 1 (attempt 1); a later attempt"));
  EXPECT_THAT(report, HasSubstr("- added `notes.txt`, **outside its scope**"));
  EXPECT_THAT(report, HasSubstr("| `backend` |"));
  EXPECT_THAT(report, HasSubstr("`contracts`, which it needs"));
  EXPECT_THAT(text_of(folder + "/output/timeline.svg"), HasSubstr("</svg>"));
  EXPECT_EQ(Json::parse(text_of(folder + "/output/report.json"))["outcome"], "done");
  const Answer left = stage.as("", {"list", "--json", "--realm", folder + "/shop"});
  EXPECT_TRUE(left.json()["leases"].empty()) << left.out;
}

TEST(Example, FiveAgentsTakeTurnsAtOneFile) {
  Stage stage;
  stage.env["LOCKKEEPER"] = Stage::program();
  const Answer run =
      stage.finish(stage.command({kExamples + "five-agents/run.sh", stage.path("five")}));
  ASSERT_EQ(run.status, 0) << run.all();
  EXPECT_THAT(run.out, HasSubstr("5 agents, 4 rounds"));
  const std::string shared = text_of(stage.path("five/shop/src/user.py"));
  EXPECT_THAT(shared, HasSubstr("# by backend\n"));
  EXPECT_THAT(shared, HasSubstr("# by frontend\n"));
}

TEST(Example, TwoSessionsInOneRepository) {
  Stage stage;
  stage.env["LOCKKEEPER"] = Stage::program();
  const Answer run = stage.finish(stage.command({kExamples + "two-sessions/run.sh"}));
  ASSERT_EQ(run.status, 0) << run.all();
  EXPECT_THAT(run.out, HasSubstr("bert edits src/users.py\n   lockkeeper: src/users.py is being "
                                 "edited by claude-code (session anna)"));
  EXPECT_TRUE(run.out.ends_with("bert edits src/users.py\n   (nothing: it goes on)\n")) << run.out;
}

TEST(Example, AJobOfACiServer) {
  Stage stage;
  stage.env["LOCKKEEPER"] = Stage::program();
  const Answer run = stage.finish(stage.command({kExamples + "ci/run.sh"}));
  ASSERT_EQ(run.status, 0) << run.all();
  EXPECT_THAT(run.out, HasSubstr("the database has version 2\n"));
  EXPECT_THAT(run.out, HasSubstr("(exit status 75)"));
  EXPECT_TRUE(run.out.ends_with("laid out\n")) << run.out;
}

TEST(Example, C2_TheExamplesAreValid) {
  Stage stage;
  for (const char* const name :
       {"workflow/plan.yaml", "agents/plan.yaml", "five-agents/plan.yaml"}) {
    stage.expect(0, "", {"validate", kExamples + name});
    stage.expect(0, "", {"plan", kExamples + name});
  }
}

TEST(Example, C4_ThePlanOfTheReadmeIsValid) {
  Stage stage;
  const std::string readme = text_of(LOCKKEEPER_SOURCE_DIR "/README.md");
  const std::size_t begin = readme.find("```yaml\nagents:") + 8;
  ASSERT_LT(begin, readme.size());
  write_text(stage.path("plan.yaml"), readme.substr(begin, readme.find("```", begin) - begin));
  const Json checked = stage.expect(0, "", {"validate", stage.path("plan.yaml")}).json();
  ASSERT_EQ(checked["files"][0]["findings"].size(), 1U) << checked << "the file that two share";
  EXPECT_EQ(checked["files"][0]["findings"][0]["rule"], "lock-overlap");
}

TEST(Example, C4_WorkPackagesToStartFrom) {
  Stage stage;
  const Answer printed = stage.as("", {"plan", "--example"});
  EXPECT_EQ(printed.status, 0);
  EXPECT_EQ(printed.out, text_of(kExamples + "work-packages/work-packages.yaml"));
  EXPECT_EQ(stage.expect(0, "", {"plan", "--example"}).json()["example"], printed.out);
  EXPECT_EQ(stage.as("", {"plan", "--example", "x"}).status, 64);
  EXPECT_THAT(text_of(LOCKKEEPER_SOURCE_DIR "/docs/concepts/work-packages.md"),
              HasSubstr("```yaml\n" + printed.out + "```\n"));
  const std::string file = stage.path("work-packages.yaml");
  write_text(file, printed.out);
  const Answer valid = stage.as("", {"validate", "--strict", file});
  EXPECT_EQ(valid.status, 0) << valid.all();
  const Json plan = stage.expect(0, "", {"plan", file}).json();
  EXPECT_EQ(plan["rounds"].size(), 2U);
  EXPECT_EQ(plan["conflict_pairs"], 0);
  const Answer run =
      stage.as("", {"workflow", "run", file, "--output", stage.path("out"), "--", "true"});
  EXPECT_EQ(run.status, 0) << run.all();
}

}  // namespace
}  // namespace lockkeeper::stage
