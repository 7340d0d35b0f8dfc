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

}  // namespace
}  // namespace lockkeeper::stage
