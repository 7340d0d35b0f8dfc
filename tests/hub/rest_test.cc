// The hub's own API as its clients see it: the verbs, who may do what, waiting, and events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "hub/hub_peer.h"

namespace lockkeeper::proof {
namespace {

using stage::Words;
using testing::HasSubstr;
using testing::Not;

const Json kFile = {{"resources", {"src/a.py"}}};

class Hub : public testing::Test {
 protected:
  std::unique_ptr<HubServer> serve(const Words& more = {}) {
    return std::make_unique<HubServer>(stage_, more);
  }
  stage::Stage stage_;
};

TEST_F(Hub, TheVerbsHaveTheCommandLinesAnswers) {
  const std::string alice = add_token(stage_, "alice");
  const std::string bob = add_token(stage_, "bob");
  const auto hub = serve();
  HubPeer a(hub->port(), alice, "claude-code");
  HubPeer b(hub->port(), bob, "codex");
  const HubAnswer granted =
      a.post("/v1/acquire", {{"resources", {"src/a.py"}}, {"reason", "JWT"}, {"ttl", "10m"}});
  ASSERT_EQ(granted.status, 200) << granted.body;
  EXPECT_EQ(granted.json["outcome"], "granted");
  EXPECT_EQ(granted.json["lease"]["agent"], "claude-code@alice");
  EXPECT_EQ(granted.json["lease"]["attached"], false);
  const HubAnswer refused = b.post("/v1/acquire", kFile);
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.json["outcome"], "held");
  EXPECT_EQ(refused.json["conflicts"][0]["agent"], "claude-code@alice");
  EXPECT_EQ(refused.json["error"]["code"], "held");
  EXPECT_EQ(b.post("/v1/check", kFile).status, 409);
  EXPECT_EQ(a.post("/v1/check", kFile).json["mine"], true);
  EXPECT_EQ(a.post("/v1/acquire", kFile).json["outcome"], "renewed");
  EXPECT_EQ(a.post("/v1/renew", {{"all", true}, {"ttl", "2h"}}).json["renewed"].size(), 1U);
  EXPECT_EQ(b.get("/v1/list?under=src/").json["leases"].size(), 1U);
  // The same table as the command line's.
  EXPECT_EQ(stage_.list()["leases"][0]["agent"], "claude-code@alice");
  EXPECT_EQ(b.post("/v1/messages", {{"to", "claude-code@alice"}, {"text", "please"}}).status, 200);
  EXPECT_EQ(a.get("/v1/messages").json["messages"][0]["from"], "codex@bob");
  EXPECT_EQ(a.post("/v1/messages/read", Json::object()).json["read"].size(), 1U);
  EXPECT_EQ(a.post("/v1/release", kFile).json["released"][0], "src/a.py");
  EXPECT_EQ(a.get("/v1/events").json["events"][0]["event"], "granted");
}

TEST_F(Hub, NoTokenActsAsAnother) {
  const std::string alice = add_token(stage_, "alice", {"--role", "read", "--role", "lock"});
  const std::string bob = add_token(stage_, "bob");
  const auto hub = serve();
  HubPeer a(hub->port(), alice, "x");
  HubPeer b(hub->port(), bob, "x");
  const HubAnswer granted = a.post("/v1/acquire", {{"resources", {"src/"}}, {"request_id", "r1"}});
  const Json lease = granted.json["lease"];
  // Not by the name, the session, a part of it, the lease, its fence or its request.
  EXPECT_EQ(b.post("/v1/release", {{"resources", {"src/"}}}).status, 403);
  EXPECT_EQ(b.post("/v1/release", {{"leases", {lease["id"]}}}).status, 403);
  EXPECT_NE(b.post("/v1/renew", {{"leases", {lease["id"]}}}).status, 200);
  EXPECT_EQ(b.post("/v1/acquire", {{"resources", {"src/"}}, {"request_id", "r1"}}).status, 409);
  for (const char* const name : {"x@alice", "x@alice@bob", "@alice"}) {
    b.headers["Lockkeeper-Agent"] = name;
    EXPECT_EQ(b.post("/v1/acquire", kFile).status, 400) << name;
  }
  b.headers["Lockkeeper-Agent"] = "x";
  b.headers["Lockkeeper-Lease"] = lease["id"];
  b.headers["Lockkeeper-Fence"] = lease["fence"].dump();
  EXPECT_EQ(b.post("/v1/acquire", kFile).status, 403);
  b.headers.erase("Lockkeeper-Lease");
  b.headers.erase("Lockkeeper-Fence");
  a.headers["Lockkeeper-Session"] = "s";
  b.headers["Lockkeeper-Session"] = "s/part";
  EXPECT_EQ(a.post("/v1/acquire", {{"resources", {"docs/"}}}).status, 200);
  EXPECT_EQ(b.post("/v1/acquire", {{"resources", {"docs/x"}}}).status, 409);
  EXPECT_EQ(b.post("/v1/break", {{"resources", {"docs/"}}, {"reason", "mine"}}).status, 403);
  EXPECT_EQ(b.post("/v1/purge", {{"history", true}}).status, 403);
  EXPECT_EQ(b.post("/v1/drain", {{"on", true}}).status, 403);
  EXPECT_EQ(stage_.list()["leases"].size(), 2U);
  // Nor through the calls of our own clients.
  const Json call = {{"call", "release"},
                     {"with", {{"caller", {{"agent", "x@alice"}}}, {"all", true}}}};
  EXPECT_TRUE(b.post("/v1/call", call).json.contains("error"));
  EXPECT_EQ(stage_.list()["leases"].size(), 2U);
}

TEST_F(Hub, RolesAndRealmsAreNeeded) {
  const std::string reader = add_token(stage_, "reader", {"--role", "read"});
  const std::string other = add_token(stage_, "other", {"--for", "elsewhere"});
  const auto hub = serve();
  HubPeer r(hub->port(), reader, "x");
  EXPECT_EQ(r.get("/v1/list").status, 200);
  EXPECT_EQ(r.post("/v1/check", kFile).status, 200);
  EXPECT_EQ(r.post("/v1/acquire", kFile).status, 403);
  EXPECT_EQ(r.post("/v1/messages", {{"to", "x"}, {"text", "x"}}).status, 403);
  HubPeer o(hub->port(), other, "x");
  EXPECT_EQ(o.get("/v1/list?realm=app").status, 403);
  EXPECT_EQ(o.get("/v1/list").status, 400);
  EXPECT_EQ(o.get("/v1/realms").json["realms"].size(), 0U);
}

TEST_F(Hub, APersonHasOneLimitWhateverItsAgentsAreCalled) {
  stage_.file("lockkeeper.toml", "[limits]\nresources_per_agent = 3\n");
  const std::string alice = add_token(stage_, "alice");
  const std::string bob = add_token(stage_, "bob");
  const auto hub = serve();
  HubPeer a(hub->port(), alice, "one");
  EXPECT_EQ(a.post("/v1/acquire", {{"resources", {"a", "b"}}}).status, 200);
  a.headers["Lockkeeper-Agent"] = "two";
  const HubAnswer refused = a.post("/v1/acquire", {{"resources", {"c", "d"}}});
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_THAT(refused.body, HasSubstr("alice has 2 resources here and asks for 2 more"));
  EXPECT_EQ(a.post("/v1/acquire", {{"resources", {"c"}}}).status, 200);
  EXPECT_EQ(a.post("/v1/release", {{"resources", {"c"}}}).status, 200);
  EXPECT_EQ(a.post("/v1/acquire", {{"resources", {"d"}}}).status, 200);
  EXPECT_EQ(a.post("/v1/acquire", {{"resources", {"e"}}}).status, 429);
  EXPECT_EQ(HubPeer(hub->port(), bob, "one").post("/v1/acquire", {{"resources", {"e"}}}).status,
            200);
}

TEST_F(Hub, AWaitIsAnsweredWhenItsTurnComes) {
  const std::string token = add_token(stage_, "alice");
  const auto hub = serve();
  HubPeer a(hub->port(), token, "a");
  HubPeer b(hub->port(), token, "b");
  ASSERT_EQ(a.post("/v1/acquire", kFile).status, 200);
  const HubAnswer queued = b.post("/v1/acquire", {{"resources", {"src/"}}, {"wait", "10m"}});
  ASSERT_EQ(queued.status, 202) << queued.body;
  EXPECT_EQ(queued.json["outcome"], "queued");
  EXPECT_EQ(queued.json["wait"]["position"], 1);
  const std::string wait = "/v1/waits/" + queued.json["wait"]["id"].get<std::string>();
  EXPECT_EQ(b.get(wait + "?for=0").status, 202);
  b.send("GET", wait + "?for=60s");
  EXPECT_EQ(a.post("/v1/release", kFile).status, 200);
  const HubAnswer granted = b.answer();
  EXPECT_EQ(granted.status, 200) << granted.body;
  EXPECT_EQ(granted.json["outcome"], "granted");
  EXPECT_EQ(granted.json["lease"]["agent"], "b@alice");
  // Whoever missed the answer can have it again.
  EXPECT_EQ(b.get(wait).json["outcome"], "granted");
}

TEST_F(Hub, AClosedConnectionKeepsItsPlaceAndLeavingIsARequestOfItsOwn) {
  const std::string alice = add_token(stage_, "alice");
  const std::string bob = add_token(stage_, "bob");
  const auto hub = serve();
  HubPeer a(hub->port(), alice, "a");
  ASSERT_EQ(a.post("/v1/acquire", kFile).status, 200);
  std::string wait;
  {
    HubPeer b(hub->port(), bob, "b");
    wait = "/v1/waits/" + b.post("/v1/acquire", {{"resources", {"src/a.py"}}, {"wait", "none"}})
                              .json["wait"]["id"]
                              .get<std::string>();
    b.send("GET", wait);
  }
  EXPECT_EQ(stage_.waiters(), 1U);
  HubPeer again(hub->port(), bob, "b");
  EXPECT_EQ(again.get(wait + "?for=1ms").status, 202);
  // Of another person it is nobody's.
  EXPECT_EQ(a.get(wait).status, 404);
  EXPECT_EQ(a.remove(wait).status, 404);
  EXPECT_EQ(again.remove(wait).json["outcome"], "interrupted");
  EXPECT_EQ(stage_.waiters(), 0U);
  EXPECT_EQ(again.get(wait).status, 404);
}

TEST_F(Hub, AWaitEndsAtItsTimeOrBeforeItCloses) {
  const std::string token = add_token(stage_, "alice");
  const auto hub = serve();
  HubPeer a(hub->port(), token, "a");
  HubPeer b(hub->port(), token, "b");
  ASSERT_EQ(a.post("/v1/acquire", {{"resources", {"x"}}}).status, 200);
  ASSERT_EQ(b.post("/v1/acquire", {{"resources", {"y"}}}).status, 200);
  const auto queued = b.post("/v1/acquire", {{"resources", {"x"}}, {"wait", "50ms"}});
  const std::string wait = "/v1/waits/" + queued.json["wait"]["id"].get<std::string>();
  const HubAnswer late = b.get(wait + "?for=60s");
  EXPECT_EQ(late.status, 409);
  EXPECT_EQ(late.json["outcome"], "timeout");
  ASSERT_EQ(b.post("/v1/acquire", {{"resources", {"x"}}, {"wait", "10m"}}).status, 202);
  const HubAnswer cycle = a.post("/v1/acquire", {{"resources", {"y"}}, {"wait", "10m"}});
  EXPECT_EQ(cycle.status, 409);
  EXPECT_EQ(cycle.json["outcome"], "deadlock");
}

// The place in the queue is the table's: a hub that is stopped, or killed, comes back to it.
TEST_F(Hub, PlacesOutliveTheHub) {
  const std::string token = add_token(stage_, "alice");
  for (const int end : {SIGTERM, SIGKILL}) {
    std::string wait;
    {
      const auto hub = serve();
      HubPeer a(hub->port(), token, "a");
      HubPeer b(hub->port(), token, "b");
      ASSERT_EQ(a.post("/v1/acquire", kFile).status, 200);
      const auto queued = b.post("/v1/acquire", {{"resources", {"src/a.py"}}, {"wait", "10m"}});
      wait = "/v1/waits/" + queued.json["wait"]["id"].get<std::string>();
      b.send("GET", wait);
      hub->process().signal(end);
      hub->process().wait();
    }
    const auto hub = serve();
    EXPECT_EQ(stage_.waiters(), 1U);
    HubPeer a(hub->port(), token, "a");
    HubPeer b(hub->port(), token, "b");
    EXPECT_EQ(b.get(wait + "?for=0").status, 202);
    b.send("GET", wait);
    EXPECT_EQ(a.post("/v1/release", kFile).status, 200);
    EXPECT_EQ(b.answer().json["outcome"], "granted");
    EXPECT_EQ(b.post("/v1/release", {{"all", true}}).status, 200);
  }
}

TEST_F(Hub, WhatAHolderOnTheHubsMachineReleasesIsSeenToo) {
  const std::string token = add_token(stage_, "alice");
  const auto hub = serve();
  stage_.expect(0, "local", {"acquire", "src/a.py"});
  HubPeer b(hub->port(), token, "b");
  const auto queued = b.post("/v1/acquire", {{"resources", {"src/a.py"}}, {"wait", "10m"}});
  const std::string wait = "/v1/waits/" + queued.json["wait"]["id"].get<std::string>();
  b.send("GET", wait);
  stage_.expect(0, "local", {"release", "src/a.py"});
  EXPECT_EQ(b.answer().json["outcome"], "granted");
}

TEST_F(Hub, EventsAreAStreamThatResumes) {
  const std::string token = add_token(stage_, "alice");
  const auto hub = serve();
  HubPeer a(hub->port(), token, "a");
  HubPeer s(hub->port(), token, "s");
  s.headers["Accept"] = "text/event-stream";
  s.send("GET", "/v1/events");
  EXPECT_EQ(s.connection().head().status, 200);
  ASSERT_EQ(a.post("/v1/acquire", kFile).status, 200);
  const std::string first = s.connection().chunk();
  EXPECT_THAT(first, HasSubstr("\nevent: granted\ndata: {\"seq\":"));
  s.connection().close();
  ASSERT_EQ(a.post("/v1/release", kFile).status, 200);
  ASSERT_EQ(a.post("/v1/acquire", {{"resources", {"docs/"}}}).status, 200);
  HubPeer again(hub->port(), token, "s");
  again.headers["Accept"] = "text/event-stream";
  again.headers["Last-Event-ID"] = first.substr(4, first.find('\n') - 4);
  again.send("GET", "/v1/events");
  EXPECT_EQ(again.connection().head().status, 200);
  std::string rest;
  while (!rest.contains("docs/")) rest += again.connection().chunk();
  EXPECT_THAT(rest, HasSubstr("event: released"));
  EXPECT_EQ(rest.find("event: granted"), rest.rfind("event: granted"));
  EXPECT_THAT(rest, Not(HasSubstr(first.substr(0, first.find('\n') + 1))));
  HubPeer one(hub->port(), token, "s");
  one.headers["Accept"] = "text/event-stream";
  one.send("GET", "/v1/events?since=0&under=docs/");
  one.connection().head();
  EXPECT_THAT(one.connection().chunk(), HasSubstr("docs/"));
}

TEST_F(Hub, ADrainGrantsNothingNewAndHoldersFinish) {
  const std::string token =
      add_token(stage_, "ops", {"--role", "read", "--role", "lock", "--role", "admin"});
  const auto hub = serve();
  HubPeer a(hub->port(), token, "a");
  HubPeer probe(hub->port(), "");
  ASSERT_EQ(a.post("/v1/acquire", kFile).status, 200);
  EXPECT_EQ(probe.get("/readyz").status, 200);
  EXPECT_EQ(a.post("/v1/drain", {{"on", true}}).json["draining"], true);
  EXPECT_EQ(probe.get("/readyz").status, 503);
  EXPECT_EQ(probe.get("/healthz").status, 200);
  EXPECT_EQ(a.post("/v1/acquire", {{"resources", {"docs/"}}}).status, 503);
  EXPECT_EQ(a.post("/v1/acquire", kFile).json["outcome"], "renewed");
  EXPECT_EQ(a.post("/v1/release", kFile).status, 200);
  EXPECT_EQ(a.post("/v1/drain", {{"on", false}}).json["draining"], false);
  EXPECT_EQ(a.post("/v1/acquire", {{"resources", {"docs/"}}}).status, 200);
}

TEST_F(Hub, TokensAreReplacedWithoutARestart) {
  const std::string first = add_token(stage_, "alice");
  const auto hub = serve();
  HubPeer a(hub->port(), first, "a");
  ASSERT_EQ(a.post("/v1/acquire", kFile).status, 200);
  const std::string second = add_token(stage_, "alice");
  EXPECT_TRUE(stage::eventually(
      [&] { return HubPeer(hub->port(), second).get("/v1/whoami").status == 200; }));
  HubPeer b(hub->port(), second, "a");
  EXPECT_EQ(b.post("/v1/release", kFile).status, 200);  // the same person
  stage_.expect(0, "", {"token", "remove", "alice"});
  EXPECT_TRUE(stage::eventually(
      [&] { return HubPeer(hub->port(), second).get("/v1/whoami").status == 401; }));
}

TEST_F(Hub, RealmsAreCreatedByAdminsOrOnDemand) {
  const std::string ops =
      add_token(stage_, "ops", {"--role", "read", "--role", "lock", "--role", "admin"});
  const std::string user = add_token(stage_, "user");
  {
    const auto hub = serve();
    HubPeer a(hub->port(), ops, "a");
    EXPECT_EQ(a.get("/v1/list?realm=github.com/org/repo").status, 404);
    for (const char* const bad : {"", "..", "a/../b", "/etc", "a//b", "a b", "-/\n"}) {
      EXPECT_EQ(a.post("/v1/realms", {{"name", bad}}).status, 400) << bad;
    }
    EXPECT_EQ(HubPeer(hub->port(), user).post("/v1/realms", {{"name", "x"}}).status, 403);
    EXPECT_EQ(a.post("/v1/realms", {{"name", "github.com/org/repo"}}).status, 201);
    EXPECT_EQ(a.post("/v1/acquire?realm=github.com/org/repo", kFile).status, 200);
    EXPECT_EQ(a.get("/v1/list?realm=app").json["leases"].size(), 0U);
  }
  const auto hub = serve({"--auto-realms"});
  HubPeer a(hub->port(), user, "a");
  EXPECT_EQ(a.get("/v1/list?realm=github.com/org/repo").json["leases"].size(), 1U);
  EXPECT_EQ(a.post("/v1/acquire?realm=new", kFile).status, 200);
}

TEST_F(Hub, OurOwnClientsSpeakTheWire) {
  const std::string token = add_token(stage_, "alice");
  const auto hub = serve();
  HubPeer a(hub->port(), token);
  HubPeer b(hub->port(), token);
  const auto ask = [](const char* agent, bool wait) {
    return Json{{"call", "acquire"},
                {"with",
                 {{"caller", {{"agent", agent}}},
                  {"resources", {{{"key", "src/a.py"}, {"kind", "file"}, {"mode", "exclusive"}}}},
                  {"wait", wait},
                  {"attachment", {{"pid", 1}, {"slot", 77}}}}}};
  };
  const Json granted = a.post("/v1/call", ask("a", false)).json;
  ASSERT_TRUE(granted.contains("reply")) << granted.dump();
  EXPECT_EQ(granted["reply"]["value"]["lease"]["agent"], "a@alice");
  EXPECT_EQ(granted["reply"]["value"]["lease"]["attached"], false);
  const Json queued = b.post("/v1/call", ask("b", true)).json;
  const Json id = queued["reply"]["value"]["lease"]["id"];
  const Json await = {{"call", "await"},
                      {"with", {{"caller", {{"agent", "b"}}}, {"id", id}, {"at_most_ms", 60'000}}}};
  b.send("POST", "/v1/call", await.dump());
  const Json release = {{"call", "release"},
                        {"with", {{"caller", {{"agent", "a"}}}, {"all", true}}}};
  a.post("/v1/call", release);
  EXPECT_EQ(b.answer().json["reply"]["value"]["outcome"], "granted");
}

}  // namespace
}  // namespace lockkeeper::proof
