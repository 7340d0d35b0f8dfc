// The coordinator's operations as real processes: races, deaths, what every door says of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <set>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

class CoordinatorRace : public testing::Test {
 protected:
  Words words(const Words& more) {
    Words all{"coordinator", "--json"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  // The operation in the name of AGENT_ID and SESSION_ID, as the original is called.
  Launch call(const std::string& agent, const std::string& session, const Words& more) {
    Launch launch = stage_.launch("", words(more));
    launch.env["AGENT_ID"] = agent;
    if (!session.empty()) launch.env["SESSION_ID"] = session;
    return launch;
  }
  Answer called(int status, const std::string& agent, const std::string& session,
                const Words& more) {
    Answer answer = stage_.finish(call(agent, session, more));
    EXPECT_EQ(answer.status, status) << answer.all();
    return answer;
  }
  static Json json_of(const Process& process) { return Json::parse(process.out(), nullptr, false); }

  Stage stage_;
};

TEST_F(CoordinatorRace, I1_OfManyProcessesOneAcquiresAndTheOthersNameIt) {
  constexpr int kProcesses = 12;
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE(round);
    std::vector<Process> racers;
    for (int i = 0; i < kProcesses; ++i) {
      // Different spellings of one thing, two sessions of each agent.
      const char* const spelling[] = {"src/a.py", "src\\a.py", "./src//a.py", "src/"};
      racers.emplace_back(call("agent-" + std::to_string(i / 2), "s" + std::to_string(i),
                               {"acquire", spelling[i % 4], "--reason", "race"}));
    }
    std::string winner, session, path;
    std::vector<Json> refused;
    for (Process& racer : racers) {
      const int status = racer.wait();
      const Json json = json_of(racer);
      ASSERT_TRUE(json.is_object()) << racer.out() << racer.err();
      EXPECT_EQ(status, json["success"] == true ? 0 : 75) << json;
      if (json["success"] == false) refused.push_back(json);
      if (json["success"] == true) path = json["file_path"].get<std::string>();
    }
    ASSERT_EQ(refused.size(), kProcesses - 1U);
    const Json list = stage_.list();
    ASSERT_EQ(list["leases"].size(), 1U) << list.dump(1);
    for (const Json& json : refused) {
      EXPECT_EQ(json["reason"], "locked_by_other");
      EXPECT_EQ(json["locked_by"], list["leases"][0]["agent"]) << "never nobody, never another";
      EXPECT_EQ(json["session_id"], list["leases"][0]["session"]);
      EXPECT_EQ(json["lock_reason"], "race");
      EXPECT_EQ(json["locked_path"], path);
    }
    called(0, list["leases"][0]["agent"], list["leases"][0]["session"], {"release", path});
  }
}

// The original says locked_by_other with nobody's name if the holder releases in between.
TEST_F(CoordinatorRace, ARefusalAlwaysHasAHolderWhileOthersComeAndGo) {
  const std::string loop = "for i in $(seq 40); do " + std::string(Stage::program()) +
                           " coordinator acquire k --json; " + Stage::program() +
                           " coordinator release k --json; done";
  std::vector<Process> agents;
  for (const char* const name : {"ann", "bob", "cat"}) {
    Launch launch = stage_.command({"sh", "-c", loop});
    launch.env["AGENT_ID"] = name;
    agents.emplace_back(std::move(launch));
  }
  int acquired = 0, refused = 0;
  std::string all;
  for (Process& agent : agents) {
    agent.wait();
    Answer answer;
    answer.out = agent.out();
    all += answer.out + agent.err();
    for (const Json& json : answer.lines()) {
      if (json["action"] == "acquired") ++acquired;
      if (json["reason"] != "locked_by_other") continue;
      ++refused;
      EXPECT_TRUE(json["locked_by"].is_string()) << json;
      EXPECT_TRUE(json["locked_at"].is_string()) << json;
      EXPECT_TRUE(json["expires_at"].is_string()) << json;
    }
  }
  EXPECT_EQ(acquired + refused, 120) << all;
  EXPECT_GT(acquired, 0);
  EXPECT_EQ(stage_.list()["leases"].size(), 0U);
}

TEST_F(CoordinatorRace, I5_KilledAgentsKeepTheirLocksAndComeBackToThem) {
  // kill -9 at any moment of an acquire: what the table says afterwards is what counts.
  for (int i = 0; i < 30; ++i) {
    const std::string key = "k" + std::to_string(i);
    Process ann(call("ann", "s1", {"acquire", key}));
    pause_ms(i % 6);
    ann.signal(SIGKILL);
    ann.wait();
    const bool held = stage_.finish(call("bob", "", {"check", key})).status == 75;
    if (ann.out().find("\"success\":true") != std::string::npos) {
      EXPECT_TRUE(held) << key;
    }
    // Who restarts with its AGENT_ID and SESSION_ID has them again.
    const Json again = called(0, "ann", "s1", {"acquire", key}).json();
    EXPECT_EQ(again["action"], held ? "refreshed" : "acquired");
    EXPECT_EQ(called(75, "bob", "", {"acquire", key}).json()["locked_by"], "ann");
    called(0, "ann", "s1", {"release", key});
    EXPECT_EQ(called(66, "ann", "s1", {"release", key}).json()["reason"],
              "lock_not_found_or_not_owner");
  }
}

TEST_F(CoordinatorRace, EveryDoorSeesTheOthers) {
  stage_.file("src/a.py");
  stage_.expect(0, "native", {"acquire", "src/", "--mode", "shared", "--reason", "reads"});
  const Json refused = called(75, "ann", "", {"acquire", "src/a.py"}).json();
  EXPECT_EQ(refused["locked_by"], "native");
  EXPECT_EQ(refused["locked_path"], "src/");
  stage_.expect(0, "native", {"release", "src/"});
  called(0, "ann", "s1", {"acquire", "src/a.py", "--reason", "JWT"});
  const Json conflict = stage_.expect(75, "native", {"acquire", "src/"}).json()["conflicts"][0];
  EXPECT_EQ(conflict["agent"], "ann");
  EXPECT_EQ(conflict["session"], "s1");
  EXPECT_EQ(conflict["reason"], "JWT");
  stage_.expect(75, "native", {"run", "**/*.py", "--", "true"});
  // Broken natively, the agent is told at its next call.
  stage_.expect(0, "native", {"break", "src/a.py", "--reason", "urgent"});
  const Json told = called(66, "ann", "s1", {"release", "src/a.py"}).json();
  ASSERT_EQ(told["lost"].size(), 1U) << told;
  EXPECT_EQ(told["lost"][0]["cause"], "broken");
}

TEST_F(CoordinatorRace, OtherToolsLocksStandInTheWayAndOursAreShownToThem) {
  stage_.expect(0, "ann", {"layout", "add", "mkdir", "spec"});
  const std::string files = stage_.repo() + "/spec/.locks/files/";
  std::filesystem::create_directories(files + "src__a.py");
  write_text(files + "src__a.py/owner", "task: T-1\nagent: scripted\n");
  const Json refused = called(75, "ann", "", {"acquire", "src/a.py"}).json();
  EXPECT_EQ(refused["reason"], "locked_by_other");
  EXPECT_EQ(refused["locked_by"], "scripted") << refused;
  EXPECT_EQ(refused["agent_type"], "unknown");
  EXPECT_THAT(refused["foreign_path"], HasSubstr("spec/.locks/files/src__a.py"));
  const Json looked = called(75, "ann", "", {"check", "src/a.py"}).json();
  ASSERT_EQ(looked["count"], 1) << looked;
  EXPECT_EQ(looked["items"][0]["locked_by"], "scripted");
  EXPECT_TRUE(looked["items"][0]["fence"].is_null());
  called(0, "ann", "", {"acquire", "src/b.py"});
  EXPECT_TRUE(exists(files + "src__b.py/owner"));
  called(0, "ann", "", {"release", "src/b.py"});
  EXPECT_FALSE(exists(files + "src__b.py"));
  EXPECT_EQ(called(66, "ann", "", {"release", "src/b.py"}).status, 66);
}

TEST_F(CoordinatorRace, NobodyAdoptsPastThePolicy) {
  stage_.expect(0, "ann", {"layout", "add", "mkdir", "spec"});
  const std::string lock = stage_.repo() + "/spec/.locks/files/src__a.py";
  std::filesystem::create_directories(lock);
  write_text(lock + "/owner", "agent: scripted\n");
  stage_.file("lockkeeper.toml", "[[policy]]\nagents = [\"ann\"]\ndeny = [\"src/\"]\n");
  const Json refused = stage_.expect(77, "ann", {"adopt", "src/a.py"}).json();
  EXPECT_EQ(refused["error"]["code"], "operation_not_permitted");
  EXPECT_TRUE(exists(lock + "/owner"));
  stage_.expect(0, "bob", {"adopt", "src/a.py"});
}

TEST_F(CoordinatorRace, WithoutNamesATerminalIsItsOwnSession) {
  Launch first = stage_.launch("", words({"acquire", "a"}));
  first.terminal = true;
  EXPECT_EQ(stage_.finish(std::move(first)).status, 0);
  Launch second = stage_.launch("", words({"acquire", "a"}));
  second.own_session = true;
  const Answer refused = stage_.finish(std::move(second));
  EXPECT_EQ(refused.status, 75) << refused.all();
  EXPECT_EQ(refused.json()["locked_by"], "tester");
}

TEST_F(CoordinatorRace, OurNamesComeBeforeTheOriginalsAndFlagsBeforeBoth) {
  Launch launch = call("their-agent", "their-session", {"acquire", "a"});
  launch.env["LOCKKEEPER_AGENT"] = "ours";
  EXPECT_EQ(stage_.finish(std::move(launch)).status, 0);
  EXPECT_EQ(stage_.list()["leases"][0]["agent"], "ours");
  EXPECT_EQ(stage_.list()["leases"][0]["session"], "their-session");
  called(0, "their-agent", "x", {"acquire", "b", "--agent-id", "flag", "--session-id", "y"});
  const Json list = stage_.list();
  EXPECT_THAT(list.dump(), HasSubstr("\"agent\":\"flag\""));
  EXPECT_THAT(list.dump(), HasSubstr("\"session\":\"y\""));
}

TEST_F(CoordinatorRace, I10_AStoreThatCannotBeReadIsNotUnlocked) {
  called(0, "ann", "", {"acquire", "a"});
  write_text(stage_.store() + "/data.mdb", "damaged");
  for (const Words& more :
       {Words{"check"}, Words{"check", "a"}, Words{"acquire", "a"}, Words{"release", "a"}}) {
    const Answer answer = called(69, "bob", "", more);
    EXPECT_TRUE(answer.json().contains("error")) << answer.out;
    EXPECT_FALSE(answer.json().contains("items")) << answer.out;
  }
}

}  // namespace
}  // namespace lockkeeper::stage
