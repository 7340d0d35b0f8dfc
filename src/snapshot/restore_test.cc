#include "snapshot/restore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/test_folder.h"

namespace lockkeeper::snapshot {
namespace {

namespace fs = std::filesystem;

class Restore : public testing::Test {
 protected:
  std::string text(const std::string& name) const {
    std::ifstream file(folder_.file(name));
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
  }
  static Version file_of(std::uint32_t mode = 0644) {
    Version version;
    version.mode = mode;
    return version;
  }
  std::size_t names(const std::string& in) const {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_.file(in))) ++count;
    return count;
  }

  TestFolder folder_;
};

TEST_F(Restore, G2_AFileComesBackWithItsFoldersAndItsMode) {
  ASSERT_TRUE(put_back(folder_.path(), "src/deep/a.c", file_of(0754), "text"));
  EXPECT_EQ(text("src/deep/a.c"), "text");
  struct stat info{};
  ASSERT_EQ(::stat(folder_.file("src/deep/a.c").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0754U);
  EXPECT_EQ(names("src/deep"), 1U);
}

TEST_F(Restore, WhatIsThereIsReplaced) {
  std::ofstream(folder_.file("a")) << "new";
  ASSERT_TRUE(put_back(folder_.path(), "a", file_of(), "old"));
  EXPECT_EQ(text("a"), "old");
}

TEST_F(Restore, G2_ASymlinkComesBackAsOne) {
  Version version;
  version.kind = Kind::kSymlink;
  version.target = "elsewhere/file";
  ASSERT_TRUE(put_back(folder_.path(), "link", version, ""));
  EXPECT_EQ(fs::read_symlink(folder_.file("link")), "elsewhere/file");
}

TEST_F(Restore, NothingIsWrittenThroughASymlink) {
  fs::create_directories(folder_.file("outside"));
  fs::create_directories(folder_.file("repo"));
  fs::create_directory_symlink(folder_.file("outside"), folder_.file("repo/src"));
  const auto done = put_back(folder_.file("repo"), "src/a.c", file_of(), "x");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Code::kInvalidInput);
  EXPECT_EQ(names("outside"), 0U);
  std::ofstream(folder_.file("outside/victim")) << "untouched";
  fs::create_symlink(folder_.file("outside/victim"), folder_.file("repo/a"));
  ASSERT_TRUE(put_back(folder_.file("repo"), "a", file_of(), "x"));
  EXPECT_EQ(text("outside/victim"), "untouched");
  EXPECT_FALSE(fs::is_symlink(folder_.file("repo/a")));
}

TEST_F(Restore, AFolderInItsPlaceStays) {
  fs::create_directories(folder_.file("a/b"));
  const auto done = put_back(folder_.path(), "a", file_of(), "x");
  ASSERT_FALSE(done);
  EXPECT_EQ(names(""), 1U) << "nothing is left behind";
}

TEST_F(Restore, NoPathLeadsOutOfTheRoot) {
  fs::create_directories(folder_.file("repo"));
  EXPECT_FALSE(put_back(folder_.file("repo"), "../a", file_of(), "x"));
  EXPECT_FALSE(fs::exists(folder_.file("a")));
}

TEST_F(Restore, ElsewhereNothingIsReplaced) {
  ASSERT_TRUE(put_elsewhere(folder_.file("copy"), file_of(), "x"));
  const auto again = put_elsewhere(folder_.file("copy"), file_of(), "y");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Code::kInvalidInput);
  EXPECT_EQ(text("copy"), "x");
}

}  // namespace
}  // namespace lockkeeper::snapshot
