// Hubs whose locks are kept in etcd: each goes on with what the others have granted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <sstream>
#include <thread>

#include "etcd/cluster.h"
#include "etcd/proxy.h"
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

TEST_F(HubOnEtcd, I1_I3_SeveralHubsServeOneTable) {
  const std::string url = etcd_testing::shared_cluster().url("/several");
  HubServer first(here_, {"--store", url});
  HubServer second(there_, {"--store", url});
  const HubAnswer granted = ask_for(first, alice_, "src/a.py");
  ASSERT_EQ(granted.status, 200) << granted.body;
  const HubAnswer refused = ask_for(second, bob_, "src/");
  ASSERT_EQ(refused.status, 409) << refused.body;
  EXPECT_EQ(refused.json["conflicts"][0]["agent"], "a@alice");
  const HubAnswer next = ask_for(second, bob_, "src/b.py");
  ASSERT_EQ(next.status, 200) << next.body;
  EXPECT_GT(next.json["lease"]["fence"], granted.json["lease"]["fence"]);
  EXPECT_EQ(ask_for(first, alice_, "src/b.py").status, 409);

  const Json hubs = HubPeer(first.port(), alice_).get("/v1/hubs").json["hubs"];
  ASSERT_EQ(hubs.size(), 2U) << hubs;
  EXPECT_NE(hubs[0]["this"], hubs[1]["this"]);
  EXPECT_THAT(hubs.dump(), HasSubstr(std::to_string(second.port())));
  stop(second, SIGTERM);
  EXPECT_EQ(HubPeer(first.port(), alice_).get("/v1/hubs").json["hubs"].size(), 1U);
  EXPECT_EQ(ask_for(first, alice_, "src/b.py").status, 409);  // what it granted goes on
}

TEST_F(HubOnEtcd, L1_L4_AReleaseAtOneHubServesTheQueueOfAnother) {
  const std::string url = etcd_testing::shared_cluster().url("/queue");
  HubServer first(here_, {"--store", url});
  HubServer second(there_, {"--store", url});
  HubPeer holder(first.port(), alice_, "holder");
  ASSERT_EQ(holder.post("/v1/acquire", {{"resources", {"a"}}}).status, 200);
  const auto wait = [&](HubServer& hub, const std::string& token, const std::string& agent) {
    const HubAnswer queued = HubPeer(hub.port(), token, agent)
                                 .post("/v1/acquire", {{"resources", {"a"}}, {"wait", "10m"}});
    EXPECT_EQ(queued.status, 202) << queued.body;
    return queued.json["wait"]["id"].get<std::string>();
  };
  const std::string bob = wait(second, bob_, "b");
  const std::string carol = wait(first, alice_, "c");
  ASSERT_EQ(holder.post("/v1/release", {{"all", true}}).status, 200);
  HubPeer there(second.port(), bob_, "b");
  EXPECT_EQ(there.get("/v1/waits/" + bob + "?for=60s").json["outcome"], "granted");
  EXPECT_EQ(HubPeer(first.port(), alice_, "c").get("/v1/waits/" + carol + "?for=0s").status, 202);
  ASSERT_EQ(there.post("/v1/release", {{"all", true}}).status, 200);
  const HubAnswer last = HubPeer(first.port(), alice_, "c").get("/v1/waits/" + carol + "?for=60s");
  EXPECT_EQ(last.json["outcome"], "granted") << last.body;
}

TEST_F(HubOnEtcd, L3_L4_AWaitGoesOnAtAnotherHubAfterAKill) {
  const std::string url = etcd_testing::shared_cluster().url("/moved");
  const std::string carol = add_token(there_, "carol");
  HubServer second(there_, {"--store", url, "--token-file",
                            here_.path("home") + "/.config/lockkeeper/hub-tokens"});
  auto first = std::make_unique<HubServer>(here_, Words{"--store", url});
  HubPeer holder(second.port(), alice_, "holder");
  ASSERT_EQ(holder.post("/v1/acquire", {{"resources", {"a"}}}).status, 200);
  const Json wanted{{"resources", {"a"}}, {"wait", "10m"}};
  const HubAnswer queued = HubPeer(first->port(), alice_, "w").post("/v1/acquire", wanted);
  ASSERT_EQ(queued.status, 202) << queued.body;
  const HubAnswer behind = HubPeer(second.port(), alice_, "x").post("/v1/acquire", wanted);
  ASSERT_EQ(behind.status, 202) << behind.body;
  stop(*first, SIGKILL);
  const auto look = [&](const HubAnswer& wait, const char* for_) {
    return HubPeer(second.port(), alice_, "w")
        .get("/v1/waits/" + wait.json["wait"]["id"].get<std::string>() + "?for=" + for_);
  };
  EXPECT_EQ(look(queued, "0s").status, 202);  // it has come to this hub, and kept its place
  ASSERT_EQ(holder.post("/v1/release", {{"all", true}}).status, 200);
  EXPECT_EQ(look(queued, "60s").json["outcome"], "granted");
  EXPECT_EQ(look(behind, "0s").status, 202);
}

