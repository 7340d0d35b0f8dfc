// The shipped program over HTTP: who may come in, both eras, clients that go away, and abuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>

#include "http/test_garbage.h"
#include "mcp/client.h"
#include "mcp/http_peer.h"

namespace lockkeeper::proof {
namespace {

using http::TestClient;
using testing::HasSubstr;
using testing::Not;

constexpr int kUsageStatus = 64;

class HttpTest : public testing::Test {
 protected:
  static int status(const HttpServer& server, const std::string& request) {
    TestClient client(server.port());
    client.send(request);
    return client.answer().status;
  }
  // A request that is fine but for its first headers.
  static std::string with(const std::string& headers) {
    const std::string body = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
    return "POST /mcp HTTP/1.1\r\n" + headers +
           "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }
  static bool is_alive(HttpServer& server) {
    HttpPeer peer(server, kModern, "probe");
    return peer.ask("server/discover").contains("result");
  }

  stage::Stage stage_;
};

// --- how it begins and ends ----------------------------------------------------------------------

TEST_F(HttpTest, says_where_it_is_and_where_the_token_lies_in_one_line) {
  HttpServer server(stage_);
  EXPECT_EQ(std::ranges::count(server.banner(), '\n'), 1) << server.banner();
  EXPECT_THAT(server.banner(), HasSubstr("/mcp"));
  EXPECT_THAT(server.banner(), HasSubstr(stage_.store() + "/http-token"));
  ASSERT_GE(server.token().size(), 32U);
  EXPECT_THAT(server.banner(), Not(HasSubstr(server.token())));
  struct stat info{};
  ASSERT_EQ(::stat((stage_.store() + "/http-token").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600U);
  const std::string self = "/proc/" + std::to_string(server.process().pid());
  for (const char* const file : {"/cmdline", "/environ", "/comm"}) {
    EXPECT_THAT(stage::read_text(self + file), Not(HasSubstr(server.token())));
  }
  // The same after a second start.
  EXPECT_EQ(HttpServer(stage_).token(), server.token());
}

TEST_F(HttpTest, the_token_disturbs_neither_doctor_nor_purge) {
  STAGE_IS_LOCAL("the table is removed");
  {
    HttpServer server(stage_);
    HttpPeer alice(server, kModern, "alice");
    alice.tool("lock_acquire", {{"resources", {"a"}}});
    alice.tool("lock_release", Json::object());
  }
  EXPECT_EQ(stage_.as("", {"doctor"}).status, 0);
  EXPECT_EQ(stage_.as("", {"purge", "--remove-store", "--yes"}).status, 0);
  EXPECT_FALSE(stage::exists(stage_.store() + "/http-token"));
}

TEST_F(HttpTest, a_token_file_of_ones_own) {
  const std::string file = stage_.path("my token");
  stage::write_text(file, "my-very-own-secret\n");
  ::chmod(file.c_str(), 0600);
  auto process = stage_.start("", {"mcp", "--http", "127.0.0.1:0", "--token-file", file});
  EXPECT_TRUE(stage::eventually([&] { return process.err().ends_with('\n'); }));
  EXPECT_THAT(process.err(), HasSubstr("my token"));
  EXPECT_THAT(process.err(), Not(HasSubstr("my-very-own-secret")));
  EXPECT_FALSE(stage::exists(stage_.store() + "/http-token"));
  ::chmod(file.c_str(), 0644);
  const auto refused = stage_.as("", {"mcp", "--http", "127.0.0.1:0", "--token-file", file});
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.err, HasSubstr("chmod 600"));
  EXPECT_THAT(refused.err, Not(HasSubstr("my-very-own-secret")));
}

TEST_F(HttpTest, what_makes_no_sense_is_usage) {
  const auto refused = [&](const stage::Words& words, const std::string& named) {
    stage::Words all = {"mcp"};
    all.insert(all.end(), words.begin(), words.end());
    const auto answer = stage_.as("", all);
    EXPECT_EQ(answer.status, kUsageStatus) << named << answer.err;
    EXPECT_THAT(answer.err, HasSubstr(named));
    EXPECT_EQ(answer.out, "");
  };
  refused({"--http", "7420"}, "there is no port");
  refused({"--http", "127.0.0.1:http"}, "a port is a number");
  refused({"--http", "127.0.0.1:65536"}, "a port is a number");
  refused({"--http", "example.com:80"}, "localhost");
  refused({"--http", "::1:80"}, "brackets");
  refused({"--http", "0.0.0.0:0", "--no-auth"}, "other machines");
  refused({"--http", "[::]:0", "--no-auth"}, "other machines");
  refused({"--no-auth"}, "--http");
  refused({"--token-file", "x"}, "--http");
  refused({"--http", "127.0.0.1:0", "--no-auth", "--token-file", "x"}, "--token-file");
}

TEST_F(HttpTest, a_port_in_use_is_named) {
  HttpServer server(stage_);
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  const auto refused = stage_.as("", {"mcp", "--http", address});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr(address));
}

TEST_F(HttpTest, ends_at_a_signal_whatever_is_open) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    HttpServer server(stage_);
    HttpPeer alice(server, kModern, "alice");
    HttpPeer bob(server, "2025-11-25", "bob");
    alice.tool("lock_acquire", {{"resources", {"a"}}});
    const Json wanted{{"resources", {"a"}}, {"wait_s", 45}, {"agent", "bob"}};
    const auto waiting =
        bob.start("tools/call", {{"name", "lock_acquire"}, {"arguments", wanted}}, bob.next_id());
    const auto listening =
        alice.start("subscriptions/listen", {{"notifications", Json::object()}}, alice.next_id());
    EXPECT_THAT(listening->take("\n\n"), HasSubstr("acknowledged"));
    TestClient idle(server.port());
    TestClient half(server.port());
    half.send("POST /mcp HTTP/1.1\r\nHo");
    EXPECT_TRUE(stage_.queue_grows_to(1));
    server.process().signal(signal);
    EXPECT_EQ(server.process().wait(), 0) << signal;
    EXPECT_TRUE(waiting->is_closed());
    EXPECT_TRUE(idle.is_closed());
    EXPECT_EQ(stage_.waiters(), 0U);
  }
}

