// Two hubs over one etcd: what one grants, the other refuses. And nobody else opens such a store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "etcd/cluster.h"
#include "hub/hub_peer.h"

namespace lockkeeper::proof {
namespace {

using testing::HasSubstr;

class HubOnEtcd : public testing::Test {
 protected:
  void SetUp() override {
    if (!etcd_testing::programs()) GTEST_SKIP() << etcd_testing::why_not();
  }
};

TEST_F(HubOnEtcd, I1_WhatOneHubGrantsTheOtherRefuses) {
  stage::Stage here, there;  // two machines
  const std::string url = etcd_testing::shared_cluster().url("/hubs");
  const std::string token = add_token(here, "alice");
  const std::string other_token = add_token(there, "bob");
  HubServer first(here, {"--store", url});
  HubServer second(there, {"--store", url});
  HubPeer alice(first.port(), token, "a"), bob(second.port(), other_token, "b");
  const auto granted = alice.post("/v1/acquire", {{"resources", {"src/a.py"}}});
  ASSERT_EQ(granted.status, 200) << granted.body;
  const auto refused = bob.post("/v1/acquire", {{"resources", {"src/a.py"}}});
  EXPECT_NE(refused.status, 200) << refused.body;
  EXPECT_THAT(refused.body, HasSubstr("held"));
  const auto beside = bob.post("/v1/acquire", {{"resources", {"src/b.py"}}});
  EXPECT_EQ(beside.status, 200) << beside.body;

  // The hub starts again: what it granted is still there.
  first.process().signal(SIGKILL);
  first.process().wait();
  HubServer again(here, {"--store", url});
  HubPeer carol(again.port(), token, "c");
  const auto still = carol.post("/v1/acquire", {{"resources", {"src/b.py"}}});
  EXPECT_NE(still.status, 200) << still.body;
  EXPECT_THAT(still.body, HasSubstr("held"));
}

TEST_F(HubOnEtcd, OtherCommandsSayThatAHubHasIt) {
  stage::Stage stage;
  const auto refused = stage.finish(
      stage.launch("a", {"acquire", "x", "--store", "etcd://127.0.0.1:1/p?password-file=/secret"}));
  EXPECT_EQ(refused.status, 65) << refused.all();
  EXPECT_THAT(refused.err, HasSubstr("through a hub only"));
  EXPECT_THAT(refused.err, HasSubstr("lockkeeper login"));
  EXPECT_EQ(refused.all().find("secret"), std::string::npos);
}

}  // namespace
}  // namespace lockkeeper::proof
