// Silence between relay and hub, by a clock of the test's own: after 30 s what is attached counts
// as lost here, what does not end is killed by 45 s, and the hub gives it away after 60 s, not
// before.
#include <gmock/gmock.h>

#include <csignal>

#include "mcp/client.h"
#include "remote/machine.h"

namespace lockkeeper::proof {
namespace {

using stage::Answer;
using stage::Process;
using testing::HasSubstr;

constexpr int kSecond = 1'000;

// Hub, relay and commands of one machine, all with the one clock.
class RemoteSilence : public Remote {
 protected:
  void SetUp() override {
    if (stage::kSanitized) GTEST_SKIP() << "a sanitized program takes no other clock";
    kill_hub();
    time_.put_into(home_.env, false);
    restart_hub();
    ASSERT_EQ(here_.login(url(), alice_).status, 0);
    time_.put_into(here_.env, true);
    // Here rather than by the first command, which would give it none of these variables; in a
    // session of its own, as that does.
    const Answer started = here_.finish(
        here_.command({"setsid", "--wait", stage::Stage::preloadable(), "relay", url()}));
    ASSERT_EQ(started.status, 0) << started.all();
    ASSERT_GT(here_.relay(), 0);
  }
  void pass_to_s(int seconds) { time_.set_ms(seconds * kSecond); }
  void stop_relay() {
    relay_ = here_.relay();
    ASSERT_GT(relay_, 0);
    ::kill(relay_, SIGSTOP);
    ASSERT_TRUE(stage::eventually([&] { return stage::state_of(relay_) == 'T'; }));
  }
  std::string last_beat() const { return stage::read_text(here_.relay_folder() + "/beat"); }
  // Somebody who has no relay asks for it.
  int asks_for(const std::string& resource) {
    HubPeer peer(hub_->port(), bob_, "y");
    return peer.post("/v1/acquire", {{"resources", {resource}}}).status;
  }
  static constexpr int kGranted = 200;
  static constexpr int kHeld = 409;

