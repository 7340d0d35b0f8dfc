// Who may come in, and abuse: what the MCP tests do to HTTP, done to the hub.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "http/test_garbage.h"
#include "hub/hub_peer.h"

namespace lockkeeper::proof {
namespace {

using http::TestClient;
using stage::Words;
using testing::HasSubstr;
using testing::Not;

constexpr int kUsageStatus = 64;

class HubAttack : public testing::Test {
 protected:
  int status(const std::string& request) {
    TestClient client(hub_.port());
    client.send(request);
    return client.answer().status;
  }
  // A change that is fine but for its first headers.
  static std::string with(const std::string& headers, const char* type = "application/json",
                          const std::string& body = R"({"resources":["src/a.py"]})") {
    return "POST /v1/acquire HTTP/1.1\r\n" + headers + "Content-Type: " + type +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  bool is_alive() { return HubPeer(hub_.port(), token_).get("/v1/list").status == 200; }
  std::size_t held() { return stage_.list()["leases"].size(); }

  stage::Stage stage_;
  const std::string token_ = add_token(stage_, "alice");
  HubServer hub_{stage_};
  const std::string right_ = "Authorization: Bearer " + token_ + "\r\n";
  const std::string host_ = "Host: localhost\r\n";
};

TEST_F(HubAttack, NoSecretIsInALogAProcessTitleOrAnAnswer) {
  EXPECT_EQ(status(with(host_ + right_)), 200);
  EXPECT_EQ(status(with(host_ + "Authorization: Bearer wrong-" + token_ + "\r\n")), 401);
  const std::string self = "/proc/" + std::to_string(hub_.process().pid());
  for (const char* const file : {"/cmdline", "/environ", "/comm"}) {
    EXPECT_THAT(stage::read_text(self + file), Not(HasSubstr(token_)));
  }
  EXPECT_THAT(hub_.process().err(), Not(HasSubstr(token_.substr(3, 20))));
  HubPeer peer(hub_.port(), token_);
  for (const char* const target : {"/v1/list", "/v1/events", "/v1/whoami", "/metrics"}) {
    EXPECT_THAT(peer.get(target).body, Not(HasSubstr(token_.substr(3, 20)))) << target;
  }
}

TEST_F(HubAttack, OnlyWhoKnowsATokenComesIn) {
  EXPECT_EQ(status(with(host_)), 401);
  EXPECT_EQ(status(with(host_ + "Authorization: Bearer \r\n")), 401);
  EXPECT_EQ(status(with(host_ + right_ + right_)), 401);
  EXPECT_EQ(status(with(host_ + "Authorization: Basic " + token_ + "\r\n")), 401);
  EXPECT_EQ(status(with(host_ + "Cookie: token=" + token_ + "\r\n")), 401);
  EXPECT_EQ(status("GET /v1/list?token=" + token_ + " HTTP/1.1\r\n" + host_ + "\r\n"), 401);
  EXPECT_EQ(status("GET /healthz HTTP/1.1\r\n" + host_ + "\r\n"), 200);
  EXPECT_EQ(status("GET /healthz/../v1/list HTTP/1.1\r\n" + host_ + "\r\n"), 401);
  for (const char* const path : {"/page/", "/metrics", "/mcp", "/lfs/app/locks", "/locks/status/a",
                                 "/ports/status", "/v1/openapi.json", "//healthz"}) {
    EXPECT_EQ(status("GET " + std::string(path) + " HTTP/1.1\r\n" + host_ + "\r\n"), 401) << path;
  }
  EXPECT_EQ(held(), 0U);
}

TEST_F(HubAttack, PagesOfOtherSitesAreRefused) {
  EXPECT_EQ(status(with("Host: evil.example.com\r\n" + right_)), 403);
  EXPECT_EQ(status(with(right_)), 403);
  EXPECT_EQ(status(with(host_ + host_ + right_)), 403);
  for (const char* const origin :
       {"http://evil.example.com", "null", "http://localhost.evil.com"}) {
    EXPECT_EQ(status(with(host_ + right_ + "Origin: " + origin + "\r\n")), 403) << origin;
  }
  // What a form can send, and the question before what it cannot.
  for (const char* const type :
       {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""}) {
    EXPECT_EQ(status(with(host_ + right_, type)), 415) << type;
  }
  TestClient client(hub_.port());
  client.send("OPTIONS /v1/acquire HTTP/1.1\r\n" + host_ + right_ +
              "Origin: http://localhost:3000\r\nAccess-Control-Request-Method: POST\r\n\r\n");
  const auto preflight = client.answer();
  EXPECT_GE(preflight.status, 400);
  EXPECT_EQ(preflight.header("Access-Control-Allow-Origin"), "");
  EXPECT_EQ(held(), 0U);
}

TEST_F(HubAttack, TooMuchIsRefused) {
  HubPeer peer(hub_.port(), token_, "x");
  EXPECT_EQ(status(with(host_ + right_, "application/json", std::string((4U << 20) + 1, ' '))),
            413);
  EXPECT_EQ(status(with(host_ + right_ + "X: " + std::string(20'000, 'x') + "\r\n")), 431);
  Json many = Json::array();
  for (int i = 0; i < 20'000; ++i) many.push_back("f" + std::to_string(i));
  EXPECT_EQ(peer.post("/v1/acquire", {{"resources", many}}).status, 429);
  const std::string deep(10'000, '[');
  EXPECT_EQ(status(with(host_ + right_, "application/json", deep)), 400);
  EXPECT_EQ(
      status(with(host_ + right_, "application/json", R"({"resources":["a"],"resources":["b"]})")),
      400);
  HubPeer long_name(hub_.port(), token_, std::string(300, 'x'));
  EXPECT_EQ(long_name.post("/v1/acquire", {{"resources", {"a"}}}).status, 400);
  for (const Json& body :
       {Json{{"resources", "a"}}, Json{{"resources", {1}}}, Json{{"resource", {"a"}}},
        Json{{"resources", {"a"}}, {"ttl", 5}}, Json{{"resources", {"a"}}, {"ttl", "soon"}},
        Json{{"resources", {"../../etc/passwd"}}}, Json{{"resources", {"/etc/passwd"}}},
        Json{{"resources", {"a"}}, {"mode", "both"}}, Json(nullptr), Json(1)}) {
    EXPECT_EQ(peer.post("/v1/acquire", body).status, 400) << body.dump();
  }
  EXPECT_TRUE(is_alive());
  EXPECT_EQ(held(), 0U);
}

TEST_F(HubAttack, GarbageAndHalfRequestsChangeNothing) {
  http::send_garbage(hub_.port(), "POST /v1/");
  const std::string whole = with(host_ + right_);
  for (std::size_t part = 0; part < whole.size(); part += whole.size() / 20) {
    TestClient client(hub_.port());
    client.send(whole.substr(0, part));
  }
  EXPECT_TRUE(is_alive());
  EXPECT_EQ(held(), 0U);
}

TEST_F(HubAttack, OddPathsAreRefused) {
  for (const char* const path :
       {"/v1/../../etc/passwd", "/v1//list", "/v1/list/", "/v1/%2e%2e/list", "/v1/list%00",
        "/v1/%zz", "/lfs/..%2f..%2fetc/locks", "/lfs/app/locks/..%2f/unlock", "/v1/waits/..%2f"}) {
    const int got = status("GET " + std::string(path) + " HTTP/1.1\r\n" + host_ + right_ + "\r\n");
    EXPECT_TRUE(got == 400 || got == 404) << path << " " << got;
  }
}

TEST_F(HubAttack, PipelinedRequestsAreAnsweredInOrder) {
  HubPeer peer(hub_.port(), token_, "x");
  for (int i = 0; i < 50; ++i) {
    peer.send("GET", i % 2 == 0 ? "/v1/list" : "/v1/waits/" + std::to_string(i));
  }
  for (int i = 0; i < 50; ++i) EXPECT_EQ(peer.answer().status, i % 2 == 0 ? 200 : 400) << i;
}

TEST_F(HubAttack, WhoNeverReadsIsInNobodysWay) {
  std::vector<std::unique_ptr<TestClient>> deaf;
  for (int i = 0; i < 5; ++i) {
    deaf.push_back(std::make_unique<TestClient>(hub_.port(), 2048));
    std::string all;
    for (int n = 0; n < 300; ++n) {
      all += "GET /v1/openapi.json HTTP/1.1\r\n" + host_ + right_ + "\r\n";
    }
    deaf.back()->send(all);
  }
  HubPeer peer(hub_.port(), token_, "x");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(peer.get("/v1/list").status, 200);
  hub_.process().signal(SIGTERM);
  EXPECT_EQ(hub_.process().wait(), 0);
}

// Whoever does not read its events loses the stream, and nothing else.
TEST_F(HubAttack, ASlowReaderIsCutOffAndResumes) {
  TestClient deaf(hub_.port(), 2048);
  deaf.send("GET /v1/events HTTP/1.1\r\n" + host_ + right_ + "Accept: text/event-stream\r\n\r\n");
  EXPECT_EQ(deaf.head().status, 200);
  HubPeer peer(hub_.port(), token_, "x");
  const std::string reason(4'000, 'r');
  const auto streams = [&] {
    const std::string body = peer.get("/metrics").body;
    const std::string mark = "\nlockkeeper_event_streams ";
    return body.substr(body.find(mark) + mark.size(), 1);
  };
  EXPECT_EQ(streams(), "1");
  for (int i = 0; i < 2'000 && streams() == "1"; ++i) {
    const std::string name = "f" + std::to_string(i);
    peer.post("/v1/acquire", {{"resources", {name}}, {"reason", reason}});
    peer.post("/v1/release", {{"resources", {name}}});
  }
  EXPECT_EQ(streams(), "0");
}

// --- how it begins -------------------------------------------------------------------------------

TEST(HubStart, BeyondLoopbackItNeedsTlsAndTokens) {
  stage::Stage stage;
  const std::string token = add_token(stage, "alice");
  const std::string realm = "app=" + stage.repo();
  for (const Words& words :
       {Words{"--listen", "0.0.0.0:0"}, Words{"--listen", "0.0.0.0:0", "--no-auth"},
        Words{"--listen", "[::]:0"}}) {
    Words all = {"serve", "--realm", realm};
    all.insert(all.end(), words.begin(), words.end());
    const auto refused = stage.json("", all);
    EXPECT_EQ(refused.status, kUsageStatus) << refused.all();
    EXPECT_THAT(refused.out, HasSubstr("other machines"));
  }
}

TEST(HubStart, WhatAnotherHubServesIsNotInTheWay) {
  stage::Stage stage;
  const std::string token = add_token(stage, "alice");
  HubServer first(stage, {"--auto-realms"});
  HubPeer peer(first.port(), token);
  ASSERT_EQ(peer.post("/v1/acquire?realm=org/made", {{"resources", {"a"}}}).status, 200);
  EXPECT_THAT(stage.json("", {"serve", "--listen", "0.0.0.0:0"}).out, HasSubstr("needs TLS"));
  std::filesystem::create_directory(stage.path("other"));
  stage::Process second(stage.launch(
      "", {"serve", "--listen", "127.0.0.1:0", "--realm", "other=" + stage.path("other")}));
  EXPECT_TRUE(stage::eventually([&] { return second.err().contains("realms other"); }))
      << second.err();
  EXPECT_THAT(second.err(), HasSubstr("another hub serves org/made"));
}

// Two would judge each other's waiting clients.
TEST(HubStart, ATableHasOneHub) {
  stage::Stage stage;
  const std::string token = add_token(stage, "alice");
  const Words again = {"serve", "--listen", "127.0.0.1:0", "--realm", "other=" + stage.repo()};
  {
    HubServer hub(stage);
    const auto refused = stage.json("", again);
    EXPECT_NE(refused.status, 0);
    EXPECT_THAT(refused.out, HasSubstr("another hub"));
  }
  HubServer hub(stage);
  EXPECT_EQ(HubPeer(hub.port(), token).get("/v1/list").status, 200);
  EXPECT_EQ(stage.as("", {"doctor"}).status, 0);
}

// Nobody's relay keeps, frees or takes over what another person's processes hold.
TEST(HubRelays, NobodySpeaksForAnothersProcesses) {
  stage::Stage stage;
  const std::string alice = add_token(stage, "alice");
  const std::string bob = add_token(stage, "bob");
  HubServer hub(stage);
  HubPeer a(hub.port(), alice, "x");
  HubPeer b(hub.port(), bob, "x");
  const std::string session(32, 'a');
  const auto beat = [&](HubPeer& peer, const Json& living, const Json& gone) {
    return peer.post("/v1/beat",
                     {{"protocol", 1}, {"session", session}, {"living", living}, {"gone", gone}});
  };
  const std::uint64_t mark = beat(a, Json::array(), Json::array()).json["mark"];
  const std::uint64_t number = mark << 48U | 7U;
  const std::string text = std::to_string(number);
  const auto acquire = [&](HubPeer& peer, const char* file) {
    return peer.post("/v1/call",
                     {{"call", "acquire"},
                      {"with",
                       {{"caller", {{"agent", "x"}}},
                        {"resources", {{{"key", file}, {"kind", "file"}, {"mode", "exclusive"}}}},
                        {"attachment",
                         {{"slot", 0},
                          {"pid_namespace", 0x4c4b687562},
                          {"pid", 1},
                          {"start_ticks", number}}}}}});
  };
  a.headers["Lockkeeper-Relay"] = b.headers["Lockkeeper-Relay"] = session;
  ASSERT_TRUE(acquire(a, "src/a.py").json.contains("reply")) << acquire(a, "src/a.py").body;
  EXPECT_EQ(a.get("/v1/list").json["leases"][0]["attached"], true);
  EXPECT_EQ(acquire(b, "src/b.py").json["error"]["code"], "invalid_input");
  EXPECT_EQ(beat(b, {text}, Json::array()).json["lost"], Json({text}));
  EXPECT_EQ(beat(b, Json::array(), {text}).status, 200);
  EXPECT_EQ(b.get("/v1/list").json["leases"].size(), 1U);
  EXPECT_EQ(beat(a, Json::array(), {text}).status, 200);
  EXPECT_EQ(b.get("/v1/list").json["leases"].size(), 0U);
  for (const Json& bad : {Json("x"), Json(7), Json::array({1}), Json({"-1"}), Json({"x"})}) {
    EXPECT_EQ(beat(a, bad, Json::array()).status, 400) << bad;
  }
  // Another protocol is refused with both versions.
  const HubAnswer other =
      a.post("/v1/beat", {{"protocol", 2}, {"version", "9.9"}, {"session", session}});
  EXPECT_EQ(other.status, 400);
  EXPECT_THAT(other.body, testing::AllOf(HasSubstr("9.9"), HasSubstr("protocol 1")));
}

TEST(HubStart, WhatMakesNoSenseIsRefused) {
  stage::Stage stage;
  EXPECT_NE(stage.json("", {"serve"}).status, 0);  // no token yet
  const std::string token = add_token(stage, "alice");
  for (const Words& words :
       {Words{"--tls-cert", "x"}, Words{"--realm", "app"}, Words{"--realm", "a b=/tmp"},
        Words{"--realm", "app=/no/such/folder"}, Words{"--listen", "example.org:1"},
        Words{"--listen", "unix:relative"}, Words{"--no-auth", "--token-file", "x"},
        Words{"--tls-cert", "/no/such", "--tls-key", "/no/such"}}) {
    Words all = {"serve", "--listen", "127.0.0.1:0"};
    all.insert(all.end(), words.begin(), words.end());
    const auto refused = stage.json("", all);
    EXPECT_NE(refused.status, 0) << words[0];
    EXPECT_TRUE(refused.json().contains("error")) << refused.all();
  }
  EXPECT_NE(stage.json("", {"token", "add", "a@b"}).status, 0);
  EXPECT_NE(stage.json("", {"token", "add", "a", "--role", "king"}).status, 0);
}

}  // namespace
}  // namespace lockkeeper::proof
