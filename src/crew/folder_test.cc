// Folders of a run: no link is followed, nothing holds us up, files are whole.
#include "crew/folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <random>

#include "base/test_folder.h"

namespace lockkeeper::crew {
namespace {

using testing::HasSubstr;

class FolderTest : public testing::Test {
 protected:
  FolderTest() : folder_(*Folder::open(temporary_.path())) {}
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
  ASSERT_TRUE(folder_.append(".x.new"));
  ASSERT_TRUE(folder_.write("x", "whole"));
  EXPECT_EQ(*folder_.read("x", 10), "whole");
  EXPECT_FALSE(*folder_.has(".x.new"));
}

TEST_F(FolderTest, NoLinkIsFollowed) {
  const TestFolder elsewhere;
  ASSERT_EQ(::symlink(elsewhere.path().c_str(), temporary_.file("d").c_str()), 0);
  ASSERT_EQ(::symlink(elsewhere.file("f").c_str(), temporary_.file("f").c_str()), 0);
  EXPECT_THAT(folder_.folder("d").error().message, HasSubstr("is a link"));
  EXPECT_FALSE(folder_.existing("d"));
  EXPECT_FALSE(folder_.read("f", 10));
  EXPECT_FALSE(folder_.append("f"));
  EXPECT_FALSE(folder_.lock("f"));
  ASSERT_TRUE(folder_.write("f", "x")) << "the link is replaced, not followed";
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere.path()));
  EXPECT_FALSE(Folder::open(temporary_.file("d")));
}

TEST_F(FolderTest, APipeInAFilesPlaceIsAnErrorAtOnce) {
  ASSERT_EQ(::mkfifo(temporary_.file("p").c_str(), 0600), 0);
  errno = ENOENT;  // as an earlier question may have left it
  EXPECT_FALSE(folder_.read("p", 10)) << "not: there is none";
  errno = ENOENT;
  EXPECT_FALSE(folder_.is_locked("p"));
  EXPECT_FALSE(folder_.append("p"));
  ASSERT_TRUE(folder_.folder("sub"));
  errno = ENOENT;
  EXPECT_FALSE(folder_.read("sub", 10));
}

TEST_F(FolderTest, ALockIsSeenByOthersAndEndsWithItsHolder) {
  EXPECT_FALSE(*folder_.is_locked("l")) << "no file";
  int ready[2];
  int end[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(end), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(end[1]);
    const auto lock = folder_.lock("l");
    char c = lock && *lock ? 'y' : 'n';
    static_cast<void>(!::write(ready[1], &c, 1));
    static_cast<void>(!::read(end[0], &c, 1));
    ::_exit(0);
  }
  ::close(end[0]);
  char c = 0;
  ASSERT_EQ(::read(ready[0], &c, 1), 1);
  EXPECT_EQ(c, 'y');
  EXPECT_TRUE(*folder_.is_locked("l"));
  EXPECT_EQ(*folder_.lock("l"), std::nullopt);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(end[1]);
  EXPECT_FALSE(*folder_.is_locked("l"));
  EXPECT_TRUE(folder_.lock("l")->has_value());
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

TEST(FileName, HarmlessAndDifferentForDifferentNames) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  static constexpr char kLetters[] = {'a', 'b', '.', '/', '%', '2', 'f', '\0', '\xff', ' '};
  std::map<std::string, std::string> names;
  for (int i = 0; i < 20'000; ++i) {
    std::string id;
    for (std::size_t n = random() % (i % 50 == 0 ? 200 : 6); n > 0; --n) {
      id += kLetters[random() % sizeof kLetters];
    }
    const std::string name = file_name_for(id);
    ASSERT_FALSE(name.empty());
    ASSERT_LE(name.size(), 100U);
    ASSERT_NE(name.front(), '.');
    ASSERT_EQ(name.find_first_of(std::string_view("/\0 ", 3)), std::string::npos);
    const auto [known, fresh] = names.emplace(name, id);
    ASSERT_TRUE(fresh || known->second == id) << name;
  }
  EXPECT_EQ(file_name_for(""), "%");
  EXPECT_EQ(file_name_for(".."), "%2e.");
  EXPECT_EQ(file_name_for("wp-1.a_B"), "wp-1.a_B");
}

// A short name that is written as a long one is cut.
TEST(FileName, NobodyCanBeCalledLikeALongName) {
  const std::string cut = file_name_for(std::string(300, 'a'));
  std::string id;
  for (std::size_t i = 0; i < cut.size(); ++i) {
    if (cut[i] == '%' && i + 2 < cut.size() && ::isxdigit(cut[i + 1]) != 0) {
      id += static_cast<char>(std::stoi(cut.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      id += cut[i];
    }
  }
  EXPECT_NE(file_name_for(id), cut);
}

}  // namespace
}  // namespace lockkeeper::crew
