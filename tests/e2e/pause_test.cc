// Feature pause with real processes: the gate, and `run --feature` at both of its gates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

class Paused : public testing::Test {
 protected:
  std::string file(const char* name) const { return stage_.repo() + "/" + name; }
  bool appears(const char* name) const {
    return eventually([&] { return read_text(file(name)).ends_with("\n"); });
  }
  void pause(const std::string& agent = "lead") {
    stage_.expect(0, agent, {"pause", "F-1", "--reason", "contract revision"});
  }
  void resume() { stage_.expect(0, "lead", {"resume", "F-1"}); }
  // A run that says when it has started and ends when told.
  Launch run(const Words& more = {}) {
    Words words{"run", "--feature", "F-1", "--status-fd", "7", "--ttl", "2s"};
    words.insert(words.end(), more.begin(), more.end());
    for (const char* const word : {"a", "--", "sh", "-c"}) words.emplace_back(word);
    words.emplace_back(
        "echo x >started; while [ ! -e stop ]; do sleep 0.02; done; "
        "echo x >done; exit 5");
    Launch launch = stage_.launch("worker", words);
    launch.files = {{7, stage_.path("status")}};
    return launch;
  }
  bool reported(const char* what) const {
    return eventually([&] {
      return read_text(stage_.path("status")).find("\"" + std::string(what) + "\"") !=
             std::string::npos;
    });
  }

  Stage stage_;
};

TEST_F(Paused, ManyWaitAtTheGateAndGoOnTogetherWithoutTakingAnything) {
  pause();
  std::vector<Process> waiting;
  for (int i = 0; i < 8; ++i) {
    waiting.push_back(stage_.start("w" + std::to_string(i), {"gate", "F-1", "--wait"}));
  }
  ASSERT_TRUE(eventually([&] {
    for (const Process& one : waiting) {
      if (one.err().find("waiting for feature:F-1:pause: held by lead") == std::string::npos) {
        return false;
      }
    }
    return true;
  }));
  const Json list = stage_.list();
  EXPECT_EQ(list["leases"].size(), 1U);
  EXPECT_EQ(list["waiters"].size(), 0U) << "the lead may pause again at any time";
  waiting[0].signal(SIGKILL);
  waiting[1].signal(SIGINT);
  EXPECT_EQ(waiting[1].wait(), 130);
  resume();
  for (std::size_t i = 2; i < waiting.size(); ++i) EXPECT_EQ(waiting[i].wait(), 0);
  EXPECT_EQ(stage_.list()["leases"].size(), 0U);
}

TEST_F(Paused, AtATerminalTheWaitIsShownAndCleared) {
  pause();
  Launch launch =
      stage_.command({"script", "-qefc",
                      std::string(Stage::program()) + " gate F-1 --wait --agent w", "/dev/null"});
  launch.env["TERM"] = "xterm";
  Process gate(std::move(launch));
  ASSERT_TRUE(eventually([&] {
    return gate.out().find("\r\x1b[Kwaiting for feature:F-1:pause: held by lead") !=
           std::string::npos;
  })) << gate.out();
  resume();
  EXPECT_EQ(gate.wait(), 0);
  EXPECT_THAT(gate.out(), HasSubstr("\r\x1b[Kopen")) << "the line is gone";
}

TEST_F(Paused, L1_APauseEndsWithTheProcessItIsBoundTo) {
  Process lead = stage_.start("lead", {"run", "feature:F-1:pause", "--", "sleep", "600"});
  ASSERT_TRUE(eventually([&] { return stage_.as("w", {"gate", "F-1", "-q"}).status == 75; }));
  Process worker = stage_.start("w", {"gate", "F-1", "--wait"});
  lead.signal_group(SIGKILL);
  EXPECT_EQ(worker.wait(), 0);
}

TEST_F(Paused, RunDoesNotStartWhilePausedAndTakesNothingMeanwhile) {
  pause();
  Process worker(run());
  ASSERT_TRUE(eventually(
      [&] { return worker.err().find("waiting for feature:F-1:pause") != std::string::npos; }));
  stage_.expect(0, "other", {"acquire", "a", "--ttl", "1s"});
  stage_.expect(0, "other", {"release", "a"});
  EXPECT_FALSE(exists(file("started")));
  resume();
  ASSERT_TRUE(appears("started"));
  write_text(file("stop"), "");
  EXPECT_EQ(worker.wait(), 5) << worker.err();
}

