// The demo is the first thing a person sees: it must hold, and leave nothing behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

TEST(Demo, EndsWithZeroAndLeavesNothing) {
  Stage stage;
  std::filesystem::create_directories(stage.path("tmp"));
  stage.env["TMPDIR"] = stage.path("tmp");
  const Answer demo = stage.as("", {"demo"});
  EXPECT_EQ(demo.status, 0) << demo.all();
  EXPECT_THAT(demo.out, testing::HasSubstr("no two workers ever held the same thing"));
  EXPECT_TRUE(std::filesystem::is_empty(stage.path("tmp")));
  EXPECT_EQ(stage.list()["leases"].size(), 0U) << "the demo touched the caller's realm";
  EXPECT_FALSE(exists(stage.store()));
}

// The installed program and a system without git.
TEST(Demo, NeedsNoGit) {
  Stage stage;
  std::filesystem::create_directories(stage.path("bin"));
  for (const char* const tool : {"sh", "sleep"}) {
    const std::string real =
        stage.finish(stage.command({"sh", "-c", "command -v " + std::string(tool)})).out;
    std::filesystem::create_symlink(real.substr(0, real.find('\n')), stage.path("bin/") + tool);
  }
  stage.env["PATH"] = stage.path("bin");
  const Answer demo = stage.as("", {"demo"});
  EXPECT_EQ(demo.status, 0) << demo.all();
}

}  // namespace
}  // namespace lockkeeper::stage