// --- who may come in -----------------------------------------------------------------------------

TEST_F(HttpTest, only_who_knows_the_token_comes_in) {
  HttpServer server(stage_);
  const std::string host = "Host: localhost\r\n";
  TestClient client(server.port());
  client.send(with(host));
  const auto refused = client.answer();
  EXPECT_EQ(refused.status, 401);
  EXPECT_THAT(refused.header("WWW-Authenticate"), testing::StartsWith("Bearer"));
  EXPECT_EQ(status(server, with(host + "Authorization: Bearer wrong\r\n")), 401);
  EXPECT_EQ(status(server, with(host + "Authorization: Basic " + server.token() + "\r\n")), 401);
  // Through the door: a ping without a session is a bad request.
  const std::string right = "Authorization: Bearer " + server.token() + "\r\n";
  EXPECT_EQ(status(server, with(host + right)), 400);
  EXPECT_EQ(status(server, with("Host: evil.example.com\r\n" + right)), 403);
  EXPECT_EQ(status(server, with(host + right + "Origin: http://evil.example.com\r\n")), 403);
  EXPECT_EQ(status(server, with(host + right + "Origin: null\r\n")), 403);
  EXPECT_EQ(status(server, with(host + right + "Origin: http://localhost:6274\r\n")), 400);
  EXPECT_EQ(status(server, with(right)), 403);
}

TEST_F(HttpTest, without_a_token_the_host_still_counts) {
  HttpServer server(stage_, {"--no-auth"});
  EXPECT_EQ(server.token(), "");
  EXPECT_FALSE(stage::exists(stage_.store() + "/http-token"));
  const std::string port = std::to_string(server.port());
  for (const std::string host : {"localhost", "127.0.0.1", "[::1]"}) {
    EXPECT_EQ(status(server, with("Host: " + host + "\r\n")), 400) << host;
    EXPECT_EQ(status(server, with("Host: " + host + ":" + port + "\r\n")), 400) << host;
  }
  EXPECT_EQ(status(server, with("Host: evil.example.com:" + port + "\r\n")), 403);
  EXPECT_EQ(status(server, with("Host: localhost\r\nOrigin: https://evil.example.com\r\n")), 403);
}

