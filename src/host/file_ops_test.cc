#include "host/file_ops.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/test_folder.h"

namespace lockkeeper::host {
namespace {

// Found by killing a foreman in the middle of it: another process had published the empty file.
TEST(FileOps, ANewFileIsWholeAsSoonAsItIsThere) {
  constexpr std::size_t kBytes = 4 << 20;
  const TestFolder scratch;
  const auto folder = Folder::open(scratch.path(), "");
  ASSERT_TRUE(folder) << folder.error().message;
  const std::string text(kBytes, 'x');
  std::atomic<bool> done = false;
  std::atomic<std::size_t> partial = 0;
  std::atomic<std::size_t> whole = 0;
  std::thread reader([&] {
    while (!done) {
      const auto seen = folder->read("lock", 2 * kBytes);
      if (seen && *seen) ++((*seen)->size() == kBytes ? whole : partial);
    }
  });
  for (int i = 0; i < 50 || whole == 0; ++i) {
    EXPECT_TRUE(write_new(*folder, "lock", text));
    EXPECT_FALSE(write_new(*folder, "lock", "another")) << "the name is taken";
    EXPECT_TRUE(folder->remove("lock"));
  }
  done = true;
  reader.join();
  EXPECT_EQ(partial, 0U);
}

TEST(FileOps, ALockIsSeenByOthersAndEndsWithItsHolder) {
  const TestFolder scratch;
  const auto folder = Folder::open(scratch.path());
  ASSERT_TRUE(folder);
  EXPECT_FALSE(*is_locked(*folder, "l")) << "no file";
  int ready[2];
  int end[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(end), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(end[1]);
    const auto lock = try_lock(*folder, "l");
    char c = lock && *lock ? 'y' : 'n';
    static_cast<void>(!::write(ready[1], &c, 1));
    static_cast<void>(!::read(end[0], &c, 1));
    ::_exit(0);
  }
  ::close(end[0]);
  char c = 0;
  ASSERT_EQ(::read(ready[0], &c, 1), 1);
  EXPECT_EQ(c, 'y');
  EXPECT_TRUE(*is_locked(*folder, "l"));
  EXPECT_EQ(*try_lock(*folder, "l"), std::nullopt);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(end[1]);
  EXPECT_FALSE(*is_locked(*folder, "l"));
  EXPECT_TRUE(try_lock(*folder, "l")->has_value());
}

TEST(FileOps, NamesAreTakenNotReplacedAndExchangedInOneStep) {
  const TestFolder scratch;
  const auto folder = Folder::open(scratch.path());
  ASSERT_TRUE(folder);
  ASSERT_TRUE(write_new(*folder, "a", "a"));
  ASSERT_TRUE(write_new(*folder, "b", "b"));
  EXPECT_FALSE(*rename_new(*folder, "a", "b"));
  ASSERT_TRUE(exchange(*folder, "a", "b"));
  EXPECT_EQ(folder->read("a", 9)->value_or(""), "b");
  EXPECT_TRUE(*rename_new(*folder, "a", "c"));
  EXPECT_FALSE(exchange(*folder, "a", "b")) << "there is no a";
  EXPECT_FALSE(rename_new(*folder, "a", "d"));
}

}  // namespace
}  // namespace lockkeeper::host
