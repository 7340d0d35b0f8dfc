// `doctor --store etcd://…` on a real etcd: sound, with a member down, without a quorum, full,
// damaged, behind TLS and users.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "etcd/cluster.h"
#include "hub/hub_peer.h"
#include "kv/etcd/ask.h"
#include "kv/etcd/fields.h"
#include "kv/etcd/wire.h"

namespace lockkeeper::proof {
namespace {

using etcd_testing::Cluster;
using stage::Answer;
using stage::Stage;
using stage::Words;
using testing::HasSubstr;

class EtcdDoctorTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!etcd_testing::programs()) GTEST_SKIP() << etcd_testing::why_not();
    add_token(stage_, "alice");
  }

  Answer doctor(const std::string& url, Words more = {}) {
    more.insert(more.begin(), {"doctor", "--store", url});
    return stage_.json("", more);
  }
  // What a person sees, in a pipe.
  std::string shown(const std::string& url) {
    return stage_.as("", {"doctor", "--store", url}).all();
  }

  // The messages of one check: "broken: …", "note: …" or "ok: …", with their hints.
  static std::string about(const Answer& answer, const std::string& check) {
    std::string all;
    const Json json = answer.json();
    for (const Json& line : json["checks"]) {
      if (line["check"] != check) continue;
      const std::string kind = !line["ok"].get<bool>()     ? "broken: "
                               : line.value("note", false) ? "note: "
                                                           : "ok: ";
      all += kind + line["message"].get<std::string>() + " -> " + line.value("hint", "") + "\n";
    }
    return all;
  }

  // A hub serves it once, so that there is something to see.
  void serve_once(const std::string& url) {
    HubServer hub(stage_, {"--store", url});
    hub.process().signal(SIGTERM);
    hub.process().wait();
  }

  Stage stage_;
};

TEST_F(EtcdDoctorTest, ASoundClusterIsDescribedAndNoRowIsChanged) {
  Cluster cluster({.members = 3});
  const std::string url = cluster.url("/app");
  const Answer before = doctor(url);
  EXPECT_EQ(before.status, 0) << before.all();
  EXPECT_THAT(about(before, "epoch"), HasSubstr("no hub has served this prefix"));
  EXPECT_EQ(cluster.ctl({"get", "--prefix", "/", "--keys-only"}), "");

  serve_once(url);
  const std::string rows = cluster.ctl({"get", "--prefix", "/", "-w", "fields"});
  const Answer sound = doctor(url);
  EXPECT_EQ(sound.status, 0) << sound.all();
  EXPECT_EQ(sound.json()["healthy"], true);
  const Json etcd = sound.json()["etcd"][0];
  ASSERT_EQ(etcd["members"].size(), 3U) << etcd;
  int leaders = 0;
  for (const Json& member : etcd["members"]) {
    EXPECT_EQ(member["answers"], true) << member;
    EXPECT_EQ(member["version"], "3.5.30") << member;
    EXPECT_GT(member["database_bytes"], 0) << member;
    EXPECT_EQ(member["quota_bytes"], 2147483648U) << member;
    if (member["leader"].get<bool>()) ++leaders;
  }
  EXPECT_EQ(leaders, 1);
  EXPECT_GT(etcd["commit_ms"], 0);
  EXPECT_EQ(etcd["epoch"], 1);
  EXPECT_GE(etcd["revision"], etcd["seen_revision"]);
  EXPECT_THAT(about(sound, "cluster"), HasSubstr("ok: 3 members, of which 2 must run"));
  EXPECT_EQ(about(sound, "alarms"), "ok: none -> \n");
  EXPECT_THAT(about(sound, "epoch"), HasSubstr("the hub here has seen"));
  EXPECT_EQ(cluster.ctl({"get", "--prefix", "/", "-w", "fields"}), rows);
  EXPECT_THAT(about(doctor(cluster.url_of({0}, "/app")), "cluster"),
              HasSubstr("is not in the address"));
}

