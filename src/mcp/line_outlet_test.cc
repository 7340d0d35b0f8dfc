#include "mcp/line_outlet.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "mcp/test_recorder.h"

namespace lockkeeper::mcp {
namespace {

struct Ends {
  Fd read;
  Fd write;
};

Ends make_pipe() {
  int fds[2] = {-1, -1};
  EXPECT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  return {Fd(fds[0]), Fd(fds[1])};
}

Ends make_socket() {
  int fds[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  return {Fd(fds[0]), Fd(fds[1])};
}

bool is_readable(int fd, std::chrono::milliseconds patience = kTestPatience) {
  pollfd wanted{fd, POLLIN, 0};
  return ::poll(&wanted, 1, static_cast<int>(patience.count())) == 1;
}

// Everything until the other end closes.
std::string read_to_end(int fd) {
  std::string all;
  char block[65536];
  for (;;) {
    const ssize_t n = ::read(fd, block, sizeof block);
    if (n <= 0) return all;
    all.append(block, static_cast<std::size_t>(n));
  }
}

class LineOutletTest : public ::testing::TestWithParam<Ends (*)()> {
 protected:
  LineOutletTest() { ::signal(SIGPIPE, SIG_IGN); }
};

INSTANTIATE_TEST_SUITE_P(Kinds, LineOutletTest, ::testing::Values(&make_pipe, &make_socket));

// Nobody reads while far more is sent than the kernel keeps: no send blocks, and nothing is lost,
// torn or out of order.
TEST_P(LineOutletTest, SendingNeverBlocksAndKeepsTheOrder) {
  Ends ends = GetParam()();
  LineOutlet outlet(ends.write.get());
  constexpr int kMessages = 2'000;
  const std::string padding(1'000, 'x');
  for (int i = 0; i < kMessages; ++i) outlet.send({{"n", i}, {"padding", padding}});
  std::string all;
  std::thread reader([&] { all = read_to_end(ends.read.get()); });
  outlet.stop(kTestPatience);
  ends.write.reset();
  reader.join();
  int expected = 0;
  std::size_t at = 0;
  for (std::size_t end = all.find('\n'); end != std::string::npos; end = all.find('\n', at)) {
    const Json message = Json::parse(all.substr(at, end - at));
    EXPECT_EQ(message["n"], expected++);
    at = end + 1;
  }
  EXPECT_EQ(expected, kMessages);
  EXPECT_EQ(at, all.size());
  EXPECT_FALSE(is_readable(outlet.broken(), std::chrono::milliseconds(0)));
}

TEST_P(LineOutletTest, WhoReadsNothingIsGivenUpBeyondTheBound) {
  Ends ends = GetParam()();
  LineOutlet outlet(ends.write.get(), {.queue_bytes_max = 1U << 20, .patience_ms = 3'600'000});
  const Json message{{"padding", std::string(10'000, 'x')}};
  for (int i = 0; i < 200; ++i) outlet.send(message);
  EXPECT_TRUE(is_readable(outlet.broken()));
  outlet.stop(kTestPatience);  // there is nothing to wait for
}

TEST_P(LineOutletTest, WhoReadsNothingForTooLongIsGivenUp) {
  Ends ends = GetParam()();
  LineOutlet outlet(ends.write.get(), {.patience_ms = 50});
  outlet.send({{"padding", std::string(1U << 20, 'x')}});
  EXPECT_TRUE(is_readable(outlet.broken()));
}

TEST_P(LineOutletTest, WhoIsGoneIsGivenUp) {
  Ends ends = GetParam()();
  LineOutlet outlet(ends.write.get());
  ends.read.reset();
  outlet.send({{"n", 1}});
  EXPECT_TRUE(is_readable(outlet.broken()));
  outlet.send({{"n", 2}});
}

TEST_P(LineOutletTest, WhoGoesInTheMiddleIsGivenUp) {
  Ends ends = GetParam()();
  LineOutlet outlet(ends.write.get());
  outlet.send({{"padding", std::string(1U << 20, 'x')}});
  ends.read.reset();
  EXPECT_TRUE(is_readable(outlet.broken()));
}

// Not even while the client reads nothing.
TEST_P(LineOutletTest, StopDoesNotWaitForEver) {
  Ends ends = GetParam()();
  LineOutlet outlet(ends.write.get(), {.patience_ms = 3'600'000});
  outlet.send({{"padding", std::string(1U << 20, 'x')}});
  outlet.stop(std::chrono::milliseconds(1));
  outlet.send({{"n", 1}});
}

}  // namespace
}  // namespace lockkeeper::mcp
