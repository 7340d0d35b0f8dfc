#include "host/local_socket.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/test_folder.h"

namespace lockkeeper::host {
namespace {

TEST(LocalSocket, IsForItsUserAlone) {
  const TestFolder folder;
  const std::string path = folder.file("s");
  EXPECT_EQ(connect_local(path).error().code, Code::kNotFound);
  {
    const auto listening = listen_local(path);
    ASSERT_TRUE(listening) << listening.error().message;
    struct stat info{};
    ASSERT_EQ(::lstat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    const auto mine = connect_local(path);
    ASSERT_TRUE(mine) << mine.error().message;
    const Fd theirs = accept_local(listening->get());
    ASSERT_TRUE(theirs);
    ASSERT_EQ(::write(mine->get(), "x", 1), 1);
    char byte = 0;
    EXPECT_EQ(::read(theirs.get(), &byte, 1), 1);
  }
  // Left behind by one that was killed.
  EXPECT_EQ(connect_local(path).error().code, Code::kNotFound);
  EXPECT_TRUE(listen_local(path));
}

TEST(LocalSocket, ADeepFolderIsNoObstacle) {
  const TestFolder folder;
  const std::string deep = folder.file(std::string(120, 'x'));
  EXPECT_EQ(connect_local(deep + "/s").error().code, Code::kNotFound);
  std::filesystem::create_directory(deep);
  EXPECT_EQ(connect_local(deep + "/s").error().code, Code::kNotFound);
  const auto listening = listen_local(deep + "/s");
  ASSERT_TRUE(listening) << listening.error().message;
  EXPECT_TRUE(std::filesystem::is_socket(deep + "/s"));
  EXPECT_TRUE(connect_local(deep + "/s"));
  EXPECT_TRUE(accept_local(listening->get()));
}

TEST(LocalSocket, ALongNameIsRefused) {
  const std::string path = "/tmp/" + std::string(200, 'x');
  EXPECT_EQ(listen_local(path).error().code, Code::kFailed);
  EXPECT_EQ(connect_local(path).error().code, Code::kFailed);
}

}  // namespace
}  // namespace lockkeeper::host
