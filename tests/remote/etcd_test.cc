// Relays and hubs whose locks are in etcd: what is attached and what waits outlives a hub, also if
// the next one has another address.
#include <gtest/gtest.h>

#include <csignal>

#include "etcd/cluster.h"
#include "etcd/proxy.h"
#include "remote/machine.h"
#include "remote/proxy.h"
#include "support/reserved_port.h"

namespace lockkeeper::proof {
namespace {

using stage::Answer;
using stage::Process;
using stage::Words;

// One machine knows two addresses; one hub after the other serves there.
class RemoteOnEtcd : public testing::Test {
 protected:
  void SetUp() override {
    if (!etcd_testing::programs()) GTEST_SKIP() << etcd_testing::why_not();
    prefix_ = etcd_testing::fresh_prefix();
    store_ = etcd_testing::shared_cluster().url(prefix_);
  }
  std::unique_ptr<HubServer> serve(stage::Stage& machine, std::uint16_t port) {
    return serve(machine, port, store_);
  }
  std::unique_ptr<HubServer> serve(stage::Stage& machine, std::uint16_t port,
                                   const std::string& store) {
    const Words words = {"--store",      store,
                         "--token-file", one_.path("home") + "/.config/lockkeeper/hub-tokens",
                         "--listen",     "127.0.0.1:" + std::to_string(port)};
    return std::make_unique<HubServer>(machine, words);
  }
  void log_in(const std::string& all) {
    const Answer done = here_.login(all, alice_);
    ASSERT_EQ(done.status, 0) << done.all();
  }
  std::string both() const { return address_of(first_) + "," + address_of(second_); }
  // Somebody who has no relay asks for it.
  int asks(const HubServer& hub, const std::string& resource) {
    return HubPeer(hub.port(), bob_, "y").post("/v1/acquire", {{"resources", {resource}}}).status;
  }
  Json table(const HubServer& hub) const {
    return HubPeer(hub.port(), bob_, "t").get("/v1/list?realm=app").json;
  }
  bool waits(const HubServer& hub) const {
    return stage::eventually([&] { return table(hub)["waiters"].size() == 1; });
  }