TEST_F(EtcdDoctorTest, F26_AMemberThatIsDownAndALostQuorumAreToldWithWhatToDo) {
  Cluster cluster({.members = 3});
  const std::string url = cluster.url("/app");
  serve_once(url);
  cluster.kill(1);
  const std::string gone = cluster.endpoint(1);
  const auto look_until = [&](const std::string& check, const std::string& words) {
    Answer answer;
    EXPECT_TRUE(stage::eventually([&] {  // the others elect a leader meanwhile
      answer = doctor(url);
      return about(answer, check).find(words) != std::string::npos;
    })) << answer.all();
    return answer;
  };
  const Answer one = look_until("commit", "ok: takes");
  EXPECT_EQ(one.status, 69) << one.all();
  EXPECT_THAT(about(one, "member"), HasSubstr("broken: the etcd at " + gone));
  EXPECT_THAT(about(one, "cluster"), HasSubstr("ok: 3 members, of which 2 must run"));
  EXPECT_THAT(about(one, "epoch"), HasSubstr("ok: epoch 1"));

  cluster.kill(2);
  const Answer two = look_until("cluster", "no quorum");
  EXPECT_EQ(two.status, 69) << two.all();
  EXPECT_THAT(about(two, "cluster"), HasSubstr("1 of 3 members answers, and 2 are needed"));
  EXPECT_EQ(about(two, "commit"), "") << "it is said once";
  EXPECT_EQ(two.json()["error"]["code"], "store_unavailable");

  cluster.kill(0);
  const Answer none = doctor(url);
  EXPECT_EQ(none.status, 69) << none.all();
  EXPECT_THAT(about(none, "cluster"), HasSubstr("no member answers"));
  EXPECT_THAT(shown(url), HasSubstr("hint: "));
}

TEST_F(EtcdDoctorTest, AMemberThatDoesNotAnswerIsNotWaitedForLong) {
  Cluster cluster({.members = 3});
  const std::size_t follower = (cluster.leader() + 1) % 3;
  cluster.stop(follower);
  const Answer answer = doctor(cluster.url("/app"));
  EXPECT_EQ(answer.status, 69) << answer.all();
  EXPECT_THAT(about(answer, "member"), HasSubstr(cluster.endpoint(follower)));
  EXPECT_THAT(about(answer, "commit"), HasSubstr("ok: takes"));
  cluster.go_on(follower);
}

