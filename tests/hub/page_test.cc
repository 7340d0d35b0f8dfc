// The live page's files as a browser asks for them: public, under a strict policy, cached by ETag;
// and what the page asks of /v1 besides what other clients do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
