// `plan` and `validate`, as one would type them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

namespace fs = std::filesystem;

class Plans : public testing::Test {
 protected:
  Answer plan(const Words& more) {
    Words words{"plan", file()};
    words.insert(words.end(), more.begin(), more.end());
    return stage_.as("", words);
  }
  std::string file() const { return stage_.path("plan.yaml"); }
  void write(const std::string& text) const { write_text(file(), text); }

  Stage stage_;
};

constexpr const char* kConflict =
    "agents:\n- {agent: a, files: [x, y]}\n- {agent: b, files: [x, z]}\n";

TEST_F(Plans, C10_InPlaceLeavesReadOnlyAndLinkedFilesAlone) {
  write(kConflict);
  fs::permissions(file(), fs::perms::owner_read);
  const Answer refused = plan({"--apply", "1", "--in-place"});
  EXPECT_EQ(refused.status, 65) << refused.all();
  EXPECT_THAT(refused.err, HasSubstr("read-only"));
  EXPECT_EQ(read_text(file()), kConflict);
  fs::permissions(file(), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_hard_link(file(), stage_.path("other.yaml"));
  const Answer linked = plan({"--apply", "1", "--in-place"});
  EXPECT_EQ(linked.status, 65) << linked.all();
  EXPECT_THAT(linked.err, HasSubstr("2 names"));
  EXPECT_EQ(read_text(file()), kConflict);
  fs::remove(stage_.path("other.yaml"));
  EXPECT_EQ(plan({"--apply", "1", "--in-place"}).status, 0);
  EXPECT_THAT(read_text(file()), HasSubstr("after"));
  const std::string picture = stage_.path("t.svg");
  write_text(picture, "mine");
  fs::permissions(picture, fs::perms::owner_read);
  EXPECT_EQ(plan({"--timeline", picture}).status, 65);
  EXPECT_EQ(read_text(picture), "mine");
}

TEST_F(Plans, C6_WhatValidateRefusesIsSaid) {
  write("packages:\n- {package_id: a, locks: {files: [./x]}, prority: 1}\n");
  const Answer answer = plan({});
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.err,
              HasSubstr("plan.yaml:2:42: a has the unknown key \"prority\"; did you mean"));
  EXPECT_THAT(answer.err, HasSubstr("validate refuses this plan: "));
  EXPECT_THAT(answer.err, HasSubstr("more errors; see: lockkeeper validate "));
  const Json json = stage_.expect(0, "", {"plan", file()}).json();
  EXPECT_FALSE(json["valid"].get<bool>());
  EXPECT_EQ(json["errors"],
            stage_.expect(65, "", {"validate", file()}).json()["files"][0]["errors"]);
  write("agents: [{agent: a, files: [x]}, {agent: b, files: [x]}]\n");
  EXPECT_EQ(plan({}).err, "");
}

TEST_F(Plans, C3_AnOverlapNamesAFileThatExists) {
  write("agents:\n- {agent: a, globs: ['src/**/*.py']}\n- {agent: b, directories: [src/web]}\n");
  const auto witness = [&] {
    const Json validated = stage_.expect(0, "", {"validate", file()}).json();
    const Json planned = stage_.expect(0, "", {"plan", file()}).json();
    const Json found = validated["files"][0]["findings"][0];
    const Json overlap = planned["conflicts"][0]["overlaps"][0];
    EXPECT_EQ(found["witness"], overlap["witness"]);
    EXPECT_EQ(found["witness_exists"], overlap["witness_exists"]);
    return found["witness_exists"].get<bool>() ? found["witness"].get<std::string>() : "";
  };
  EXPECT_EQ(witness(), "") << "there is no such file";
  EXPECT_THAT(stage_.as("", {"validate", file()}).out, HasSubstr("which does not exist yet"));
  EXPECT_THAT(plan({}).out, HasSubstr("which does not exist yet"));
  stage_.file("src/web/deep/view.py");
  EXPECT_EQ(witness(), "src/web/deep/view.py");
  const std::string text = stage_.as("", {"validate", file()}).out;
  EXPECT_THAT(text, HasSubstr("both include \"src/web/deep/view.py\""));
  EXPECT_THAT(text, HasSubstr("lock-overlap  agents lock the same things and will take turns"));
}

}  // namespace
}  // namespace lockkeeper::stage
