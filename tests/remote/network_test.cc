// A network that fails in every way: connections cut, answers lost, delayed, and half open.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>

#include "remote/machine.h"
#include "remote/proxy.h"

namespace lockkeeper::proof {
namespace {

using stage::Answer;
using stage::Process;
using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class RemoteNetwork : public Remote {
 protected:
  RemoteNetwork() : proxy_(hub_->port()) {
    EXPECT_EQ(here_.login("http://127.0.0.1:" + std::to_string(proxy_.port()), alice_).status, 0);
    EXPECT_EQ(there_.login(url(), bob_).status, 0);
  }
  Proxy proxy_;
};

// Request ids: what was carried out and not heard of is not carried out again.
TEST_F(RemoteNetwork, ALostAnswerIsAskedForAgain) {
  here_.expect(0, "x", {"check", "z"});  // the relay runs and is connected
  for (const char* const name : {"a", "b", "c"}) {
    const int before = proxy_.lost();
    proxy_.lose_answers(1);
    EXPECT_EQ(here_.expect(0, "x", {"acquire", name}).json()["outcome"], "granted");
    EXPECT_EQ(proxy_.lost(), before + 1);
  }
  EXPECT_EQ(held(), 3U);
  proxy_.lose_answers(1);
  here_.expect(0, "x", {"release", "a"});
  EXPECT_EQ(held(), 2U);
  const Json events = home_.expect(0, "", {"log"}).lines();
  int granted = 0;
  for (const Json& event : events) granted += event["event"] == "granted" ? 1 : 0;
  EXPECT_EQ(granted, 3);
}

// It may have been carried out, and nobody is left to ask: that is not "nothing was done".
TEST_F(RemoteNetwork, ALostAnswerOfAHubThatIsGoneIsUnknown) {
  here_.expect(0, "x", {"check", "z"});
  proxy_.vanish_with_answer();
  const Answer unknown = here_.json("x", {"acquire", "a"});
  EXPECT_EQ(unknown.json()["error"]["code"], "unknown") << unknown.all();
  EXPECT_THAT(std::string(unknown.json()["error"]["hint"]), HasSubstr("the hub may have done it"));
  EXPECT_EQ(held(), 1U);
  EXPECT_EQ(here_.json("x", {"acquire", "b"}).json()["error"]["code"], "store_unavailable");
}

TEST_F(RemoteNetwork, ACutConnectionIsNobodysEnd) {
  Process holder = here_.start_holding("x", "a");
  for (int i = 0; i < 3; ++i) {
    proxy_.cut();
    EXPECT_EQ(here_.as("x", {"check", "b"}).status, 0);
  }
  EXPECT_EQ(held(), 1U);
  EXPECT_TRUE(holder.running());
  holder.signal_group(SIGKILL);
  EXPECT_TRUE(stage::eventually([&] { return held() == 0; }));
}

TEST_F(RemoteNetwork, AWaitOutlivesACutConnection) {
  there_.expect(0, "y", {"acquire", "a"});
  Process waiter = here_.start("x", {"acquire", "a", "--wait=5m", "--json"});
  ASSERT_TRUE(stage::eventually([&] { return waiting() == 1; }));
  proxy_.cut();
  there_.expect(0, "y", {"release", "a"});
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
}

TEST_F(RemoteNetwork, ASlowNetworkIsOnlySlow) {
  proxy_.delay(50);
  here_.expect(0, "x", {"acquire", "a"});
  EXPECT_EQ(here_.as("x", {"run", "b", "--", "true"}).status, 0);
  here_.expect(0, "x", {"release", "--all"});
  EXPECT_EQ(held(), 0U);
}

// Both sides think that they are connected.
TEST_F(RemoteNetwork, AHalfOpenConnectionIsRefusedAndForgotten) {
  here_.expect(0, "x", {"acquire", "a"});
  proxy_.swallow(true);
  const Answer refused = here_.json("x", {"acquire", "b"});
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.all(), HasSubstr("offline")) << refused.all();
  EXPECT_FALSE(here_.has_table());
  proxy_.swallow(false);
  proxy_.cut();
  here_.expect(0, "x", {"acquire", "b"});
  EXPECT_EQ(held(), 2U);
}

// Everything between the two is real but what the proxy changes on the way.
class RemoteVersions : public Remote {
 protected:
  RemoteVersions() : proxy_(hub_->port()) {}
  std::string through() const { return "http://127.0.0.1:" + std::to_string(proxy_.port()); }
  // "version":"1.2.3" of this program, and that of one which has never been.
  const std::string version_ = [&] {
    const Json status = HubPeer(hub_->port(), bob_)
                            .post("/v1/beat", {{"protocol", 1}, {"session", std::string(32, '0')}})
                            .json;
    return status["version"].get<std::string>();
  }();
  const std::string other_ = std::string(version_.size() - 1, '0') + "9";
  Proxy proxy_;
};

TEST_F(RemoteVersions, AnotherVersionOfTheSameProtocolWorks) {
  proxy_.rewrite("\"version\":\"" + version_ + "\"", "\"version\":\"" + other_ + "\"");
  proxy_.rewrite("\"session_ms\":", "\"new_field1\":");  // one is missing, another one is new
  ASSERT_EQ(here_.login(through(), alice_).status, 0);
  here_.expect(0, "x", {"acquire", "a"});
  EXPECT_EQ(here_.as("x", {"run", "b", "--", "true"}).status, 0);
  // A newer relay says more than this hub knows.
  HubPeer newer(hub_->port(), bob_);
  const Json said = {{"protocol", 1},
                     {"version", other_},
                     {"session", std::string(32, 'a')},
                     {"living", Json::array()},
                     {"mood", "good"}};
  EXPECT_EQ(newer.post("/v1/beat", said).status, 200);
}

// Of each beat that has begun a session, that session.
std::vector<std::string> begun_in(const std::vector<std::string>& beats) {
  std::vector<std::string> sessions;
  for (const std::string& beat : beats) {
    const auto body = beat.find("\r\n\r\n");
    const Json json = Json::parse(beat.substr(std::min(body, beat.size())), nullptr, false);
    sessions.push_back(json.is_object() ? json.value("session", "") : beat);
  }
  return sessions;
}

// A hub that keeps a row for each session says when it has none. What was attached is gone, and
// what comes goes on under another session. Two beats may begin it: a call does not wait for a beat
// that is on its way, since that one may go to a hub that is silent.
TEST_F(RemoteVersions, I5_I7_AnotherSessionFollowsOneThatTheHubHasLost) {
  proxy_.watch("\"begins\":true");
  ASSERT_EQ(here_.login(through(), alice_).status, 0);
  EXPECT_THAT(begun_in(proxy_.seen()), IsEmpty()) << "a login begins no session";
  const auto known = [&] {
    const std::string text = stage::read_text(here_.relay_folder() + "/attached");
    return Json::parse(text, nullptr, false);
  };
  Process holder = here_.start_holding("x", "a");
  const Json before = known();
  EXPECT_THAT(begun_in(proxy_.seen()), AllOf(Not(IsEmpty()), Each(before["session"])));
  ASSERT_EQ(before["attached"].size(), 1U) << before;
  EXPECT_EQ(before["begun"], true);
  proxy_.rewrite_once("\"session_ms\":60000", "\"session\":\"lost\"  ");
  EXPECT_EQ(here_.as("x", {"run", "b", "--", "true"}).status, 0);  // its end is told at once
  Json after;
  ASSERT_TRUE(stage::eventually([&] {
    after = known();
    return after["session"] != before["session"] && after["begun"] == true &&
           after["attached"].empty();
  })) << before
      << " " << after;
  EXPECT_EQ(here_.as("x", {"run", "c", "--", "true"}).status, 0);
  EXPECT_EQ(known()["session"], after["session"]);
  EXPECT_THAT(begun_in(proxy_.seen()), Contains(after["session"]));
  EXPECT_THAT(begun_in(proxy_.seen()), Each(AnyOf(before["session"], after["session"])));
}

TEST_F(RemoteVersions, AnotherProtocolOfTheHubIsRefusedWithBothVersions) {
  proxy_.rewrite("\"protocol\":1,\"version\":\"" + version_ + "\",\"name\"",
                 "\"protocol\":2,\"version\":\"" + other_ + "\",\"name\"");
  const Answer refused = here_.login(through(), alice_);
  EXPECT_NE(refused.status, 0);
  EXPECT_THAT(refused.all(), AllOf(HasSubstr(version_), HasSubstr(other_)));
  // Nor does it work without a login.
  here_.env["LOCKKEEPER_SERVER"] = through();
  EXPECT_NE(here_.as("x", {"acquire", "a"}).status, 0);
  EXPECT_EQ(held(), 0U);
  EXPECT_FALSE(here_.has_table());
}

TEST_F(RemoteVersions, AnotherProtocolOfTheClientIsRefusedWithBothVersions) {
  HubPeer newer(hub_->port(), bob_);
  const HubAnswer refused = newer.post(
      "/v1/beat", {{"protocol", 2}, {"version", other_}, {"session", "s"}, {"mood", "good"}});
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, AllOf(HasSubstr(version_), HasSubstr(other_)));
}

}  // namespace
}  // namespace lockkeeper::proof