// --- both eras -----------------------------------------------------------------------------------

class HttpEras : public HttpTest, public testing::WithParamInterface<const char*> {};

TEST_P(HttpEras, agents_meet_over_one_file) {
  HttpServer server(stage_);
  HttpPeer alice(server, GetParam(), "alice");
  HttpPeer bob(server, GetParam(), "bob");
  EXPECT_THAT(alice.tool("lock_acquire", {{"resources", {"a.py"}}}).dump(), HasSubstr("Locked"));
  EXPECT_THAT(bob.tool("lock_acquire", {{"resources", {"a.py"}}}).dump(), HasSubstr("alice"));
  const Json wanted{{"resources", {"a.py"}}, {"wait_s", 45}, {"agent", "bob"}};
  const int id = bob.next_id();
  const auto waiting = bob.start(
      "tools/call",
      {{"name", "lock_acquire"}, {"arguments", wanted}, {"_meta", {{"progressToken", "p"}}}}, id);
  EXPECT_TRUE(stage_.queue_grows_to(1));
  alice.tool("lock_release", Json::object());
  const std::vector<Json> messages = bob.read(*waiting);
  ASSERT_FALSE(messages.empty());
  EXPECT_EQ(messages.back()["id"], id);
  EXPECT_THAT(messages.back().dump(), HasSubstr("Locked"));
}

// Closing the stream is the new era's way to cancel; in the old one nobody could hear the answer.
TEST_P(HttpEras, who_goes_away_leaves_the_queue) {
  HttpServer server(stage_);
  HttpPeer alice(server, GetParam(), "alice");
  HttpPeer bob(server, GetParam(), "bob");
  alice.tool("lock_acquire", {{"resources", {"a"}}});
  const Json wanted{{"resources", {"a"}}, {"wait_s", 45}, {"agent", "bob"}};
  const Json call{{"name", "lock_acquire"}, {"arguments", wanted}};
  for (const bool half : {false, true}) {
    const auto waiting = bob.start("tools/call", call, bob.next_id());
    EXPECT_TRUE(stage_.queue_grows_to(1));
    if (half) {
      waiting->half_close();
    } else {
      waiting->close();
    }
    EXPECT_TRUE(stage::eventually([&] { return stage_.waiters() == 0; }));
  }
  EXPECT_TRUE(is_alive(server));
}

INSTANTIATE_TEST_SUITE_P(Revisions, HttpEras, testing::ValuesIn(kRevisions),
                         [](const auto& revision) {
                           std::string name = revision.param;
                           std::ranges::replace(name, '-', '_');
                           return "of_" + name;
                         });

TEST_F(HttpTest, a_progressing_wait_that_loses_its_client_leaves_the_queue_too) {
  HttpServer server(stage_);
  HttpPeer alice(server, kModern, "alice");
  alice.tool("lock_acquire", {{"resources", {"a"}}});
  const Json wanted{{"resources", {"a"}}, {"wait_s", 45}, {"agent", "bob"}};
  const auto waiting = alice.start(
      "tools/call",
      {{"name", "lock_acquire"}, {"arguments", wanted}, {"_meta", {{"progressToken", 7}}}},
      alice.next_id());
  EXPECT_THAT(waiting->take("\n\n"), HasSubstr("notifications/progress"));
  EXPECT_TRUE(stage_.queue_grows_to(1));
  waiting->close();
  EXPECT_TRUE(stage::eventually([&] { return stage_.waiters() == 0; }));
}

