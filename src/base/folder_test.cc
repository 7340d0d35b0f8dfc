// Folders by descriptor: no link is followed, nothing holds us up, files are whole.
#include "base/folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test_folder.h"

namespace lockkeeper {
namespace {

using testing::HasSubstr;

mode_t mode_of(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
}

class FolderTest : public testing::Test {
 protected:
  FolderTest() : folder_(*Folder::open(temporary_.path(), "", Folder::Kind::kPrivate)) {}
  TestFolder temporary_;
  Folder folder_;
};

TEST_F(FolderTest, WritesAndReads) {
  EXPECT_FALSE(*folder_.has("x"));
  EXPECT_EQ(*folder_.read("x", 10), std::nullopt);
  ASSERT_TRUE(folder_.write("x", "one"));
  ASSERT_TRUE(folder_.write("x", ""));
  EXPECT_EQ(*folder_.read("x", 10), "");
  ASSERT_TRUE(folder_.write("x", "12345"));
  EXPECT_EQ(*folder_.read("x", 5), "12345");
  EXPECT_EQ(folder_.read("x", 4).error().code, Code::kLimitExceeded);
  struct stat status{};
  ASSERT_EQ(::stat(temporary_.file("x").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  ASSERT_TRUE(folder_.remove("x"));
  ASSERT_TRUE(folder_.remove("x"));
}

TEST_F(FolderTest, WhatAWriterLeftBehindIsReplaced) {
  ASSERT_TRUE(folder_.append("x.new"));
  ASSERT_TRUE(folder_.write("x", "whole"));
  EXPECT_EQ(*folder_.read("x", 10), "whole");
  EXPECT_FALSE(*folder_.has("x.new"));
}

TEST_F(FolderTest, NoLinkIsFollowed) {
  const TestFolder elsewhere;
  ASSERT_EQ(::symlink(elsewhere.path().c_str(), temporary_.file("d").c_str()), 0);
  ASSERT_EQ(::symlink(elsewhere.file("f").c_str(), temporary_.file("f").c_str()), 0);
  EXPECT_THAT(folder_.folder("d").error().message, HasSubstr("is a symlink"));
  EXPECT_FALSE(folder_.existing("d"));
  EXPECT_FALSE(folder_.read("f", 10));
  EXPECT_FALSE(folder_.append("f"));
  EXPECT_FALSE(folder_.lock("f", 0));
  ASSERT_TRUE(folder_.write("f", "x")) << "the link is replaced, not followed";
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere.path()));
  EXPECT_FALSE(Folder::open(temporary_.file("d"), "", Folder::Kind::kPrivate));
}

TEST_F(FolderTest, APipeInAFilesPlaceIsAnErrorAtOnce) {
  ASSERT_EQ(::mkfifo(temporary_.file("p").c_str(), 0600), 0);
  EXPECT_FALSE(folder_.read("p", 10)) << "not: there is none";
  EXPECT_FALSE(folder_.open_file("p", O_RDWR));
  EXPECT_FALSE(folder_.append("p"));
  ASSERT_TRUE(folder_.folder("sub"));
  EXPECT_FALSE(folder_.read("sub", 10));
}

TEST_F(FolderTest, AFolderThatWasReplacedIsNotThere) {
  const Folder sub = *folder_.folder("sub");
  EXPECT_TRUE(sub.is_there());
  ASSERT_TRUE(folder_.rename("sub", folder_, "other"));
  EXPECT_FALSE(sub.is_there());
  ASSERT_TRUE(folder_.folder("sub"));
  EXPECT_FALSE(sub.is_there());
  ASSERT_TRUE(folder_.remove("sub"));
  EXPECT_EQ(folder_.existing("sub")->has_value(), false);
}

TEST_F(FolderTest, ModesAndErrorsAreThoseOfItsKind) {
  const mode_t before = ::umask(0022);
  const auto shared = Folder::open(temporary_.path());
  ASSERT_TRUE(shared);
  ASSERT_TRUE(shared->folder("shared")->append("file"));
  ASSERT_TRUE(folder_.folder("private")->append("file"));
  ::umask(before);
  EXPECT_EQ(mode_of(temporary_.file("shared")), 0755U);
  EXPECT_EQ(mode_of(temporary_.file("shared/file")), 0644U);
  EXPECT_EQ(mode_of(temporary_.file("private")), 0700U);
  EXPECT_EQ(mode_of(temporary_.file("private/file")), 0600U);
  ASSERT_EQ(::symlink("elsewhere", temporary_.file("link").c_str()), 0);
  EXPECT_EQ(shared->read("link", 10).error().code, Code::kStoreUnavailable);
  EXPECT_EQ(folder_.read("link", 10).error().code, Code::kFailed);
  EXPECT_EQ(Folder::open(temporary_.path(), "none/below").error().code, Code::kNotFound);
  EXPECT_EQ(folder_.read("a/b", 10).error().code, Code::kInvalidInput);
}

TEST_F(FolderTest, AFolderIfAnyPassesOverTheRest) {
  ASSERT_TRUE(folder_.append("file"));
  ASSERT_EQ(::symlink(".", temporary_.file("link").c_str()), 0);
  ASSERT_TRUE(folder_.make_folder("folder"));
  EXPECT_FALSE(folder_.make_folder("folder")) << "the name is taken";
  for (const char* name : {"file", "link", "none"}) {
    const auto found = folder_.folder_if_any(name);
    ASSERT_TRUE(found) << name;
    EXPECT_FALSE(found->has_value()) << name;
  }
  EXPECT_TRUE(folder_.folder_if_any("folder")->has_value());
  EXPECT_FALSE(folder_.existing("file")) << "an error: it is not what it should be";
}

TEST_F(FolderTest, RemoveKeepsAFullFolderAndRemoveAllDoesNot) {
  ASSERT_TRUE(folder_.folder("full")->append("file"));
  EXPECT_FALSE(folder_.remove("full"));
  ASSERT_TRUE(folder_.remove_all("full"));
  EXPECT_FALSE(*folder_.has("full"));
  EXPECT_TRUE(folder_.remove_all("full")) << "gone already";
}

TEST_F(FolderTest, OneProcessAtATimeHasTheLock) {
  auto first = folder_.lock("lock", 0);
  ASSERT_TRUE(first);
  EXPECT_EQ(folder_.lock("lock", 0).error().code, Code::kStoreBusy);
  first->reset();
  EXPECT_TRUE(folder_.lock("lock", 0));
}

}  // namespace
}  // namespace lockkeeper
