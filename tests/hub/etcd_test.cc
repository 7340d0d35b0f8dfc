// A hub whose locks are kept in etcd: one at a time, and the next one goes on with what is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <sstream>

#include "etcd/cluster.h"
#include "hub/hub_peer.h"
#include "realm/server.h"

namespace lockkeeper::proof {
namespace {

using etcd_testing::Cluster;
using stage::Answer;
using stage::Stage;
using stage::Words;
using testing::HasSubstr;

// The answer of a `serve` that does not start.
Answer refused_hub(Stage& stage, const std::string& url) {
  return stage.finish(stage.launch(
      "", {"serve", "--realm", "app=" + stage.repo(), "--listen", "127.0.0.1:0", "--store", url}));
}

void stop(HubServer& hub, int signal) {
  hub.process().signal(signal);
  hub.process().wait();
}

HubAnswer ask_for(HubServer& hub, const std::string& token, const std::string& resource) {
  return HubPeer(hub.port(), token, "a").post("/v1/acquire", {{"resources", {resource}}});
}

class HubOnEtcd : public testing::Test {
 protected:
  void SetUp() override {
    if (!etcd_testing::programs()) GTEST_SKIP() << etcd_testing::why_not();
  }

  Stage here_, there_;  // two machines
  const std::string alice_ = add_token(here_, "alice");
  const std::string bob_ = add_token(there_, "bob");
};

TEST_F(HubOnEtcd, I1_ASecondHubDoesNotServeTheStore) {
  const std::string url = etcd_testing::shared_cluster().url("/second");
  const std::string carol = add_token(here_, "carol");
  HubServer first(here_, {"--store", url});
  const HubAnswer granted = ask_for(first, alice_, "src/a.py");
  ASSERT_EQ(granted.status, 200) << granted.body;
  const Answer refused = refused_hub(there_, url);
  EXPECT_EQ(refused.status, 69) << refused.all();
  EXPECT_THAT(refused.err, HasSubstr("another hub, on the machine"));
  EXPECT_THAT(refused.err, HasSubstr(url));
  EXPECT_THAT(refused.err, HasSubstr("90 s"));

  // Its row stays for a while after a kill -9. The same hub starts again at once.
  stop(first, SIGKILL);
  EXPECT_EQ(refused_hub(there_, url).status, 69);
  HubServer again(here_, {"--store", url});
  const HubAnswer still = ask_for(again, carol, "src/a.py");
  EXPECT_EQ(still.status, 409) << still.body;
  EXPECT_THAT(still.body, HasSubstr("held"));

  // A hub that stops makes room at once, and what it granted goes on.
  stop(again, SIGTERM);
  HubServer next(there_, {"--store", url});
  const HubAnswer held = ask_for(next, bob_, "src/a.py");
  EXPECT_EQ(held.status, 409) << held.body;
  EXPECT_EQ(ask_for(next, bob_, "src/b.py").status, 200);
  EXPECT_EQ(refused_hub(here_, url).status, 69);
}

TEST_F(HubOnEtcd, I1_AHubThatWasCutOffAndFollowedGrantsNothing) {
  Cluster cluster;
  const std::string url = cluster.url("/cut");
  HubServer first(here_, {"--store", url});
  ASSERT_EQ(ask_for(first, alice_, "src/a.py").status, 200);
  first.process().signal(SIGSTOP);
  // As if 90 s had passed.
  std::istringstream leases(cluster.ctl({"lease", "list"}));
  for (std::string line; std::getline(leases, line);) {
    if (line.size() == 16 && line.find(' ') == std::string::npos) {
      cluster.ctl({"lease", "revoke", line});
    }
  }
  HubServer next(there_, {"--store", url});
  ASSERT_EQ(ask_for(next, bob_, "src/b.py").status, 200);
  first.process().signal(SIGCONT);
  for (const char* const resource : {"src/b.py", "src/c.py"}) {
    const HubAnswer late = ask_for(first, alice_, resource);
    EXPECT_EQ(late.status, 503) << late.body;
    EXPECT_THAT(late.body, HasSubstr("another hub"));
  }
  EXPECT_EQ(ask_for(next, bob_, "src/a.py").status, 409);
  // Its end leaves the other's place alone.
  stop(first, SIGTERM);
  EXPECT_EQ(refused_hub(here_, url).status, 69);
}

// Each machine has a clock of its own, and the second one runs a day ahead.
TEST_F(HubOnEtcd, I6_L2_L3_TheNextHubEndsALeaseAfterItsTtlAndNotBefore) {
  if (stage::kSanitized) GTEST_SKIP() << "needs the shipped program";
  constexpr std::int64_t kMinuteMs = 60'000;
  constexpr std::int64_t kDayMs = 24 * 60 * kMinuteMs;
  const std::string url = etcd_testing::shared_cluster().url("/clocks");
  {
    HubServer first(here_, {"--store", url});
    const HubAnswer granted = HubPeer(first.port(), alice_, "a")
                                  .post("/v1/acquire", {{"resources", {"src"}}, {"ttl", "1h"}});
    ASSERT_EQ(granted.status, 200) << granted.body;
    stop(first, SIGTERM);
  }
  const stage::LaterFile later(there_.path("time"));
  later.put_into(there_.env, false);
  later.set_ms(kDayMs);
  HubServer next(there_, {"--store", url});
  EXPECT_EQ(ask_for(next, bob_, "src/a.py").status, 409);
  later.set_ms(kDayMs + 59 * kMinuteMs);
  EXPECT_EQ(ask_for(next, bob_, "src/a.py").status, 409);
  later.set_ms(kDayMs + 61 * kMinuteMs);
  EXPECT_TRUE(stage::eventually([&] { return ask_for(next, bob_, "src/a.py").status == 200; }));
}

TEST_F(HubOnEtcd, I6_AHubThatIsCutOffVouchesForNobodyAfterAMinute) {
  if (stage::kSanitized) GTEST_SKIP() << "needs the shipped program";
  Cluster cluster;
  const stage::LaterFile later(here_.path("time"));
  later.put_into(here_.env, false);
  HubServer hub(here_, {"--store", cluster.url("/vouch")});
  const Json beat{{"protocol", realm::kHubProtocol},
                  {"session", std::string(32, 'a')},
                  {"living", Json::array()},
                  {"gone", Json::array()}};
  const auto status = [&] { return HubPeer(hub.port(), alice_).post("/v1/beat", beat).status; };
  EXPECT_EQ(status(), 200);
  cluster.kill(0);
  later.set_ms(realm::kSessionMs + 1'000);
  EXPECT_TRUE(stage::eventually([&] { return status() == 503; }));
  cluster.start(0);
  EXPECT_TRUE(stage::eventually([&] { return status() == 200; }));
}

TEST_F(HubOnEtcd, AnEtcdThatCannotBeUsedIsToldAtTheStart) {
  const Answer nobody = refused_hub(here_, "etcd://127.0.0.1:1/p");
  EXPECT_EQ(nobody.status, 69) << nobody.all();
  EXPECT_THAT(nobody.err, HasSubstr("127.0.0.1:1"));
  if (!etcd_testing::old_programs()) GTEST_SKIP() << etcd_testing::why_not();
  Cluster old({.old = true});
  Answer refused;
  EXPECT_TRUE(stage::eventually([&] {  // it begins to serve
    refused = refused_hub(here_, old.url("/old"));
    return refused.status == 69 && refused.err.find("too old") != std::string::npos;
  })) << refused.all();
  EXPECT_THAT(refused.err, HasSubstr("3.4.23"));
}

TEST_F(HubOnEtcd, I3_F28_ARestoredClusterIsRefusedUntilTheDoctorHasRepairedIt) {
  Cluster cluster;
  const std::string url = cluster.url("/restored");
  const std::string snapshot = here_.path("snapshot");
  const auto doctor = [&](Words more) {
    more.insert(more.begin(), {"doctor", "--store", url});
    return here_.json("", more);
  };
  std::uint64_t fence = 0;
  {
    HubServer hub(here_, {"--store", url});
    ASSERT_EQ(ask_for(hub, alice_, "src/a.py").status, 200);
    stop(hub, SIGTERM);
  }
  const Answer sound = doctor({"--repair"});
  EXPECT_EQ(sound.status, 0) << sound.all();
  EXPECT_FALSE(sound.json().contains("repair"));
  cluster.ctl({"snapshot", "save", snapshot});
  {
    HubServer hub(here_, {"--store", url});
    const HubAnswer granted = ask_for(hub, alice_, "src/b.py");
    ASSERT_EQ(granted.status, 200) << granted.body;
    fence = granted.json["lease"]["fence"].get<std::uint64_t>();
    stop(hub, SIGTERM);
  }
  cluster.restore(snapshot);

  const Answer refused = refused_hub(here_, url);
  EXPECT_EQ(refused.status, 69) << refused.all();
  EXPECT_THAT(refused.err, HasSubstr("lockkeeper doctor --repair --store"));
  EXPECT_EQ(doctor({}).status, 69);
  const Answer repaired = doctor({"--repair"});
  EXPECT_EQ(repaired.status, 0) << repaired.all();
  EXPECT_GT(repaired.json()["repair"]["epoch"], 1);
  HubServer hub(here_, {"--store", url});
  const HubAnswer granted = ask_for(hub, alice_, "src/b.py");
  ASSERT_EQ(granted.status, 200) << granted.body;
  EXPECT_GT(granted.json["lease"]["fence"].get<std::uint64_t>(), fence);
}

TEST_F(HubOnEtcd, OtherCommandsSayThatAHubHasIt) {
  const Answer refused = here_.finish(
      here_.launch("a", {"acquire", "x", "--store", "etcd://127.0.0.1:1/p?password-file=/secret"}));
  EXPECT_EQ(refused.status, 65) << refused.all();
  EXPECT_THAT(refused.err, HasSubstr("through a hub only"));
  EXPECT_THAT(refused.err, HasSubstr("lockkeeper login"));
  EXPECT_EQ(refused.all().find("secret"), std::string::npos);
}

}  // namespace
}  // namespace lockkeeper::proof
