// When a process's connections to its relay close: the relay takes whoever has none for gone.
#include "remote/relay_line.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <future>
#include <optional>

#include "base/test_folder.h"
#include "host/local_socket.h"

namespace lockkeeper::remote {
namespace {

constexpr int kAnswerMs = 300;
constexpr int kSoonMs = 5'000;

// The relay's end of one connection.
class Peer {
 public:
  explicit Peer(const Fd& listening) {
    pollfd wanted{listening.get(), POLLIN, 0};
    if (::poll(&wanted, 1, kSoonMs) == 1) socket_ = host::accept_local(listening.get());
  }

  // The two lines of a request; empty: none came.
  std::string request() const {
    std::string all;
    while (std::ranges::count(all, '\n') < 2) {
      char piece[256];
      pollfd wanted{socket_.get(), POLLIN, 0};
      if (::poll(&wanted, 1, kSoonMs) != 1) return "";
      const ssize_t n = ::recv(socket_.get(), piece, sizeof piece, 0);
      if (n <= 0) return "";
      all.append(piece, static_cast<std::size_t>(n));
    }
    return all;
  }
  void answer(const std::string& text) const {
    ASSERT_EQ(::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  bool is_closed(int within_ms) const {
    pollfd wanted{socket_.get(), POLLRDHUP, 0};
    return ::poll(&wanted, 1, within_ms) == 1;
  }
  void close() { socket_.reset(); }

 private:
  Fd socket_;
};

class RelayLineTest : public testing::Test {
 protected:
  std::future<Result<std::string>> ask(const std::string& text) {
    return std::async(std::launch::async, [this, text] { return line_->ask(text); });
  }
  static Code code_of(const Result<std::string>& answer) {
    return answer ? Code::kFailed : answer.error().code;
  }

  TestFolder folder_;
  SystemRandom random_;
  const Fd listening_ = *host::listen_local(folder_.file(kRelaySocket));
  std::optional<RelayLine> line_{
      std::in_place, realm::Server{"unix:/there", "", "", "realm", folder_.path()},
      "/bin/false",  [](const char*) { return std::optional<std::string>(); },
      random_,       kAnswerMs};
};

TEST_F(RelayLineTest, AConnectionIsUsedAgain) {
  auto first = ask("one");
  const Peer peer(listening_);
  const std::string request = peer.request();
  EXPECT_TRUE(request.ends_with(" realm\none\n")) << request;
  peer.answer("yes\n");
  EXPECT_EQ(first.get(), "yes");
  auto second = ask("two");
  EXPECT_TRUE(peer.request().ends_with("two\n"));
  peer.answer("no\n");
  EXPECT_EQ(second.get(), "no");
}

TEST_F(RelayLineTest, L4_WhoeverGivesUpAnAnswerKeepsAConnectionUntilTheNextAnswer) {
  auto late = ask("one");
  const Peer first(listening_);
  const std::string name = first.request().substr(0, 32);
  EXPECT_EQ(code_of(late.get()), Code::kUnknown);
  EXPECT_FALSE(first.is_closed(0));

  auto later = ask("two");
  const Peer second(listening_);
  EXPECT_EQ(second.request().substr(0, 32), name);
  EXPECT_EQ(code_of(later.get()), Code::kUnknown);
  EXPECT_FALSE(first.is_closed(0));
  EXPECT_TRUE(second.is_closed(kSoonMs)) << "one is enough";

  first.answer("too late\n");
  auto again = ask("three");
  const Peer third(listening_);
  EXPECT_TRUE(third.request().ends_with("three\n"));
  EXPECT_FALSE(first.is_closed(0));
  third.answer("here\n");
  EXPECT_EQ(again.get(), "here");
  EXPECT_TRUE(first.is_closed(kSoonMs));
  EXPECT_FALSE(third.is_closed(0));
}

// A relay that was killed knows nobody any more; the one after it does.
TEST_F(RelayLineTest, AConnectionThatTheRelayClosedIsNotKept) {
  auto cut = ask("one");
  Peer first(listening_);
  first.request();
  first.close();
  EXPECT_EQ(code_of(cut.get()), Code::kUnknown);

  auto late = ask("two");
  const Peer second(listening_);
  second.request();
  EXPECT_EQ(code_of(late.get()), Code::kUnknown);
  EXPECT_FALSE(second.is_closed(0));
}

TEST_F(RelayLineTest, WhoeverEndsIsGone) {
  auto late = ask("one");
  const Peer peer(listening_);
  peer.request();
  EXPECT_EQ(code_of(late.get()), Code::kUnknown);
  line_.reset();
  EXPECT_TRUE(peer.is_closed(kSoonMs));
}

}  // namespace
}  // namespace lockkeeper::remote