TEST_F(HubOnEtcd, I1_I5_AHubThatWasCutOffFindsWhatOthersHaveTaken) {
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
  EXPECT_TRUE(stage::eventually([&] { return ask_for(first, alice_, "src/b.py").status == 409; }));
  EXPECT_TRUE(stage::eventually([&] { return ask_for(first, alice_, "src/c.py").status == 200; }));
  EXPECT_EQ(ask_for(next, bob_, "src/a.py").status, 409);
  EXPECT_TRUE(stage::eventually(
      [&] { return HubPeer(next.port(), bob_).get("/v1/hubs").json["hubs"].size() == 2; }));
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

TEST_F(HubOnEtcd, I6_AHubThatIsCutOffVouchesForNobodyAfterHalfAMinute) {
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
  later.set_ms(realm::kOutOfContactMs + 1'000);
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

// One of the hub's two ways to etcd goes wrong, and it finds the other one.
class HubOnABadWay : public HubOnEtcd {
 protected:
  HubServer serve(const std::string& prefix) {
    const std::string good = etcd_testing::shared_cluster().endpoint(0);
    way_ = std::make_unique<etcd_testing::Proxy>(good);
    HubServer hub(here_, {"--store", "etcd://" + way_->endpoint() + "," + good + prefix});
    EXPECT_EQ(ask_for(hub, alice_, "warm").status, 200);  // what commits need is there
    return hub;
  }
  std::unique_ptr<etcd_testing::Proxy> way_;
};

TEST_F(HubOnABadWay, F24_I1_ACommitThatArrivesAfterItsRetryWasReleasedGrantsNothing) {
  HubServer hub = serve("/late");
  HubPeer peer(hub.port(), alice_, "a");
  way_->hold_requests();
  const HubAnswer granted = ask_for(hub, alice_, "src/a.py");
  ASSERT_EQ(granted.status, 200) << granted.body;
  ASSERT_EQ(peer.post("/v1/release", {{"all", true}}).status, 200);
  way_->deliver();
  const Json all = peer.get("/v1/list?realm=app").json;
  EXPECT_EQ(all["leases"], Json::array()) << all;
  EXPECT_EQ(ask_for(hub, alice_, "src/").status, 200);
}

TEST_F(HubOnABadWay, F24_I8_ACommitWhoseAnswerIsLostIsMadeOnce) {
  HubServer hub = serve("/lost");
  way_->lose_answers();
  const HubAnswer granted = ask_for(hub, alice_, "src/a.py");
  ASSERT_EQ(granted.status, 200) << granted.body;
  EXPECT_EQ(granted.json["outcome"], "granted") << "nobody has asked for it before";
  int grants = 0;
  HubPeer peer(hub.port(), alice_);
  const Json events = peer.get("/v1/events?realm=app&since=0").json["events"];
  for (const Json& event : events) {
    const bool of_it = event.dump().find("src/a.py") != std::string::npos;
    grants += of_it && event["event"] == "granted" ? 1 : 0;
  }
  EXPECT_EQ(grants, 1) << events;
}

// Its request is on the way to etcd when the doctor begins a new epoch, in which others are granted
// greater fences.
TEST_F(HubOnABadWay, F28_I3_ACommitThatArrivesInANewEpochGivesNoFenceOfTheFormerOne) {
  const std::string url = etcd_testing::shared_cluster().url("/epoch");
  HubServer hub = serve("/epoch");
  HubServer other(there_, {"--store", url});
  HubPeer asking(hub.port(), alice_, "warm");
  way_->hold_requests();
  asking.send("POST", "/v1/acquire", Json{{"resources", {"src/a.py"}}}.dump());
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // it has come to the proxy
  const Answer begun = there_.json("", {"doctor", "--store", url, "--repair", "--force"});
  ASSERT_EQ(begun.status, 0) << begun.all();
  const HubAnswer later = ask_for(other, bob_, "src/b.py");
  ASSERT_EQ(later.status, 200) << later.body;
  constexpr std::uint64_t kMargin = 1'000'000'000;  // fences of the former epoch are far below
  EXPECT_GT(later.json["lease"]["fence"].get<std::uint64_t>(), kMargin);
  way_->deliver();
  const HubAnswer granted = asking.answer();
  ASSERT_EQ(granted.status, 200) << granted.body;
  EXPECT_GT(granted.json["lease"]["fence"], later.json["lease"]["fence"]);
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
