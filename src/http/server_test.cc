#include "http/server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "http/test_client.h"

namespace lockkeeper::http {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

// A server on its own thread.
class Running {
 public:
  explicit Running(Handler handler, const Limits& limits = {},
                   std::optional<std::string> token = {})
      : Running(std::move(handler), options_of(limits, std::move(token))) {}
  Running(Handler handler, Options options) {
    auto opened = Server::open(std::move(options), std::move(handler));
    EXPECT_TRUE(opened);
    server_ = std::move(*opened);
    thread_ = std::thread([this] { server_->run(); });
  }
  ~Running() {
    server_->close();
    thread_.join();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  static Options options_of(const Limits& limits, std::optional<std::string> token = {}) {
    Options options;
    options.door.token = std::move(token);
    options.limits = limits;
    return options;
  }
  std::uint16_t port() const { return server_->address().port; }
  Server& server() { return *server_; }
  bool has_connections(std::size_t count) const {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (server_->connections() != count && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return server_->connections() == count;
  }

 private:
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

void echo(const Request& request, const std::shared_ptr<Reply>& reply) {
  reply->whole(200, {}, request.method + " " + request.target + " " + request.body);
}

std::string get(const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
}

std::string post(const std::string& body) {
  return "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

TEST(Server, answers_one_request_after_the_other) {
  Running running(echo);
  TestClient client(running.port());
  client.send(get("/a"));
  EXPECT_EQ(client.answer().body(), "GET /a ");
  client.send(post("hello"));
  EXPECT_EQ(client.answer().body(), "POST / hello");
}

TEST(Server, who_sends_many_requests_at_once_does_not_keep_others_waiting) {
  constexpr int kMany = 300;
  std::promise<void> sent;
  std::vector<std::string> order;  // of the server's thread, until it has ended
  {
    Running running([&](const Request& request, const std::shared_ptr<Reply>& reply) {
      if (request.target == "/first") sent.get_future().wait();
      order.push_back(request.target);
      reply->whole(200, {}, "");
    });
    TestClient many(running.port());
    TestClient one(running.port());
    one.send(get("/here"));
    EXPECT_EQ(one.answer().status, 200);
    std::string all = get("/first");
    for (int i = 0; i < kMany; ++i) all += get("/many");
    many.send(all);
    one.send(get("/one"));
    sent.set_value();
    EXPECT_EQ(one.answer().status, 200);
    for (int i = 0; i <= kMany; ++i) EXPECT_EQ(many.answer().status, 200);
  }
  EXPECT_LT(std::ranges::find(order, "/one") - order.begin(), kMany / 2);
}

TEST(Server, answers_pipelined_requests_in_order_whenever_they_are_ready) {
  // The first is answered last.
  std::promise<std::shared_ptr<Reply>> first;
  Running running([&](const Request& request, const std::shared_ptr<Reply>& reply) {
    if (request.target == "/0") return first.set_value(reply);
    echo(request, reply);
  });
  TestClient client(running.port());
  std::string all;
  for (int i = 0; i < 20; ++i) all += get("/" + std::to_string(i));
  client.send(all);
  auto future = first.get_future();
  ASSERT_EQ(future.wait_for(kPatience), std::future_status::ready);
  EXPECT_TRUE(client.is_silent(20));
  future.get()->whole(200, {}, "first");
  EXPECT_EQ(client.answer().body(), "first");
  for (int i = 1; i < 20; ++i) {
    EXPECT_EQ(client.answer().body(), "GET /" + std::to_string(i) + " ");
  }
}

TEST(Server, an_answer_of_another_thread_does_not_wait_for_the_servers) {
  constexpr std::size_t kMoreThanFits = 16U << 20;
  std::promise<std::shared_ptr<Reply>> small, large;
  std::promise<void> busy, done;
  Running running([&](const Request& request, const std::shared_ptr<Reply>& reply) {
    if (request.target == "/small") return small.set_value(reply);
    if (request.target == "/large") return large.set_value(reply);
    if (request.target == "/busy") {
      busy.set_value();
      done.get_future().wait();
    }
    echo(request, reply);
  });
  TestClient one(running.port()), two(running.port()), three(running.port());
  one.send(get("/small"));
  two.send(get("/large"));
  const auto to_one = small.get_future().get(), to_two = large.get_future().get();
  three.send(get("/busy"));
  busy.get_future().wait();
  to_one->whole(200, {}, "here");
  EXPECT_EQ(one.answer().body(), "here");
  to_two->whole(200, {}, std::string(kMoreThanFits, 'x'));
  one.send(get("/next"));  // before the server's thread knows that this client was answered
  EXPECT_EQ(two.head().status, 200);
  done.set_value();
  EXPECT_EQ(one.answer().body(), "GET /next ");
  EXPECT_EQ(two.take(std::string(kMoreThanFits, 'x')).size(), kMoreThanFits);
  EXPECT_EQ(three.answer().status, 200);
}

TEST(Server, reads_bodies_in_chunks) {
  Running running(echo);
  TestClient client(running.port());
  client.send(
      "POST /c HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
  client.send("2\r\nde\r\n0\r\n\r\n");
  EXPECT_EQ(client.answer().body(), "POST /c abcde");
}

TEST(Server, says_go_on_to_who_asks) {
  Running running(echo);
  TestClient client(running.port());
  client.send(
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.answer().status, 100);
  client.send("hi");
  EXPECT_EQ(client.answer().body(), "POST / hi");
}

TEST(Server, refuses_before_it_reads_the_body) {
  Running running(echo, {}, "0123456789abcdef");
  TestClient client(running.port());
  client.send(
      "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  const auto answer = client.answer();
  EXPECT_EQ(answer.status, 401);
  EXPECT_TRUE(answer.header("WWW-Authenticate").starts_with("Bearer"));
  EXPECT_EQ(answer.header("Connection"), "close");
  client.half_close();
  EXPECT_TRUE(client.is_closed());
}

TEST(Server, what_is_no_http_is_told_so) {
  Running running(echo);
  const auto status = [&](const std::string& bytes) {
    TestClient client(running.port());
    client.send(bytes);
    client.half_close();
    const int got = client.answer().status;
    EXPECT_TRUE(client.is_closed());
    return got;
  };
  EXPECT_EQ(status("hello\r\n\r\n"), 400);
  EXPECT_EQ(status(std::string(300, '\xff')), 400);
  EXPECT_EQ(status(std::string(300, '\0')), 400);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nno colon\r\n\r\n"), 400);
  EXPECT_EQ(status("GET / HTTP/9.9\r\n\r\n"), 505);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n"), 400);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
                   "Content-Length: 2\r\n\r\n"),
            400);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n"),
            400);
  // TLS at a plain port.
  EXPECT_EQ(status("\x16\x03\x01\x02" + std::string(200, 'x')), 400);
  // Half a request, and nothing at all: there is nobody to tell.
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: loc"), 0);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf"), 0);
  EXPECT_EQ(status(""), 0);
}

TEST(Server, too_many_bytes_are_refused_by_name) {
  Limits limits;
  limits.body_bytes = 1'000;
  Running running(echo, limits);
  TestClient large(running.port());
  large.send(post(std::string(1'001, 'x')));
  EXPECT_EQ(large.answer().status, 413);
  TestClient chunked(running.port());
  chunked.send("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  chunked.send("3e9\r\n" + std::string(1'001, 'x') + "\r\n0\r\n\r\n");
  EXPECT_EQ(chunked.answer().status, 413);
  TestClient fits(running.port());
  fits.send(post(std::string(1'000, 'x')));
  EXPECT_EQ(fits.answer().status, 200);
  TestClient heads(running.port());
  heads.send("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n");
  EXPECT_EQ(heads.answer().status, 431);
  TestClient many(running.port());
  std::string lines;
  for (int i = 0; i < 5'000; ++i) lines += "A: b\r\n";
  many.send("GET / HTTP/1.1\r\nHost: localhost\r\n" + lines + "\r\n");
  EXPECT_EQ(many.answer().status, 431);
}

TEST(Server, who_is_too_slow_is_dropped) {
  Limits limits;
  limits.header_ms = limits.body_ms = limits.idle_ms = 50;
  Running running(echo, limits);
  TestClient header(running.port());
  header.send("GET / HTTP/1.1\r\n");
  EXPECT_EQ(header.answer().status, 408);
  TestClient body(running.port());
  body.send("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf");
  EXPECT_EQ(body.answer().status, 408);
  TestClient idle(running.port());
  EXPECT_TRUE(idle.is_closed());
  TestClient later(running.port());
  later.send(get("/"));
  EXPECT_EQ(later.answer().status, 200);
  EXPECT_TRUE(later.is_closed());
}

TEST(Server, who_does_not_read_is_dropped) {
  Limits limits;
  limits.unsent_bytes = 100'000;
  std::promise<void> gone;
  std::atomic<bool> stop = false;
  std::thread speaker;
  Running running(
      [&](const Request&, const std::shared_ptr<Reply>& reply) {
        reply->begin(200, {});
        reply->on_gone([&] { gone.set_value(); });
        speaker = std::thread([&stop, reply] {
          while (!stop) {
            reply->chunk(std::string(10'000, 'x'));
            std::this_thread::yield();
          }
        });
      },
      limits);
  TestClient client(running.port(), 4096);
  client.send(get("/"));
  EXPECT_EQ(gone.get_future().wait_for(kPatience), std::future_status::ready);
  stop = true;
  speaker.join();
  EXPECT_TRUE(running.has_connections(0));
}

TEST(Server, who_takes_nothing_of_a_long_answer_is_dropped) {
  Limits limits;
  limits.write_ms = 50;
  Running running(
      [](const Request&, const std::shared_ptr<Reply>& reply) {
        reply->whole(200, {}, std::string(64U << 20, 'x'));
      },
      limits);
  TestClient client(running.port(), 4096);
  client.send(get("/"));
  EXPECT_TRUE(running.has_connections(1));
  EXPECT_TRUE(running.has_connections(0));
}

// Whether it closes, half closes or resets; before the first byte of the answer, or behind it.
TEST(Server, a_client_that_goes_away_is_noticed) {
  for (const bool begun : {false, true}) {
    for (const bool half : {false, true}) {
      std::promise<void> gone;
      std::promise<std::shared_ptr<Reply>> kept;
      Running running([&](const Request&, const std::shared_ptr<Reply>& reply) {
        if (begun) reply->begin(200, {});
        reply->on_gone([&] { gone.set_value(); });
        kept.set_value(reply);
      });
      TestClient client(running.port());
      client.send(post("x"));
      const auto reply = kept.get_future().get();
      if (half) {
        client.half_close();
      } else {
        client.close();
      }
      EXPECT_EQ(gone.get_future().wait_for(kPatience), std::future_status::ready);
      reply->chunk("nobody hears that");
      reply->end();
      bool at_once = false;
      reply->on_gone([&] { at_once = true; });
      EXPECT_TRUE(at_once);
    }
  }
}

TEST(Server, a_client_that_has_sent_far_ahead_is_noticed_too) {
  std::promise<void> gone;
  std::shared_ptr<Reply> kept;
  Running running([&](const Request& request, const std::shared_ptr<Reply>& reply) {
    if (request.target != "/") return;
    reply->on_gone([&] { gone.set_value(); });
    kept = reply;
  });
  TestClient client(running.port());
  client.send(get("/"));
  client.send(post(std::string(3'000'000, 'x')));
  client.half_close();
  EXPECT_EQ(gone.get_future().wait_for(kPatience), std::future_status::ready);
}

TEST(Server, who_sends_more_ahead_than_one_request_can_have_is_dropped) {
  std::promise<void> gone;
  std::shared_ptr<Reply> kept;
  Running running([&](const Request&, const std::shared_ptr<Reply>& reply) {
    reply->on_gone([&] { gone.set_value(); });
    kept = reply;
  });
  TestClient client(running.port());
  client.send(get("/"));
  while (client.send(std::string(100'000, 'x'))) {
  }
  EXPECT_EQ(gone.get_future().wait_for(kPatience), std::future_status::ready);
}

TEST(Server, on_gone_is_not_called_for_an_answer_that_was_given) {
  std::atomic<int> calls = 0;
  Running running([&](const Request& request, const std::shared_ptr<Reply>& reply) {
    reply->on_gone([&] { ++calls; });
    echo(request, reply);
  });
  {
    TestClient client(running.port());
    client.send(get("/"));
    EXPECT_EQ(client.answer().status, 200);
  }
  EXPECT_TRUE(running.has_connections(0));
  EXPECT_EQ(calls, 0);
}

// Chunks of one byte arrive faster than they are read.
TEST(Server, a_body_without_an_end_is_in_nobodys_way) {
  Limits limits;
  limits.body_bytes = 1U << 30;
  Running running(echo, limits);
  TestClient endless(running.port());
  const std::string head =
      "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  constexpr std::size_t kAtOnce = 100'000;
  std::string chunks;
  for (std::size_t i = 0; i < kAtOnce; ++i) chunks += "1\r\ny\r\n";
  std::atomic<bool> answered = false;
  std::atomic<std::size_t> sent = 0;
  std::thread sender([&] {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    endless.send(head + chunks);
    while (++sent, !answered && std::chrono::steady_clock::now() < end) endless.send(chunks);
  });
  while (sent == 0) std::this_thread::yield();
  TestClient other(running.port());
  for (int i = 0; i < 10; ++i) {
    other.send(get("/a"));
    EXPECT_EQ(other.answer().body(), "GET /a ");
  }
  answered = true;
  sender.join();
  endless.send("0\r\n\r\n");
  EXPECT_EQ(endless.answer().body(), "POST / " + std::string(kAtOnce * sent, 'y'));
}

TEST(Server, streams_pieces_and_keeps_the_connection) {
  Running running([](const Request& request, const std::shared_ptr<Reply>& reply) {
    if (request.target == "/whole") return echo(request, reply);
    reply->begin(200, {{"Content-Type", "text/event-stream"}});
    reply->chunk("one");
    reply->chunk("");
    reply->chunk("two");
    reply->end();
    reply->chunk("too late");
  });
  TestClient client(running.port());
  client.send(get("/stream"));
  const auto answer = client.answer();
  EXPECT_EQ(answer.header("content-type"), "text/event-stream");
  EXPECT_EQ(answer.body(), "onetwo");
  client.send(get("/whole"));
  EXPECT_EQ(client.answer().body(), "GET /whole ");
}

TEST(Server, a_silent_stream_says_that_it_lives) {
  Limits limits;
  limits.idle_text_ms = 20;
  std::shared_ptr<Reply> kept;
  Running running(
      [&](const Request&, const std::shared_ptr<Reply>& reply) {
        reply->begin(200, {}, ": here\n\n");
        kept = reply;
      },
      limits);
  TestClient client(running.port());
  client.send(get("/"));
  client.head();
  EXPECT_EQ(client.chunk(), ": here\n\n");
  EXPECT_EQ(client.chunk(), ": here\n\n");
}

TEST(Server, speaks_to_old_clients_without_chunks) {
  Running running([](const Request&, const std::shared_ptr<Reply>& reply) {
    reply->begin(200, {});
    reply->chunk("one");
    reply->chunk("two");
    reply->end();
  });
  TestClient client(running.port());
  client.send("GET / HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n");
  const auto answer = client.answer();
  EXPECT_EQ(answer.header("Transfer-Encoding"), "");
  EXPECT_EQ(answer.body(), "onetwo");
  EXPECT_TRUE(client.is_closed());
}

TEST(Server, head_has_no_body) {
  Running running(echo);
  TestClient client(running.port());
  client.send("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.head().header("Content-Length"), "7");
  client.send(get("/"));
  EXPECT_EQ(client.answer().body(), "GET / ");
}

TEST(Server, an_answer_that_was_forgotten_is_an_error) {
  Running running([](const Request& request, const std::shared_ptr<Reply>& reply) {
    if (request.target == "/begun") reply->begin(200, {});
  });
  TestClient client(running.port());
  client.send(get("/"));
  EXPECT_EQ(client.answer().status, 500);
  client.send(get("/begun"));
  EXPECT_EQ(client.head().status, 200);
  EXPECT_TRUE(client.is_closed());
}

TEST(Server, one_client_too_many_is_asked_to_come_again) {
  Limits limits;
  limits.connections = 2;
  Running running(echo, limits);
  TestClient a(running.port());
  TestClient b(running.port());
  EXPECT_TRUE(running.has_connections(2));
  TestClient c(running.port());
  EXPECT_EQ(c.answer().status, 503);
  a.close();
  EXPECT_TRUE(running.has_connections(1));
  TestClient d(running.port());
  d.send(get("/"));
  EXPECT_EQ(d.answer().status, 200);
}

TEST(Server, ends_at_once_whatever_is_open) {
  std::atomic<int> gone = 0;
  std::atomic<int> asked = 0;
  std::vector<std::shared_ptr<Reply>> kept;  // the server's until it has ended
  std::vector<std::unique_ptr<TestClient>> clients;
  {
    Running running([&](const Request&, const std::shared_ptr<Reply>& reply) {
      reply->on_gone([&] { ++gone; });
      kept.push_back(reply);
      ++asked;
    });
    for (const char* const bytes : {"", "GET / HT", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"}) {
      clients.push_back(std::make_unique<TestClient>(running.port()));
      clients.back()->send(bytes);
    }
    TestClient probe(running.port());
    probe.send(get("/"));
    EXPECT_TRUE(running.has_connections(4));
    while (asked < 2) std::this_thread::yield();
  }
  EXPECT_EQ(gone, 2);
  for (const auto& client : clients) EXPECT_TRUE(client->is_closed());
  // Answering now does nothing.
  for (const auto& reply : kept) reply->whole(200, {}, "late");
}

TEST(Server, the_last_word_of_an_open_stream_is_still_sent) {
  std::shared_ptr<Reply> kept;
  Options options;
  options.at_end = [&] {
    kept->chunk("goodbye");
    kept->end();
  };
  std::promise<void> begun;
  auto server =
      Server::open(std::move(options), [&](const Request&, const std::shared_ptr<Reply>& reply) {
        reply->begin(200, {});
        kept = reply;
        begun.set_value();
      });
  ASSERT_TRUE(server);
  std::thread thread([&] { (*server)->run(); });
  TestClient client((*server)->address().port);
  client.send(get("/"));
  begun.get_future().get();
  (*server)->close();
  EXPECT_EQ(client.answer().body(), "goodbye");
  thread.join();
}

TEST(Server, an_open_door_is_for_loopback_alone) {
  Options options;
  options.door.address = *parse_address("0.0.0.0:0");
  const auto refused = Server::open(std::move(options), echo);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUsage);
}

TEST(Server, an_address_in_use_is_named) {
  Running running(echo);
  Options options;
  options.door.address = running.server().address();
  const auto refused = Server::open(std::move(options), echo);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(running.server().address().text()), std::string::npos);
}

TEST(Server, hundreds_of_idle_clients_are_in_nobodys_way) {
  Running running(echo);
  std::vector<std::unique_ptr<TestClient>> idle;
  for (int i = 0; i < 400; ++i) idle.push_back(std::make_unique<TestClient>(running.port()));
  EXPECT_TRUE(running.has_connections(400));
  TestClient client(running.port());
  client.send(get("/"));
  EXPECT_EQ(client.answer().status, 200);
  idle.clear();
  client.close();
  EXPECT_TRUE(running.has_connections(0));
}

}  // namespace
}  // namespace lockkeeper::http