TEST_F(HttpTest, changes_of_the_table_are_heard_in_both_eras) {
  HttpServer server(stage_);
  HttpPeer alice(server, kModern, "alice");
  HttpPeer bob(server, "2025-11-25", "bob");
  const std::string uri = "lock://leases";
  const auto listening = alice.start("subscriptions/listen",
                                     {{"notifications", {{"resourceSubscriptions", {uri}}}}}, 77);
  EXPECT_THAT(listening->take("acknowledged"), HasSubstr("text/event-stream"));
  EXPECT_TRUE(bob.ask("resources/subscribe", {{"uri", uri}}).contains("result"));
  TestClient stream(server.port());
  stream.send(http_request(server, "GET", bob.headers()));
  EXPECT_EQ(stream.head().status, 200);
  EXPECT_EQ(stage_.as("carol", {"acquire", "a.c"}).status, 0);
  const std::string mark = "notifications/resources/updated";
  EXPECT_THAT(listening->take(mark), HasSubstr("data: "));
  EXPECT_THAT(stream.take(mark), HasSubstr("data: "));
}

TEST_F(HttpTest, sessions_by_the_book) {
  HttpServer server(stage_);
  HttpPeer peer(server, "2025-06-18", "alice");
  const std::string ping = R"({"jsonrpc":"2.0","id":"p","method":"ping"})";
  const auto ask = [&](const std::string& method, const http::Headers& headers) {
    TestClient client(server.port());
    client.send(http_request(server, method, headers, method == "POST" ? ping : ""));
    return client.head().status;
  };
  EXPECT_EQ(peer.session().find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(ask("POST", peer.headers()), 200);
  EXPECT_EQ(ask("POST", {}), 400);
  EXPECT_EQ(ask("POST", {{"Mcp-Session-Id", "unknown"}}), 404);
  EXPECT_EQ(ask("GET", {}), 405);
  EXPECT_EQ(ask("DELETE", {}), 405);
  EXPECT_EQ(ask("PUT", {}), 405);
  EXPECT_EQ(ask("HEAD", {}), 405);
  EXPECT_EQ(ask("OPTIONS", {}), 405);
  EXPECT_EQ(ask("BREW", {}), 405);
  TestClient stream(server.port());
  stream.send(http_request(server, "GET", peer.headers()));
  EXPECT_EQ(stream.head().header("Content-Type"), "text/event-stream");
  EXPECT_EQ(ask("DELETE", peer.headers()), 204);
  EXPECT_EQ(stream.chunk(), "");
  EXPECT_EQ(ask("POST", peer.headers()), 404);
  EXPECT_EQ(ask("GET", peer.headers()), 404);
}

// --- who holds what ------------------------------------------------------------------------------

TEST_F(HttpTest, M4_two_clients_of_one_name_are_two_owners) {
  HttpServer server(stage_);
  HttpPeer first(server, "2025-11-25", "claude");
  HttpPeer second(server, "2025-11-25", "claude");
  EXPECT_THAT(first.tool("lock_acquire", {{"resources", {"a"}}}).dump(), HasSubstr("Locked a"));
  EXPECT_THAT(second.tool("lock_acquire", {{"resources", {"a"}}}).dump(), HasSubstr("Not locked"));
  second.tool("lock_release", Json::object());
  EXPECT_EQ(stage_.list()["leases"].size(), 1U);
}

TEST_F(HttpTest, M4_a_client_that_is_gone_keeps_its_lock_for_the_grace_only) {
  stage_.file("lockkeeper.toml", "[lease]\norphan_grace = \"1s\"\n");
  HttpServer server(stage_);
  HttpPeer old_era(server, "2025-11-25", "amy");
  HttpPeer new_era(server, kModern, "bob");
  old_era.tool("lock_acquire", {{"resources", {"a"}}});
  new_era.tool("lock_acquire", {{"resources", {"b"}}});
  TestClient stream(server.port());
  stream.send(http_request(server, "GET", old_era.headers()));
  EXPECT_EQ(stream.head().status, 200);
  const auto listening =
      new_era.start("subscriptions/listen", {{"notifications", Json::object()}}, 77);
  EXPECT_THAT(listening->take("\n\n"), HasSubstr("acknowledged"));
  EXPECT_EQ(stage_.as("carl", {"acquire", "a"}).status, 75);
  EXPECT_EQ(stage_.as("carl", {"acquire", "b"}).status, 75);
  stream.close();
  listening->close();
  EXPECT_TRUE(stage::eventually([&] { return stage_.as("carl", {"acquire", "a"}).status == 0; }));
  EXPECT_TRUE(stage::eventually([&] { return stage_.as("carl", {"acquire", "b"}).status == 0; }));
}

TEST_F(HttpTest, M4_a_session_that_is_deleted_frees_its_locks) {
  HttpServer server(stage_);
  HttpPeer peer(server, "2025-06-18", "amy");
  peer.tool("lock_acquire", {{"resources", {"a"}}});
  TestClient client(server.port());
  client.send(http_request(server, "DELETE", peer.headers()));
  EXPECT_EQ(client.head().status, 204);
  EXPECT_TRUE(stage::eventually([&] { return stage_.list()["leases"].empty(); }));
}

TEST_F(HttpTest, another_path_is_not_found) {
  HttpServer server(stage_, {"--no-auth"});
  for (const char* const path : {"/", "/mcp/x", "/MCP", "/../mcp", "*", "http://localhost/mcp2"}) {
    EXPECT_EQ(status(server, "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              404)
        << path;
  }
}

// --- abuse ---------------------------------------------------------------------------------------

TEST_F(HttpTest, too_much_is_refused) {
  HttpServer server(stage_);
  const std::string fits(4U << 20, ' ');
  EXPECT_EQ(status(server, http_request(server, "POST", {}, fits)), 400);  // no message
  EXPECT_EQ(status(server, http_request(server, "POST", {}, fits + " ")), 413);
  EXPECT_EQ(status(server, http_request(server, "POST", {{"X", std::string(20'000, 'x')}}, "{}")),
            431);
  http::Headers many(2'000, {"X-Header", "x"});
  EXPECT_EQ(status(server, http_request(server, "POST", many, "{}")), 431);
  TestClient endless(server.port());
  endless.send("POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + server.token() +
               "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::string piece = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  for (int i = 0; i < 80 && endless.send(piece); ++i) {
  }
  EXPECT_EQ(endless.answer().status, 413);
  EXPECT_TRUE(is_alive(server));
}

TEST_F(HttpTest, garbage_is_refused_and_the_server_lives_on) {
  HttpServer server(stage_, {"--no-auth"});
  http::send_garbage(server.port(), "POST /mcp HTTP/1.1\r\n");
  EXPECT_TRUE(is_alive(server));
}

TEST_F(HttpTest, half_requests_are_nothing) {
  HttpServer server(stage_);
  HttpPeer peer(server, kModern, "alice");
  const Json wanted{{"resources", {"a"}}, {"agent", "alice"}};
  const std::string whole =
      peer.text_of("tools/call", {{"name", "lock_acquire"}, {"arguments", wanted}}, 99);
  for (std::size_t part = 0; part < whole.size(); part += whole.size() / 20) {
    TestClient client(server.port());
    client.send(whole.substr(0, part));
    client.close();
  }
  EXPECT_TRUE(is_alive(server));
  EXPECT_EQ(stage_.list()["leases"].size(), 0U);
}

TEST_F(HttpTest, pipelined_requests_are_answered_in_order) {
  HttpServer server(stage_);
  HttpPeer peer(server, "2025-11-25", "alice");
  std::string all;
  for (int i = 0; i < 50; ++i) {
    // Slow and quick ones.
    const bool tool = i % 2 == 0;
    const Json status{{"name", "lock_status"}, {"arguments", {{"agent", "alice"}}}};
    all += tool ? peer.text_of("tools/call", status, 1000 + i)
                : peer.text_of("ping", Json::object(), 1000 + i);
  }
  TestClient client(server.port());
  client.send(all);
  for (int i = 0; i < 50; ++i) {
    const std::vector<Json> messages = peer.read(client);
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(messages[0]["id"], 1000 + i);
  }
}

TEST_F(HttpTest, who_never_reads_is_in_nobodys_way) {
  HttpServer server(stage_);
  HttpPeer peer(server, "2025-11-25", "alice");
  std::vector<std::unique_ptr<TestClient>> deaf;
  for (int i = 0; i < 5; ++i) {
    deaf.push_back(std::make_unique<TestClient>(server.port(), 2048));
    std::string all;
    for (int n = 0; n < 300; ++n) {
      all += http_request(server, "POST", peer.headers(),
                          R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
    }
    deaf.back()->send(all);
  }
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(peer.ask("ping").contains("result"));
  server.process().signal(SIGTERM);
  EXPECT_EQ(server.process().wait(), 0);
}

// --- many ----------------------------------------------------------------------------------------

std::size_t resident_kib(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;) {
    std::size_t kib = 0;
    if (word == "VmRSS:" && status >> kib) return kib;
  }
  return 0;
}

TEST_F(HttpTest, a_thousand_idle_connections_cost_little) {
  constexpr std::size_t kClients = 1'000;
  constexpr std::size_t kMostKib = stage::kSanitized ? 200 : 50;  // ASan surrounds every allocation
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, kClients + 200);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_cur < kClients + 200) GTEST_SKIP() << "too few descriptors";
  HttpServer server(stage_);
  HttpPeer peer(server, "2025-11-25", "alice");
  const std::size_t before = resident_kib(server.process().pid());
  std::vector<std::unique_ptr<TestClient>> idle;
  for (std::size_t i = 0; i < kClients; ++i) {
    idle.push_back(std::make_unique<TestClient>(server.port()));
    ASSERT_TRUE(idle.back()->connected());
    // Half of them have been of use before.
    if (i % 2 == 1) continue;
    idle.back()->send(http_request(server, "POST", peer.headers(),
                                   R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"));
    EXPECT_EQ(idle.back()->answer().status, 200);
  }
  EXPECT_TRUE(peer.ask("ping").contains("result"));
  const std::size_t after = resident_kib(server.process().pid());
  RecordProperty("kib_per_connection", static_cast<int>((after - before) / kClients));
  std::printf("%zu KiB before, %zu KiB with %zu idle connections\n", before, after, kClients);
  EXPECT_LT((after - before) / kClients, kMostKib);
  // Streams cost no more.
  for (std::size_t i = 0; i < kClients; i += 2) {
    idle[i]->send(http_request(
        server, "POST", {{"MCP-Protocol-Version", kModern}, {"Mcp-Method", "subscriptions/listen"}},
        Json{{"jsonrpc", "2.0"},
             {"id", 1},
             {"method", "subscriptions/listen"},
             {"params", modern_params({{"notifications", Json::object()}})}}
            .dump()));
    EXPECT_THAT(idle[i]->take("\n\n"), HasSubstr("200 OK"));
  }
  const std::size_t listening = resident_kib(server.process().pid());
  std::printf("%zu KiB with half of them listening\n", listening);
  EXPECT_LT((listening - before) / kClients, kMostKib);
}

TEST_F(HttpTest, clients_of_every_revision_on_one_lock_get_it_one_after_the_other) {
  HttpServer server(stage_);
  HttpPeer first(server, kModern, "first");
  first.tool("lock_acquire", {{"resources", {"a"}}});
  constexpr int kClients = 15;
  std::vector<std::unique_ptr<HttpPeer>> peers;
  std::vector<std::unique_ptr<TestClient>> waiting;
  for (int i = 0; i < kClients; ++i) {
    const std::string agent = "agent" + std::to_string(i);
    peers.push_back(std::make_unique<HttpPeer>(server, kRevisions[i % 5], agent));
    const Json wanted{{"resources", {"a"}}, {"wait_s", 45}, {"agent", agent}};
    waiting.push_back(peers.back()->start(
        "tools/call", {{"name", "lock_acquire"}, {"arguments", wanted}}, peers.back()->next_id()));
    ASSERT_TRUE(stage_.queue_grows_to(static_cast<std::size_t>(i) + 1));
  }
  first.tool("lock_release", Json::object());
  for (std::size_t i = 0; i < kClients; ++i) {
    const std::vector<Json> messages = peers[i]->read(*waiting[i]);
    ASSERT_FALSE(messages.empty());
    EXPECT_THAT(messages.back().dump(), HasSubstr("Locked"));
    const stage::Json leases = stage_.list()["leases"];
    ASSERT_EQ(leases.size(), 1U);
    EXPECT_EQ(leases[0]["agent"], "agent" + std::to_string(i));
    peers[i]->tool("lock_release", Json::object());
  }
}

}  // namespace
}  // namespace lockkeeper::proof
