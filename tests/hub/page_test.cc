// The live page's files as a browser asks for them: public, under a strict policy, cached by ETag;
// and what the page asks of /v1 besides what other clients do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "hub/hub_peer.h"

namespace lockkeeper::proof {
namespace {

using testing::HasSubstr;
using testing::Not;

class Page : public testing::Test {
 protected:
  // Without a token.
  static http::TestAnswer fetch(const HubServer& hub, const std::string& target,
                                const std::string& more = "", const std::string& method = "GET") {
    http::TestClient client(hub.port());
    client.send(method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + more + "\r\n");
    return client.answer();
  }
  stage::Stage stage_;
};

TEST_F(Page, TheFilesArePublicAndUnderAStrictPolicy) {
  add_token(stage_, "alice");
  const HubServer hub(stage_);
  EXPECT_THAT(fetch(hub, "/").parts.body, HasSubstr("<!doctype html>"));
  EXPECT_EQ(fetch(hub, "/").header("Content-Type"), "text/html; charset=utf-8");
  EXPECT_EQ(fetch(hub, "/page/icon.svg").header("Content-Type"), "image/svg+xml");
  for (const char* const file : {"/", "/page/app.js", "/page/worker.js", "/page/style.css"}) {
    const http::TestAnswer got = fetch(hub, file);
    EXPECT_EQ(got.status, 200) << file;
    const std::string policy = got.header("Content-Security-Policy");
    EXPECT_THAT(policy, HasSubstr("default-src 'none'; script-src 'self';")) << file;
    EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'")) << file;
    EXPECT_THAT(policy, Not(HasSubstr("unsafe"))) << file;
    EXPECT_EQ(got.header("X-Content-Type-Options"), "nosniff") << file;
    EXPECT_EQ(got.header("Referrer-Policy"), "no-referrer") << file;
    EXPECT_EQ(got.header("Cache-Control"), "no-cache") << file;
  }
}

TEST_F(Page, WhatIsNotAFileOfThePageNeedsAToken) {
  add_token(stage_, "alice");
  const HubServer hub(stage_);
  for (const char* const path : {"/page/", "/page/none.js", "/page/../v1/list", "/index.html",
                                 "/page/app.js/", "/page/%2e%2e/v1/list", "/v1/list", "/metrics"}) {
    EXPECT_EQ(fetch(hub, path).status, 401) << path;
  }
  EXPECT_EQ(fetch(hub, "/", "Content-Length: 0\r\n", "POST").status, 401);
}

TEST_F(Page, ABrowserThatHasAFileIsToldSo) {
  add_token(stage_, "alice");
  const HubServer hub(stage_);
  const std::string tag = fetch(hub, "/page/app.js").header("ETag");
  ASSERT_NE(tag, "");
  const auto again = fetch(hub, "/page/app.js", "If-None-Match: " + tag + "\r\n");
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.parts.body, "");
  EXPECT_EQ(fetch(hub, "/page/app.js", "If-None-Match: \"other\"\r\n").status, 200);
}

TEST_F(Page, InASharedRepositoryOthersSeeWhoseHubItIs) {
  stage_.git("repo", {"config", "core.sharedRepository", "group"});
  add_token(stage_, "alice");
  const HubServer hub(stage_);
  const std::string told = stage_.repo() + "/.git/lockkeeper/hub.lock";
  struct stat status{};
  ASSERT_EQ(::stat(told.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0660U);
  std::string line;
  std::getline(std::ifstream(told), line);
  const auto last = line.rfind(' ');
  EXPECT_EQ(line.substr(last + 1), std::to_string(::geteuid()));
  std::ofstream(told) << line.substr(0, last) << " 54321\n";
  const stage::Answer refused = stage_.as("ann", {"open", "--print"});
  EXPECT_EQ(refused.status, 77) << refused.all();
  EXPECT_THAT(refused.err, HasSubstr("the hub of this realm is run by user 54321"));
  EXPECT_THAT(refused.err, HasSubstr("ask them for a token, and open http://127.0.0.1:"));
}

TEST_F(Page, APageOfAnotherSiteGetsNothing) {
  add_token(stage_, "alice");
  const HubServer hub(stage_);
  EXPECT_EQ(fetch(hub, "/", "Origin: https://evil.example\r\n").status, 403);
}

TEST_F(Page, EventsOfATimeAndTheLastEvents) {
  const std::string alice = add_token(stage_, "alice");
  const HubServer hub(stage_);
  HubPeer peer(hub.port(), alice, "codex");
  for (const char* const file : {"a", "b", "c"}) {
    ASSERT_EQ(peer.post("/v1/acquire", {{"resources", {file}}}).status, 200);
  }
  const Json all = peer.get("/v1/events").json["events"];
  ASSERT_EQ(all.size(), 3U);
  const Json last = peer.get("/v1/events?last=2").json["events"];
  ASSERT_EQ(last.size(), 2U);
  EXPECT_EQ(last[0], all[1]);
  EXPECT_EQ(last[1], all[2]);
  EXPECT_EQ(peer.get("/v1/events?last=2&agent=codex").status, 400);
  EXPECT_EQ(peer.get("/v1/events?from=" + all[0]["at"].get<std::string>()).json["events"].size(),
            3U);
  EXPECT_EQ(peer.get("/v1/events?from=2100-01-01T00:00:00Z").json["events"].size(), 0U);
  EXPECT_EQ(peer.get("/v1/events?from=yesterday").status, 400);
}

TEST_F(Page, APassOfTheHubsOwnUserLogsInOnce) {
  add_token(stage_, "alice");
  stage_.env["USER"] = "ana";
  const HubServer hub(stage_);
  const std::string pass = pass_of(stage_);
  HubPeer visitor(hub.port(), pass);
  const HubAnswer welcome = visitor.post("/v1/login", Json::object());
  ASSERT_EQ(welcome.status, 200);
  EXPECT_EQ(welcome.json["name"], "ana");
  EXPECT_EQ(welcome.json["realm"], "app");
  HubPeer page(hub.port(), welcome.json["token"], "page");
  const Json who = page.get("/v1/whoami").json;
  EXPECT_EQ(who["agent"], "page@ana");
  EXPECT_EQ(who["roles"], (Json{"read", "lock", "break", "admin"}));
  HubPeer again(hub.port(), pass);
  EXPECT_EQ(again.post("/v1/login", Json::object()).status, 401) << "a pass is good once";
  HubPeer direct(hub.port(), pass_of(stage_));
  EXPECT_EQ(direct.get("/v1/list").status, 401) << "a pass is no token";
}

TEST_F(Page, WhoHasNoPassCannotMakeTheHubReadABody) {
  add_token(stage_, "alice");
  const HubServer hub(stage_);
  const std::string long_body = "Content-Type: application/json\r\nContent-Length: 4000000\r\n";
  const std::string bearer = "Authorization: Bearer ";
  const std::string guess = bearer + "lkp_" + std::string(64, '0') + ".app\r\n";
  for (const std::string& who : {std::string(), bearer + "x\r\n", guess}) {
    EXPECT_EQ(fetch(hub, "/v1/login", who + long_body, "POST").status, 401) << who;
  }
  // Nor can a page of another site use one up.
  const std::string pass = pass_of(stage_);
  const std::string empty =
      bearer + pass + "\r\nContent-Type: application/json\r\nContent-Length: 0\r\n";
  EXPECT_EQ(fetch(hub, "/v1/login", empty + "Origin: https://evil.example\r\n", "POST").status,
            403);
  EXPECT_EQ(fetch(hub, "/v1/login", empty, "POST").status, 200);
}

TEST_F(Page, APassOfOneRealmOpensNoOther) {
  const std::string admin = add_token(stage_, "alice", {"--role", "admin"});
  const HubServer hub(stage_);
  HubPeer alice(hub.port(), admin);
  ASSERT_EQ(alice.post("/v1/realms", {{"name", "other"}}).status, 201);
  HubPeer visitor(hub.port(), pass_of(stage_));
  const HubAnswer welcome = visitor.post("/v1/login", Json::object());
  HubPeer page(hub.port(), welcome.json["token"], "page");
  EXPECT_EQ(page.get("/v1/list?realm=app").status, 200);
  EXPECT_EQ(page.get("/v1/list?realm=other").status, 403);
}

TEST_F(Page, OpenServesWhereNoHubRuns) {
  auto open = stage_.start("", {"open", "--print"});
  ASSERT_TRUE(stage::eventually([&] { return open.out().ends_with('\n'); })) << open.err();
  const std::string mark = "http://127.0.0.1:";
  const std::string url = open.out();
  ASSERT_TRUE(url.starts_with(mark)) << url;
  const auto port = static_cast<std::uint16_t>(std::stoi(url.substr(mark.size())));
  const std::string pass = url.substr(url.find("#pass=") + 6, url.size() - url.find("#pass=") - 7);
  HubPeer visitor(port, pass);
  EXPECT_EQ(visitor.post("/v1/login", Json::object()).status, 200);
  // The second one finds the first.
  const Json second = stage_.expect(0, "", {"open", "--print"}).json();
  EXPECT_EQ(second["started"], false);
  EXPECT_TRUE(
      second["url"].get<std::string>().starts_with(mark + std::to_string(port) + "/#pass="));
  open.signal(SIGINT);
  EXPECT_EQ(open.wait(), 0);
}

TEST_F(Page, NoCommandLineHasThePass) {
  add_token(stage_, "alice");
  const HubServer hub(stage_);
  const std::string seen = stage_.path("seen");
  stage_.file("bin/xdg-open", "#!/bin/sh\nprintf '%s' \"$1\" >" + seen + "\n");
  ASSERT_EQ(::chmod((stage_.repo() + "/bin/xdg-open").c_str(), 0700), 0);
  stage_.env["PATH"] = stage_.repo() + "/bin:" + stage_.env["PATH"];
  const Json opened = stage_.expect(0, "", {"open"}).json();
  EXPECT_EQ(opened["opened"], true);
  EXPECT_EQ(opened["url"], "http://127.0.0.1:" + std::to_string(hub.port()) + "/");
  const std::string given = stage::read_text(seen);
  EXPECT_THAT(given, HasSubstr("file:///"));
  EXPECT_THAT(given, Not(HasSubstr("lkp_")));
  const std::string way = stage::read_text(given.substr(std::string("file://").size()));
  const auto at = way.find("#pass=") + 6;
  HubPeer visitor(hub.port(), way.substr(at, way.find('"', at) - at));
  EXPECT_EQ(visitor.post("/v1/login", Json::object()).status, 200);
}

TEST_F(Page, ABrowserThatCannotBeStartedIsSaid) {
  add_token(stage_, "alice");
  const HubServer hub(stage_);
  stage_.file("bin/xdg-open", "#!/bin/sh\nexit 3\n");
  ASSERT_EQ(::chmod((stage_.repo() + "/bin/xdg-open").c_str(), 0700), 0);
  stage_.env["PATH"] = stage_.repo() + "/bin:" + stage_.env["PATH"];
  const stage::Answer answer = stage_.as("", {"open"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.out, HasSubstr("/#pass=lkp_"));
  EXPECT_THAT(answer.err, HasSubstr("no browser could be started"));
}

TEST_F(Page, ARunIsShownWhileItIsAtWorkAndAfterwards) {
  const std::string alice = add_token(stage_, "alice");
  const HubServer hub(stage_);
  HubPeer peer(hub.port(), alice);
  EXPECT_EQ(peer.get("/v1/runs").json["runs"].size(), 0U);
  stage_.file("plan.yaml",
              "agents:\n"
              "  - agent: one\n    directories: [out/]\n    command: [\"sh\", \"-c\", \"while [ ! "
              "-e go ]; do sleep 0.05; done\"]\n"
              "  - agent: two\n    directories: [out/]\n    command: \"true\"\n");
  auto run = stage_.start("", {"workflow", "run", "plan.yaml"});
  Json runs;
  ASSERT_TRUE(stage::eventually([&] {
    runs = peer.get("/v1/runs").json["runs"];
    return runs.size() == 1 &&
           runs[0]["text"].get<std::string>().find("1 running") != std::string::npos;
  })) << runs;
  EXPECT_EQ(runs[0]["outcome"], "running");
  const std::string id = runs[0]["run"];
  Json report = peer.get("/v1/runs/" + id).json;
  EXPECT_EQ(report["agents"][0]["standing"], "running");
  EXPECT_EQ(report["agents"][1]["standing"], "waiting");
  stage_.file("go");
  EXPECT_EQ(run.wait(), 0);
  report = peer.get("/v1/runs/" + id).json;
  EXPECT_EQ(report["outcome"], "done");
  EXPECT_THAT(report["markdown"].get<std::string>(), HasSubstr("2 agents done"));
  EXPECT_EQ(peer.get("/v1/runs/none").status, 404);
  EXPECT_EQ(peer.get("/v1/runs/..").status, 400);
  EXPECT_EQ(peer.get("/v1/runs/%2e%2e%2fhub.lock").status, 404);
  EXPECT_EQ(peer.post("/v1/runs", Json::object()).status, 405);
}

TEST_F(Page, ARunWhoseForemanWasKilledIsInterrupted) {
  const std::string alice = add_token(stage_, "alice");
  const HubServer hub(stage_);
  HubPeer peer(hub.port(), alice);
  stage_.file("plan.yaml",
              "agents:\n  - agent: one\n    directories: [out/]\n    command: sleep 1000\n");
  auto run = stage_.start("", {"workflow", "run", "plan.yaml"});
  const auto outcome = [&] {
    const Json runs = peer.get("/v1/runs").json["runs"];
    return runs.empty() ? std::string() : runs[0]["outcome"].get<std::string>();
  };
  ASSERT_TRUE(stage::eventually([&] { return outcome() == "running"; }));
  run.signal(SIGKILL);
  EXPECT_TRUE(stage::eventually([&] { return outcome() == "interrupted"; })) << outcome();
  stage_.as("", {"break", "out/", "--reason", "the test is over"});
}

TEST_F(Page, WaitersAreListedAsTheirTurnsCome) {
  const std::string alice = add_token(stage_, "alice");
  const HubServer hub(stage_);
  HubPeer holder(hub.port(), alice, "holder");
  ASSERT_EQ(holder.post("/v1/acquire", {{"resources", {"a"}}}).status, 200);
  for (int n = 0; n < 8; ++n) {
    HubPeer peer(hub.port(), alice, "w" + std::to_string(n));
    ASSERT_EQ(peer.post("/v1/acquire", {{"resources", {"a"}}, {"wait", "10m"}}).status, 202);
  }
  const Json waiters = holder.get("/v1/list").json["waiters"];
  ASSERT_EQ(waiters.size(), 8U);
  for (std::size_t n = 0; n < 8; ++n) {
    EXPECT_EQ(waiters[n]["agent"], "w" + std::to_string(n) + "@alice");
  }
}

}  // namespace
}  // namespace lockkeeper::proof
