#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/test_folder.h"

namespace lockkeeper {
namespace {

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) != -1;
}

std::size_t entries(const std::string& folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

TEST(FdTest, WhatCannotBeWrittenIsNamed) {
  const TestFolder folder;
  EXPECT_FALSE(find_unwritable(folder.path()));
  EXPECT_FALSE(find_unwritable(folder.path() + "/new/and/newer"));
  const std::string file = folder.path() + "/file";
  ASSERT_TRUE(replace_file_durably(file, "x"));
  EXPECT_FALSE(find_unwritable(file));
  const auto below = find_unwritable(file + "/new/and/newer");
  ASSERT_TRUE(below);
  EXPECT_EQ(below->path, file);
  EXPECT_EQ(below->error, ENOTDIR);
  ASSERT_EQ(::chmod(file.c_str(), 0400), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  const bool root = ::geteuid() == 0;  // root may write everywhere
  ASSERT_TRUE(!root || ::seteuid(65534) == 0);
  const auto denied = find_unwritable(file);
  ASSERT_TRUE(!root || ::seteuid(0) == 0);
  ASSERT_TRUE(denied);
  EXPECT_EQ(denied->error, EACCES);
}

TEST(FdTest, owns_moves_releases_and_closes) {
  const int number = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(number, 0);
  Fd first(number);
  EXPECT_TRUE(first);
  Fd second(std::move(first));
  EXPECT_EQ(second.get(), number);
  Fd third;
  EXPECT_FALSE(third);
  third = std::move(second);
  EXPECT_TRUE(is_open(number));
  Fd& alias = third;
  third = std::move(alias);
  EXPECT_TRUE(is_open(number)) << "moving onto itself keeps it";
  const int released = third.release();
  EXPECT_EQ(released, number);
  EXPECT_TRUE(is_open(number));
  {
    const Fd last(released);
  }
  EXPECT_FALSE(is_open(number));
}

TEST(ReadFile, whole_file_or_a_named_refusal) {
  const TestFolder folder;
  const std::string path = folder.file("a");
  ASSERT_TRUE(replace_file_durably(path, std::string(100'000, 'x')));
  EXPECT_EQ(read_file(path).value_or("").size(), 100'000U);
  EXPECT_EQ(read_file(path, 100'000).value_or("").size(), 100'000U);

  const auto missing = read_file(folder.file("none"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  const auto through_file = read_file(path + "/below");
  ASSERT_FALSE(through_file);
  EXPECT_EQ(through_file.error().code, Code::kNotFound);
  const auto large = read_file(path, 99'999);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Code::kLimitExceeded);
  const auto directory = read_file(folder.path());
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, Code::kFailed);
}

// Failed before: the open waited for a writer, and with it every command in that folder.
TEST(FdTest, a_pipe_in_a_files_place_is_an_error_and_does_not_hang) {
  const TestFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  const auto pipe = read_file(folder.file("pipe"));
  ASSERT_FALSE(pipe.has_value());
  EXPECT_EQ(pipe.error().code, Code::kFailed);
}

TEST(ReplaceFile, replaces_is_private_and_leaves_nothing_beside) {
  const TestFolder folder;
  const std::string path = folder.file("epoch");
  ASSERT_TRUE(replace_file_durably(path, "one"));
  ASSERT_TRUE(replace_file_durably(path, "two"));
  EXPECT_EQ(read_file(path).value_or(""), "two");
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_EQ(entries(folder.path()), 1U);
}

TEST(ReplaceFile, failing_leaves_the_old_content_and_nothing_beside) {
  const TestFolder folder;
  EXPECT_FALSE(replace_file_durably(folder.file("none/a"), "x"));
  ASSERT_TRUE(make_folders(folder.file("occupied/below")));
  EXPECT_FALSE(replace_file_durably(folder.file("occupied"), "x"));
  EXPECT_EQ(entries(folder.path()), 1U);
}

TEST(ReplaceFile, writers_at_once_leave_one_whole_content) {
  // Equal pids, as in two containers that share the folder: they must not share a temporary file.
  const TestFolder folder;
  const std::string path = folder.file("epoch");
  std::vector<std::jthread> writers;
  for (const char letter : {'a', 'b', 'c'}) {
    writers.emplace_back([&path, letter] {
      for (int i = 0; i < 20; ++i) {
        EXPECT_TRUE(replace_file_durably(path, std::string(50'000, letter)));
      }
    });
  }
  writers.clear();
  const std::string content = read_file(path).value_or("");
  ASSERT_EQ(content.size(), 50'000U);
  EXPECT_EQ(content.find_first_not_of(content.front()), std::string::npos);
  EXPECT_EQ(entries(folder.path()), 1U);
}

TEST(OpenOrCreate, creates_with_the_mode_opens_what_is_there_and_refuses_the_rest) {
  const TestFolder folder;
  const std::string path = folder.file("live");
  ASSERT_TRUE(open_or_create(path, 0660));
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0660U) << "whatever the umask";
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  ASSERT_TRUE(open_or_create(path, 0660));
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U) << "an existing file keeps its mode";

  ASSERT_EQ(::symlink(path.c_str(), folder.file("link").c_str()), 0);
  EXPECT_FALSE(open_or_create(folder.file("link"), 0600));
  ASSERT_EQ(::symlink("nowhere", folder.file("dangling").c_str()), 0);
  EXPECT_FALSE(open_or_create(folder.file("dangling"), 0600));
  EXPECT_FALSE(open_or_create(folder.path(), 0600));
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  const auto pipe = open_or_create(folder.file("pipe"), 0600);
  ASSERT_FALSE(pipe);
  EXPECT_EQ(pipe.error().code, Code::kStoreCorrupt);
  EXPECT_FALSE(open_or_create(folder.file("none/live"), 0600));
}

TEST(MakeFolders, parents_private_and_again) {
  const TestFolder folder;
  const std::string path = folder.file("a/b/c");
  ASSERT_TRUE(make_folders(path));
  ASSERT_TRUE(make_folders(path));
  ASSERT_TRUE(make_folders(path + "/"));
  struct stat status{};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_TRUE(S_ISDIR(status.st_mode));
  EXPECT_EQ(status.st_mode & 0077, 0U);
}

TEST(MakeFolders, a_file_in_the_way_is_an_error) {
  const TestFolder folder;
  ASSERT_TRUE(replace_file_durably(folder.file("f"), "x"));
  EXPECT_FALSE(make_folders(folder.file("f")));
  EXPECT_FALSE(make_folders(folder.file("f/below")));
}

}  // namespace
}  // namespace lockkeeper
