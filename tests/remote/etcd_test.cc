// Relays and a hub whose locks are in etcd: what is attached outlives the hub.
#include <gtest/gtest.h>

#include <csignal>

#include "etcd/cluster.h"
#include "remote/machine.h"

namespace lockkeeper::proof {
namespace {

TEST(RemoteOnEtcd, L1_L3_WhatIsAttachedIsKeptByTheNextHubAndFreedByADeath) {
  if (!etcd_testing::programs()) GTEST_SKIP() << etcd_testing::why_not();
  const std::string store = etcd_testing::shared_cluster().url("/attached");
  stage::Stage one, other;  // two machines that may have the hub
  const std::string alice = add_token(one, "alice");
  const std::string bob = add_token(one, "bob");
  const stage::Words words = {"--store", store, "--token-file",
                              one.path("home") + "/.config/lockkeeper/hub-tokens"};
  auto hub = std::make_unique<HubServer>(one, words);
  const std::string address = "127.0.0.1:" + std::to_string(hub->port());
  Machine here;
  ASSERT_EQ(here.login("http://" + address, alice).status, 0);
  stage::Process holder = here.start_holding("x", "a");
  hub->process().signal(SIGTERM);
  hub->process().wait();

  stage::Words next = words;
  next.insert(next.end(), {"--listen", address});
  hub = std::make_unique<HubServer>(other, next);
  HubPeer peer(hub->port(), bob, "y");
  const auto ask = [&] { return peer.post("/v1/acquire", {{"resources", {"a"}}}).status; };
  EXPECT_EQ(ask(), 409);
  EXPECT_EQ(here.expect(0, "x", {"list"}).json()["leases"].size(), 1U);
  EXPECT_TRUE(holder.running());
  holder.signal_group(SIGKILL);
  EXPECT_TRUE(stage::eventually([&] { return ask() == 200; }));
}

}  // namespace
}  // namespace lockkeeper::proof