TEST_F(Paused, RunWaitsBeforeItEndsWithItsLeaseKeptRenewed) {
  Process worker(run());
  ASSERT_TRUE(appears("started"));
  pause();
  write_text(file("stop"), "");
  ASSERT_TRUE(appears("done"));
  ASSERT_TRUE(reported("paused"));
  ASSERT_TRUE(stage_.renews("worker"));
  EXPECT_TRUE(worker.running()) << "the exit status is not reported yet";
  const Json held = stage_.expect(75, "other", {"acquire", "a"}).json();
  EXPECT_EQ(held["conflicts"][0]["agent"], "worker");
  EXPECT_THAT(worker.err(), HasSubstr("feature F-1 is paused: held by lead"));
  resume();
  EXPECT_EQ(worker.wait(), 5) << worker.err();
  EXPECT_TRUE(reported("resumed"));
  stage_.expect(0, "other", {"acquire", "a"});
}

TEST_F(Paused, ASignalEndsTheWaitBeforeTheEndAndFreesTheLease) {
  for (const int number : {SIGINT, SIGTERM}) {
    SCOPED_TRACE(number);
    Process worker(run());
    ASSERT_TRUE(appears("started"));
    pause();
    write_text(file("stop"), "");
    ASSERT_TRUE(reported("paused"));
    worker.signal(number);
    EXPECT_EQ(worker.wait(), 128 + number);
    EXPECT_THAT(worker.err(), HasSubstr("the command had ended with status 5"));
    stage_.expect(0, "other", {"acquire", "a"});
    stage_.expect(0, "other", {"release", "a"});
    resume();
    for (const char* const name : {"started", "stop", "done"}) std::remove(file(name).c_str());
    std::remove(stage_.path("status").c_str());
  }
}

TEST_F(Paused, KilledWithNineAtTheGateLeavesNothing) {
  Process worker(run());
  ASSERT_TRUE(appears("started"));
  pause();
  write_text(file("stop"), "");
  ASSERT_TRUE(reported("paused"));
  worker.signal(SIGKILL);
  EXPECT_EQ(worker.wait(), 137);
  stage_.expect(0, "other", {"acquire", "a", "--wait=60s"});
}

TEST_F(Paused, I7_ALeaseThatIsLostAtTheGateIs79) {
  Process worker(run());
  ASSERT_TRUE(appears("started"));
  pause();
  write_text(file("stop"), "");
  ASSERT_TRUE(reported("paused"));
  stage_.expect(0, "boss", {"break", "a", "--reason", "urgent"});
  EXPECT_EQ(worker.wait(), 79) << worker.err();
}

TEST_F(Paused, ThePauserItselfGoesOn) {
  pause("worker");
  stage_.env["LOCKKEEPER_FEATURE"] = "F-1";
  const Answer command = stage_.as("worker", {"run", "a", "--", "true"});
  EXPECT_EQ(command.status, 0) << "what it runs is a part of it: " << command.all();
  stage_.expect(0, "worker", {"resume", "F-1"});
  stage_.env["LOCKKEEPER_SESSION"] = "t";
  pause("worker");
  stage_.env["LOCKKEEPER_SESSION"] = "s";
  const Answer other = stage_.as("worker", {"run", "--wait=0", "a", "--", "true"});
  EXPECT_EQ(other.status, 124) << other.all();
  stage_.env["LOCKKEEPER_SESSION"] = "t";
  stage_.expect(0, "worker", {"resume", "F-1"});
  stage_.env["LOCKKEEPER_SESSION"] = "s";
  pause("worker");
  const Answer same = stage_.as("worker", {"run", "a", "--", "true"});
  EXPECT_EQ(same.status, 0) << same.all();
}

TEST_F(Paused, TheFeatureReachesWhatRunsInside) {
  const Answer inside = stage_.as(
      "worker", {"run", "--feature", "F-1", "a", "--", "sh", "-c", "echo $LOCKKEEPER_FEATURE"});
  EXPECT_EQ(inside.out, "F-1\n");
}

}  // namespace
}  // namespace lockkeeper::stage