TEST_F(EtcdDoctorTest, F27_AQuotaThatIsUsedUpIsToldBeforeAndAfter) {
  Cluster cluster({.members = 1, .arguments = {"--quota-backend-bytes", "400000"}});
  const std::string url = cluster.url("/app");
  serve_once(url);
  const std::string file = stage_.path("much");
  const auto fill = [&](std::size_t bytes) {
    std::ofstream(file) << std::string(bytes, 'x');
    const std::string put = "'" + *etcd_testing::programs() + "/etcdctl' --endpoints " +
                            cluster.endpoint(0) + " put much <'" + file + "'";
    stage_.finish(stage_.command({"/bin/sh", "-c", put}));
  };
  fill(300'000);
  Answer nearly;
  EXPECT_TRUE(stage::eventually([&] {  // etcd writes it a little later
    nearly = doctor(url);
    return about(nearly, "space").starts_with("note: the database has");
  })) << nearly.all();
  EXPECT_EQ(nearly.status, 0) << nearly.all();
  EXPECT_THAT(about(nearly, "space"), HasSubstr("of 391 KiB"));
  fill(300'000);
  const Answer full = doctor(url);
  EXPECT_EQ(full.status, 69) << full.all();
  EXPECT_EQ(full.json()["error"]["code"], "no_space") << full.out;
  EXPECT_THAT(about(full, "alarms"), HasSubstr("m0 has raised the alarm NOSPACE"));
  EXPECT_THAT(about(full, "alarms"), HasSubstr("etcdctl alarm disarm"));
  EXPECT_THAT(about(full, "epoch"), HasSubstr("ok: epoch 1")) << "reads go on";
}

TEST_F(EtcdDoctorTest, AnAlarmOfDamageIsTold) {
  Cluster cluster;
  const auto address = kv::etcd::parse_address(cluster.url());
  ASSERT_TRUE(address.has_value());
  const auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const auto link = kv::etcd::Link::open(address->endpoints[0], nullptr, soon);
  ASSERT_TRUE(link.has_value());
  const auto status = kv::etcd::decode_status((*link)->call(kv::etcd::kStatus, {}, {}, soon).body);
  ASSERT_TRUE(status.has_value());
  kv::etcd::MessageWriter raise;  // as the member itself would
  raise.number(1, 1);
  raise.number(2, status->header.member_id);
  raise.number(3, kv::etcd::kAlarmTypeCorrupt.number);
  ASSERT_TRUE(is_ok((*link)->call(kv::etcd::kAlarm, {}, raise.take(), soon)));
  const Answer damaged = doctor(cluster.url());
  EXPECT_EQ(damaged.status, 69) << damaged.all();
  EXPECT_EQ(damaged.json()["error"]["code"], "store_corrupt") << damaged.out;
  EXPECT_THAT(damaged.out, HasSubstr("m0 has raised the alarm CORRUPT"));
}

TEST_F(EtcdDoctorTest, FewerOperationsThanAGrantNeedsAreToldWithTheFlag) {
  Cluster cluster({.members = 1, .arguments = {"--max-txn-ops", "64"}});
  const Answer answer = doctor(cluster.url());
  EXPECT_EQ(answer.status, 73) << answer.all();
  EXPECT_THAT(about(answer, "commit"), HasSubstr("--max-txn-ops 128"));
}

TEST_F(EtcdDoctorTest, TlsThatFailsIsToldForEachMember) {
  Cluster cluster({.members = 1, .tls = true});
  const Answer sound = doctor(cluster.url());
  EXPECT_EQ(sound.status, 0) << sound.all();
  EXPECT_THAT(about(sound, "space"), HasSubstr("of 2.0 GiB")) << "also over TLS";
  const std::string hosts = "etcds://" + cluster.endpoint(0);
  const std::string own =
      "&cert=" + cluster.file("client.pem") + "&key=" + cluster.file("client.key");
  const Answer other = doctor(hosts + "?ca=" + cluster.file("other.pem") + own);
  EXPECT_EQ(other.status, 69) << other.all();
  EXPECT_THAT(about(other, "member"), HasSubstr("certificate"));
  const Answer lost = doctor(hosts + "?ca=/nowhere" + own);
  EXPECT_EQ(lost.status, 65) << lost.all();
  EXPECT_THAT(lost.out, HasSubstr("/nowhere"));
}

TEST_F(EtcdDoctorTest, AUserSeesWhatItMayAndItsMistakesAreTold) {
  Cluster cluster;
  const auto secret = [&](const std::string& name, const std::string& password) {
    std::ofstream(stage_.path(name)) << password << "\n";
    std::filesystem::permissions(stage_.path(name), std::filesystem::perms::owner_read);
    return stage_.path(name);
  };
  cluster.enable_users();
  const std::string good = "allow-old=yes&user=hub&password-file=" + secret("good", "Geheim1");
  const Answer team = doctor(cluster.url("/team?" + good));
  EXPECT_EQ(team.status, 0) << team.all();
  EXPECT_THAT(about(team, "member"), HasSubstr("etcd 3.5.30"));
  EXPECT_THAT(about(team, "cluster"), HasSubstr("may not see all of it"));
  EXPECT_THAT(about(team, "commit"), HasSubstr("ok: takes"));

  const Answer elsewhere = doctor(cluster.url("/other?" + good));
  EXPECT_EQ(elsewhere.status, 69) << elsewhere.all();
  EXPECT_THAT(about(elsewhere, "commit"), HasSubstr("grant-permission"));
  const Answer wrong =
      doctor(cluster.url("/team?allow-old=yes&user=hub&password-file=" + secret("bad", "Falsch1")));
  EXPECT_EQ(wrong.status, 69) << wrong.all();
  EXPECT_THAT(about(wrong, "member"), HasSubstr("does not accept the password"));
  EXPECT_EQ(wrong.all().find("Falsch1"), std::string::npos);
  const Answer nobody = doctor(cluster.url("/team"));
  EXPECT_EQ(nobody.status, 69) << nobody.all();
  EXPECT_THAT(nobody.out, HasSubstr("user=NAME"));
  const Answer root =
      doctor(cluster.url("/team?allow-old=yes&user=root&password-file=" + secret("r", "Wurzel1")));
  EXPECT_EQ(root.status, 0) << root.all();
  EXPECT_EQ(about(root, "alarms"), "ok: none -> \n");
}

TEST_F(EtcdDoctorTest, OnAHubsMachineItLooksByItself) {
  Cluster cluster;
  const std::string url = cluster.url("/app");
  {
    HubServer hub(stage_, {"--store", url});
    const Answer there = stage_.json("", {"doctor"});
    EXPECT_EQ(there.status, 0) << there.all();
    ASSERT_EQ(there.json()["etcd"].size(), 1U) << there.out;
    EXPECT_EQ(there.json()["etcd"][0]["store"], url);
    hub.process().signal(SIGTERM);
    hub.process().wait();
  }
  EXPECT_FALSE(stage_.json("", {"doctor"}).json().contains("etcd")) << "no hub runs";
}

TEST_F(EtcdDoctorTest, ATerminalOf80ColumnsShowsAllOfIt) {
  const std::string url = etcd_testing::shared_cluster().url("/app");
  const std::string command =
      "stty cols 80; '" + std::string(Stage::program()) + "' doctor --store '" + url + "'";
  const Answer seen =
      stage_.finish(stage_.command({"script", "-qec", command, stage_.path("typescript")}));
  EXPECT_EQ(seen.status, 0) << seen.all();
  EXPECT_THAT(seen.out, HasSubstr("takes "));
  std::istringstream lines(seen.out);
  for (std::string line; std::getline(lines, line);) {
    std::string plain;  // without colours
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\x1b') {
        i = line.find('m', i);
      } else if (line[i] != '\r') {
        plain += line[i];
      }
    }
    EXPECT_LE(plain.size(), 80U) << plain;
  }
}

}  // namespace
}  // namespace lockkeeper::proof
