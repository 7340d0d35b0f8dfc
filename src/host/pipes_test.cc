#include "host/pipes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "base/test_folder.h"

namespace lockkeeper::host {
namespace {

TEST(Pipes, APipeWithoutAReaderIsSeen) {
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe);
  EXPECT_FALSE(has_no_reader(pipe->writer.get()));
  pipe->reader.reset();
  EXPECT_TRUE(has_no_reader(pipe->writer.get()));
}

// Clients that run on node give sockets to what they start.
TEST(Pipes, SoIsASocketWhoseOtherEndIsClosed) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const Fd own(ends[0]);
  Fd other(ends[1]);
  ASSERT_EQ(::shutdown(other.get(), SHUT_WR), 0);
  EXPECT_FALSE(has_no_reader(own.get())) << "it only has nothing to say";
  other.reset();
  EXPECT_TRUE(has_no_reader(own.get()));
}

TEST(Pipes, OfAFileItCannotBeTold) {
  const TestFolder folder;
  const Fd file(::open(folder.file("f").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  EXPECT_FALSE(has_no_reader(file.get()));
  EXPECT_FALSE(has_no_reader(-1));
}

}  // namespace
}  // namespace lockkeeper::host