  stage::LaterFile time_{home_.path("time")};
  pid_t relay_ = 0;
};

TEST_F(RemoteSilence, I5_I7_AStoppedRelayLosesItsLeasesInOrder) {
  Process holder = here_.start_holding("x", "a");
  stop_relay();
  pass_to_s(31);
  EXPECT_NE(holder.wait(), 0);
  EXPECT_THAT(holder.err(), HasSubstr("has not answered for 30s"));
  EXPECT_EQ(asks_for("a"), kHeld);
  pass_to_s(55);
  EXPECT_EQ(asks_for("a"), kHeld);
  pass_to_s(80);  // the last beat came at any moment before the stop
  EXPECT_EQ(asks_for("a"), kGranted);
  ::kill(relay_, SIGCONT);
  const Json all = here_.list();
  ASSERT_EQ(all["leases"].size(), 1U) << all;
  EXPECT_EQ(all["leases"][0]["agent"], "y@bob");
  EXPECT_EQ(here_.as("x", {"run", "b", "--", "true"}).status, 0);
}

TEST_F(RemoteSilence, I7_ACommandThatDoesNotListenIsKilledBefore45s) {
  const std::string file = here_.path("pid");
  Process run =
      here_.start("x", {"run", "a", "--", "sh", "-c",
                        "trap '' TERM; echo $$ > '" + file + "'; while :; do sleep 0.1; done"});
  ASSERT_TRUE(stage::eventually([&] { return !stage::read_text(file).empty(); }));
  stop_relay();
  pass_to_s(40);
  ASSERT_TRUE(stage::eventually([&] { return run.err().find("answered") != std::string::npos; }));
  EXPECT_TRUE(run.running());
  pass_to_s(46);
  EXPECT_NE(run.wait(), 0);
  EXPECT_EQ(stage::state_of(std::atoi(stage::read_text(file).c_str())), '\0');
  EXPECT_EQ(asks_for("a"), kHeld);
}

TEST_F(RemoteSilence, I5_ARelayThatGoesOnInTimeHasLostNothing) {
  Process holder = here_.start_holding("x", "a");
  ::kill(holder.pid(), SIGSTOP);  // it would take the silence for a loss
  stop_relay();
  pass_to_s(50);
  EXPECT_EQ(asks_for("a"), kHeld);
  const std::string before = last_beat();
  ::kill(relay_, SIGCONT);
  ASSERT_TRUE(stage::eventually([&] { return last_beat() != before; }));
  stop_relay();
  pass_to_s(100);
  EXPECT_EQ(asks_for("a"), kHeld);
  ::kill(relay_, SIGCONT);
}

// The MCP server says so by itself to whoever watches, and to its agent at the next call.
TEST_F(RemoteSilence, I7_TheMcpServerNoticesByItself) {
  Client client(here_, {.agent = "x"});
  EXPECT_EQ(client.tool("lock_acquire", {{"resources", {"a"}}})["outcome"], "granted");
  client.watch("lock://leases");
  const std::size_t before = client.notifications().size();
  hub_->process().signal(SIGSTOP);
  pass_to_s(31);
  client.wait_for_notification("notifications/resources/updated", before);
  hub_->process().signal(SIGCONT);
  // Nobody else has got it; it was given back all the same.
  EXPECT_TRUE(stage::eventually([&] { return held() == 0; }));
  const Json told = client.tool("lock_acquire", {{"resources", {"b"}}});
  ASSERT_EQ(told["lost"].size(), 1U) << told;
  EXPECT_EQ(told["lost"][0]["cause"], "silent");
  EXPECT_FALSE(client.tool("lock_status", Json::object()).contains("lost")) << "told once";
}

// It would ask every second for as long as the process lives that it answers for.
TEST_F(RemoteSilence, ARelayWhoseTokenIsGoneEnds) {
  here_.expect(0, "x", {"acquire", "a", "--attach", std::to_string(::getpid())});
  relay_ = here_.relay();
  here_.expect(0, "", {"logout"});
  pass_to_s(59);
  EXPECT_EQ(asks_for("a"), kHeld);
  pass_to_s(80);
  EXPECT_TRUE(stage::eventually([&] { return asks_for("a") == kGranted; }));
  const std::string known = here_.relay_folder() + "/attached";
  ASSERT_TRUE(stage::eventually(
      [&] { return stage::read_text(known).find("\"attached\":[]") != std::string::npos; }));
  pass_to_s(120);
  EXPECT_TRUE(stage::eventually([&] { return stage::state_of(relay_) == '\0'; }));
}

// The control: with a relay that beats, minutes pass and nothing is lost.
TEST_F(RemoteSilence, WhoeverBeatsKeepsItsLease) {
  Process holder = here_.start_holding("x", "a");
  for (int seconds = 11; seconds <= 121; seconds += 11) {
    const std::string before = last_beat();
    pass_to_s(seconds);
    ASSERT_TRUE(stage::eventually([&] { return last_beat() != before; })) << seconds;
    EXPECT_EQ(asks_for("a"), kHeld) << seconds;
  }
  EXPECT_TRUE(holder.running()) << holder.err();
}

// The hub itself: what it cannot hear, it does not give away before its time.
TEST_F(RemoteSilence, I5_I7_AStoppedHubIsSilence) {
  Process holder = here_.start_holding("x", "a");
  hub_->process().signal(SIGSTOP);
  pass_to_s(31);
  EXPECT_NE(holder.wait(), 0);
  EXPECT_THAT(holder.err(), HasSubstr("has not answered for 30s"));
  hub_->process().signal(SIGCONT);
  EXPECT_TRUE(stage::eventually([&] { return held() == 0; })) << "the relay tells of its end";
}

}  // namespace
}  // namespace lockkeeper::proof