  std::string prefix_, store_;
  stage::Stage one_, other_;  // two machines that may have the hub
  const std::string alice_ = add_token(one_, "alice");
  const std::string bob_ = add_token(one_, "bob");
  const std::uint16_t first_ = stage::reserved_port();
  const std::uint16_t second_ = stage::reserved_port();
  Machine here_;
};

TEST_F(RemoteOnEtcd, L1_L3_WhatIsAttachedIsKeptByTheNextHubAndFreedByADeath) {
  auto hub = serve(one_, first_);
  log_in(address_of(first_));
  Process holder = here_.start_holding("x", "a");
  end(*hub, SIGTERM);
  hub = serve(other_, first_);
  EXPECT_EQ(asks(*hub, "a"), 409);
  EXPECT_EQ(here_.expect(0, "x", {"list"}).json()["leases"].size(), 1U);
  EXPECT_TRUE(holder.running());
  holder.signal_group(SIGKILL);
  EXPECT_TRUE(stage::eventually([&] { return asks(*hub, "a") == 200; }));
}

TEST_F(RemoteOnEtcd, I5_L1_L3_WhatIsAttachedIsKeptByAnotherHubWhenOneIsKilled) {
  auto killed = serve(one_, first_);
  auto hub = serve(other_, second_);
  log_in(both());
  Process holder = here_.start_holding("x", "a");
  EXPECT_EQ(asks(*hub, "a"), 409);
  end(*killed, SIGKILL);
  EXPECT_EQ(asks(*hub, "a"), 409);
  EXPECT_EQ(here_.expect(0, "x", {"list"}).json()["leases"].size(), 1U);
  EXPECT_TRUE(holder.running());
  holder.signal_group(SIGKILL);
  EXPECT_TRUE(stage::eventually([&] { return asks(*hub, "a") == 200; }));
}

TEST_F(RemoteOnEtcd, L4_L9_AWaitGoesOnAtAnotherHubWhenOneIsKilled) {
  auto killed = serve(one_, first_);
  auto hub = serve(other_, second_);
  log_in(both());
  here_.expect(0, "x", {"acquire", "a"});
  Process waiter = here_.start("y", {"acquire", "a", "--wait=5m", "--json"});
  ASSERT_TRUE(waits(*hub));
  end(*killed);
  ASSERT_TRUE(waits(*hub));
  EXPECT_TRUE(waiter.running());
  here_.expect(0, "x", {"release", "a"});
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
  const Json all = table(*hub);
  ASSERT_EQ(all["leases"].size(), 1U) << all;
  EXPECT_EQ(all["leases"][0]["agent"], "y@alice");
}

// It is told of a death that came while no hub was there.
TEST_F(RemoteOnEtcd, L6_AWaiterThatDiesMeanwhileLeavesTheQueueAtAnotherAddress) {
  auto hub = serve(one_, first_);
  log_in(both());
  here_.expect(0, "x", {"acquire", "a"});
  Process waiter = here_.start("y", {"acquire", "a", "--wait=5m", "--json"});
  ASSERT_TRUE(waits(*hub));
  end(*hub);
  waiter.signal(SIGKILL);
  waiter.wait();
  hub = serve(other_, second_);
  EXPECT_TRUE(stage::eventually([&] { return table(*hub)["waiters"].empty(); }));
}

// The hub has granted it, and is killed before anybody hears of that.
TEST_F(RemoteOnEtcd, I8_I9_AnAcquireIsCarriedOutOnceWhenTheHubIsKilled) {
  auto hub = serve(one_, first_);
  Proxy proxy(first_);
  log_in(address_of(proxy.port()) + "," + address_of(second_));
  here_.expect(0, "x", {"check", "z"});
  const Words words = {"acquire", "a", "--request-id", "once", "--json"};
  proxy.vanish_with_answer();
  Process asking = here_.start("x", words);
  ASSERT_TRUE(stage::eventually([&] { return table(*hub)["leases"].size() == 1; }));
  end(*hub);
  hub = serve(other_, second_);
  constexpr int kUnknownStatus = 70;  // the next hub may have come too late for it
  const int status = asking.wait();
  EXPECT_TRUE(status == 0 || status == kUnknownStatus) << asking.out() << asking.err();
  if (status != 0) here_.expect(0, "x", {"acquire", "a", "--request-id", "once"});
  EXPECT_EQ(table(*hub)["leases"].size(), 1U);
  int granted = 0;
  const Json events = HubPeer(hub->port(), bob_).get("/v1/events?realm=app&since=0").json["events"];
  for (const Json& event : events) granted += event["event"] == "granted" ? 1 : 0;
  EXPECT_EQ(granted, 1) << events;
  here_.expect(0, "x", {"release", "a"});
  EXPECT_EQ(table(*hub)["leases"].size(), 0U);
}

// The relay asks another hub when the first stands still, and is refused there. The first is about
// to try again, because its copy was behind. When it goes on, the file is free again.
TEST_F(RemoteOnEtcd, I9_WhatAHubThatStoodStillDoesIsVoidOnceAnotherHasAnswered) {
  etcd_testing::Proxy etcd(etcd_testing::shared_cluster().endpoint(0));
  const auto still = serve(one_, first_, "etcd://" + etcd.endpoint() + prefix_);
  const auto hub = serve(other_, second_);
  log_in(both());
  here_.expect(0, "x", {"check", "z"});
  etcd.hold_watches();
  EXPECT_EQ(asks(*hub, "a"), 200);
  etcd.delay(400);
  Process asking = here_.start("x", {"acquire", "a", "--json"});
  std::this_thread::sleep_for(std::chrono::milliseconds(400));  // etcd's answer is on its way
  still->process().signal(SIGSTOP);
  EXPECT_EQ(asking.wait(), 75) << asking.out() << asking.err();
  HubPeer other(hub->port(), bob_, "y");
  EXPECT_EQ(other.post("/v1/release", {{"all", true}}).status, 200);
  still->process().signal(SIGCONT);
  etcd.delay(0);
  etcd.heal();
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(table(*still)["leases"], Json::array());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace
}  // namespace lockkeeper::proof
