#include "mcp/stdio.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "mcp/test_client.h"

namespace lockkeeper::mcp {
namespace {

class StdioTest : public ::testing::Test {
 protected:
  StdioTest() {
    ::signal(SIGPIPE, SIG_IGN);
    for (auto* const ends : {&in_, &out_, &ended_}) {
      int fds[2] = {-1, -1};
      EXPECT_EQ(::pipe2(fds, O_CLOEXEC), 0);
      (*ends)[0] = Fd(fds[0]);
      (*ends)[1] = Fd(fds[1]);
    }
    catalogue_.name = "test";
    catalogue_.version = "1";
    catalogue_.tools = {
        test_tool("work", [](Call&, const Json&) { return tool_answer("done", nullptr); }),
        test_tool("wait", [this](Call& call, const Json&) {
          const Call::Pause pause(call);
          Latch over;
          call.on_cancel([&] { over.open(); });
          begun_.open();
          EXPECT_TRUE(over.wait());
          return Answer{};
        })};
  }
  ~StdioTest() override {
    if (serving_.joinable()) serving_.join();
  }

  void serve(LineLimits limits = {}) {
    serving_ = std::thread([this, limits] {
      serve_stdio(std::make_shared<Session>(catalogue_, pool_),
                  {in_[0].get(), out_[1].get(), ended_[0].get(), limits});
      out_[1].reset();
      over_ = true;
    });
  }
  void write(const std::string& text) {
    ASSERT_EQ(::write(in_[1].get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  static std::string tool_call(int id, const std::string& name) {
    return line_of(request(id, "tools/call", {{"name", name}, {"_meta", modern_meta()}}));
  }
  // All messages until the server is done.
  std::vector<Json> rest() {
    std::string all;
    char block[65536];
    for (ssize_t n = 1; n > 0;) {
      n = ::read(out_[0].get(), block, sizeof block);
      if (n > 0) all.append(block, static_cast<std::size_t>(n));
    }
    std::vector<Json> messages;
    std::size_t at = 0;
    for (std::size_t end = all.find('\n'); end != std::string::npos; end = all.find('\n', at)) {
      messages.push_back(Json::parse(all.substr(at, end - at)));
      at = end + 1;
    }
    EXPECT_EQ(at, all.size());
    return messages;
  }

  Fd in_[2];
  Fd out_[2];
  Fd ended_[2];
  Latch begun_;
  std::atomic<bool> over_ = false;
  Catalogue catalogue_;
  Pool pool_{4};
  std::thread serving_;
};

// What was asked before the client closed its end is answered, also if the last line lacks its end.
TEST_F(StdioTest, TheLastWordsAreAnswered) {
  serve();
  write(tool_call(1, "work") + "\n" + tool_call(2, "work"));
  in_[1].reset();
  std::set<int> ids;
  for (const Json& each : rest()) ids.insert(each["id"].get<int>());
  EXPECT_EQ(ids, (std::set<int>{1, 2}));
}

TEST_F(StdioTest, LinesAreCutWhereverTheyAreRead) {
  serve();
  const std::string text = "\r\n  \n" + tool_call(1, "work") + "\r\nnonsense\n";
  for (const char byte : text) write(std::string(1, byte));
  in_[1].reset();
  const auto messages = rest();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_TRUE(code_of(messages[0]) == code::kParseError ||
              code_of(messages[1]) == code::kParseError);
}

TEST_F(StdioTest, ALineBeyondTheLimitIsPassedOver) {
  serve();
  const std::string block(1U << 20, 'x');
  for (std::size_t sent = 0; sent <= kMessageBytesMax; sent += block.size()) write(block);
  write("\n" + tool_call(1, "work") + "\n");
  in_[1].reset();
  const auto messages = rest();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(code_of(messages[0]), code::kInvalidRequest);
  EXPECT_EQ(messages[1]["id"], 1);
}

// A wait of 45 s does not delay the end.
TEST_F(StdioTest, TheEndWaitsForNothingThatWaits) {
  serve();
  write(tool_call(1, "wait") + "\n");
  ASSERT_TRUE(begun_.wait());
  in_[1].reset();
  EXPECT_TRUE(rest().empty());
}

TEST_F(StdioTest, ASignalEndsIt) {
  serve();
  write(tool_call(1, "wait") + "\n");
  ASSERT_TRUE(begun_.wait());
  ASSERT_EQ(::write(ended_[1].get(), "x", 1), 1);
  EXPECT_TRUE(rest().empty());
}

TEST_F(StdioTest, SubscriptionsAreToldOfTheEnd) {
  serve();
  write(line_of(request("s", "subscriptions/listen",
                        {{"_meta", modern_meta()}, {"notifications", Json::object()}})) +
        "\n");
  in_[1].reset();
  const auto messages = rest();
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[1]["method"], "notifications/cancelled");
  EXPECT_EQ(messages[2]["id"], "s");
}

// A client that does not read is still heard, and given up in the end.
TEST_F(StdioTest, AClientThatDoesNotReadIsHeardAndGivenUp) {
  serve({.queue_bytes_max = 1U << 20, .patience_ms = 3'600'000});
  const std::string ping =
      line_of(request(std::string(10'000, 'x'), "ping", Json::object())) + "\n";
  for (int i = 0; i < 50; ++i) write(ping);  // more than its pipe holds
  write(tool_call(1, "wait") + "\n");
  EXPECT_TRUE(begun_.wait());
  ASSERT_EQ(::fcntl(in_[1].get(), F_SETFL, O_NONBLOCK), 0);
  while (!over_) {  // until the server has had enough
    pollfd wanted{in_[1].get(), POLLOUT, 0};
    if (::poll(&wanted, 1, 10) == 1) {
      [[maybe_unused]] const ssize_t n = ::write(in_[1].get(), ping.data(), ping.size());
    }
  }
}

}  // namespace
}  // namespace lockkeeper::mcp
