// The client against a real server on loopback, and against one that misbehaves.
#include "http/client.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "base/fd.h"
#include "base/test_folder.h"
#include "http/server.h"

namespace lockkeeper::http {
namespace {

using testing::HasSubstr;

constexpr int kPatienceMs = 30'000;

class ServedClient : public testing::Test {
 protected:
  void serve(Address address, Limits limits = {}) {
    Options options;
    options.door.address = std::move(address);
    options.limits = limits;
    auto opened = Server::open(
        std::move(options), [](const Request& request, const std::shared_ptr<Reply>& reply) {
          const std::string* const mark = request.header("X-Mark");
          reply->whole(request.path() == "/missing" ? 404 : 200, {{"Content-Type", "text/plain"}},
                       request.method + " " + request.target + " " + (mark ? *mark : "-") + " " +
                           request.body);
        });
    ASSERT_TRUE(opened) << opened.error().message;
    server_ = std::move(*opened);
    thread_ = std::thread([this] { server_->run(); });
  }
  ~ServedClient() override {
    if (!server_) return;
    server_->close();
    thread_.join();
  }
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

Endpoint on_loopback(std::uint16_t port) {
  Endpoint endpoint;
  endpoint.host = "127.0.0.1";
  endpoint.port = port;
  return endpoint;
}

TEST_F(ServedClient, OneConnectionForAllThatIsAsked) {
  serve({});
  Client client(on_loopback(server_->address().port));
  EXPECT_FALSE(client.is_used());
  for (int i = 0; i < 3; ++i) {
    const auto got = client.ask("POST", "/v1/x?a=b", {{"X-Mark", "m"}}, "body", kPatienceMs);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->status, 200);
    EXPECT_EQ(got->body, "POST /v1/x?a=b m body");
    EXPECT_TRUE(client.is_used());
    EXPECT_EQ(server_->connections(), 1U);
  }
  EXPECT_EQ(client.ask("GET", "/missing", {}, "", kPatienceMs)->status, 404);
}

TEST_F(ServedClient, AUnixSocketToo) {
  const TestFolder folder;
  Address address;
  address.socket = folder.file("s");
  serve(address);
  Endpoint endpoint;
  endpoint.socket = folder.file("s");
  Client client(endpoint);
  const auto got = client.ask("GET", "/", {}, "", kPatienceMs);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->body, "GET / - ");
}

TEST(Client, NobodyThereIsUnavailable) {
  const TestFolder folder;
  Endpoint endpoint;
  endpoint.socket = folder.file("none");
  const auto got = Client(endpoint).ask("GET", "/", {}, "", kPatienceMs);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kStoreUnavailable);
  EXPECT_THAT(got.error().message, HasSubstr(endpoint.socket));
}

// A server of raw bytes, for one connection.
class Misbehaving {
 public:
  explicit Misbehaving(const std::function<void(int)>& behave)
      : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listening_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listening_.get(), 1), 0);
    ::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this, behave] {
      const Fd client(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      char piece[4096];
      static_cast<void>(!::recv(client.get(), piece, sizeof piece, 0));
      behave(client.get());
    });
  }
  ~Misbehaving() { thread_.join(); }
  std::uint16_t port() const { return port_; }

 private:
  Fd listening_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

TEST(Client, WhatWasSentAndNotAnsweredIsUnknown) {
  const std::function<void(int)> ways[] = {
      [](int) {},  // closes
      [](int fd) { static_cast<void>(!::write(fd, "HTTP/1.1 200 OK\r\nContent-Le", 26)); },
      [](int fd) { static_cast<void>(!::write(fd, "nonsense\r\n\r\n", 12)); },
      [](int fd) {
        char byte = 0;
        static_cast<void>(!::recv(fd, &byte, 1, 0));  // silent until the client gives up
      },
  };
  for (const auto& way : ways) {
    const Misbehaving server(way);
    Client client(on_loopback(server.port()));
    const auto got = client.ask("POST", "/", {}, "x", 300);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Code::kUnknown) << got.error().message;
    EXPECT_FALSE(client.is_used());
  }
}

}  // namespace
}  // namespace lockkeeper::http
