// `run` as a process among processes: exit statuses, signals, streams, the end of its lease.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <sstream>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;
using testing::Not;

class Run : public testing::Test {
 protected:
  int status_of(const std::string& script) {
    return stage_.as("ann", {"run", "-q", "a", "--", "sh", "-c", script}).status;
  }
  std::string file(const char* name) const { return stage_.repo() + "/" + name; }
  bool appears(const char* name) const {
    return eventually([&] { return read_text(file(name)).ends_with("\n"); });
  }
  pid_t number_in(const char* name) const {
    EXPECT_TRUE(appears(name));
    return static_cast<pid_t>(std::atoi(read_text(file(name)).c_str()));
  }
  void expect_free() {
    stage_.expect(0, "tool", {"acquire", "a", "--wait=60s"});
    EXPECT_EQ(stage_.list()["leases"].size(), 1U);
  }

  Stage stage_;
};

TEST_F(Run, ExitStatusIsTheCommands) {
  EXPECT_EQ(status_of("exit 0"), 0);
  EXPECT_EQ(status_of("exit 7"), 7);
  EXPECT_EQ(status_of("exit 75"), 75);
  EXPECT_EQ(status_of("kill -TERM $$"), 128 + SIGTERM);
  EXPECT_EQ(status_of("kill -KILL $$"), 128 + SIGKILL);
  expect_free();
}

TEST_F(Run, WhatCannotBeStartedIs127Or126AndLeavesNothing) {
  stage_.file("no-program");
  EXPECT_EQ(stage_.as("ann", {"run", "a", "--", "./nowhere"}).status, 127);
  EXPECT_EQ(stage_.as("ann", {"run", "a", "--", "./no-program"}).status, 126);
  EXPECT_EQ(stage_.as("ann", {"run", "a", "--", "./"}).status, 126);
  EXPECT_EQ(stage_.as("ann", {"run", "a"}).status, 64);
  expect_free();
}

TEST_F(Run, WhileHeldByAnotherTheCommandIsNotStarted) {
  stage_.expect(0, "bob", {"acquire", "a"});
  EXPECT_EQ(stage_.as("ann", {"run", "a", "--", "touch", "started"}).status, 75);
  EXPECT_EQ(stage_.as("ann", {"run", "a", "--wait=50ms", "--", "touch", "started"}).status, 124);
  EXPECT_FALSE(exists(file("started")));
  Process waiting =
      stage_.start("ann", {"run", "a", "--wait", "--", "sh", "-c", "echo x >started"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  EXPECT_FALSE(exists(file("started")));
  stage_.expect(0, "bob", {"release", "a"});
  EXPECT_EQ(waiting.wait(), 0);
  EXPECT_TRUE(exists(file("started")));
}

TEST_F(Run, StreamsBelongToTheCommand) {
  write_text(stage_.path("input"), "from outside\n");
  Launch launch = stage_.launch("ann", {"run", "a", "--", "sh", "-c", "cat; echo err >&2; exit 3"});
  launch.in = stage_.path("input");
  const Answer answer = stage_.finish(std::move(launch));
  EXPECT_EQ(answer.status, 3);
  EXPECT_EQ(answer.out, "from outside\n");
  EXPECT_EQ(answer.err, "err\n");
}

TEST_F(Run, StatusDescriptorGetsOneObjectPerLine) {
  Launch launch =
      stage_.launch("ann", {"run", "--status-fd", "7", "a", "--", "sh", "-c", "exit 5"});
  launch.files = {{7, stage_.path("status")}};
  EXPECT_EQ(stage_.finish(std::move(launch)).status, 5);
  Answer report;
  report.out = read_text(stage_.path("status"));
  const std::vector<Json> lines = report.lines();
  ASSERT_EQ(lines.size(), 3U) << report.out;
  EXPECT_EQ(lines[0]["outcome"], "granted");
  EXPECT_TRUE(lines[0]["lease"]["attached"].get<bool>());
  EXPECT_GT(lines[1]["started"]["pid"].get<int>(), 0);
  EXPECT_EQ(lines[2]["ended"]["exit_status"], 5);

  stage_.expect(0, "bob", {"acquire", "b"});
  Launch refused = stage_.launch("ann", {"run", "--status-fd", "7", "b", "--", "true"});
  refused.files = {{7, stage_.path("refused")}};
  EXPECT_EQ(stage_.finish(std::move(refused)).status, 75);
  report.out = read_text(stage_.path("refused"));
  EXPECT_EQ(report.json()["outcome"], "held");
  EXPECT_EQ(stage_.as("ann", {"run", "--status-fd", "77", "a", "--", "true"}).status, 65);
}

// Else who reads the report would wait for the command's last child instead of for `run`.
TEST_F(Run, StatusDescriptorIsNotTheCommands) {
  Launch launch = stage_.launch("ann", {"run", "--status-fd", "7", "a", "--", "sh", "-c",
                                        "[ ! -e /proc/$$/fd/7 ] && [ -e /proc/$$/fd/8 ]"});
  launch.files = {{7, stage_.path("status")}, {8, stage_.path("other")}};
  EXPECT_EQ(stage_.finish(std::move(launch)).status, 0);
  // A standard stream is the command's in any case.
  Launch shared = stage_.launch(
      "ann", {"run", "--status-fd", "2", "a", "--", "sh", "-c", "echo from the command >&2"});
  const Answer answer = stage_.finish(std::move(shared));
  EXPECT_THAT(answer.err, HasSubstr("from the command"));
  EXPECT_THAT(answer.err, HasSubstr("exit_status"));
}

TEST_F(Run, SignalsReachTheCommand) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) {
    SCOPED_TRACE(number);
    const std::string script =
        "trap 'exit 42' TERM INT HUP USR1; echo $$ >ready; "
        "while :; do sleep 0.02; done";
    Process run = stage_.start("ann", {"run", "a", "--", "sh", "-c", script});
    ASSERT_TRUE(appears("ready")) << run.err();
    run.signal(number);
    EXPECT_EQ(run.wait(), 42);
    std::remove(file("ready").c_str());
  }
  expect_free();
}

TEST_F(Run, ControlCAtATerminalIsNotDoubled) {
  const std::string script =
      "trap 'echo int >>ints' INT; echo $$ >ready; "
      "while [ ! -e stop ]; do sleep 0.02; done; exit 9";
  Launch launch = stage_.launch("ann", {"run", "a", "--", "sh", "-c", script});
  launch.terminal = true;
  Process run(std::move(launch));
  ASSERT_TRUE(appears("ready"));
  run.type("\x03");
  ASSERT_TRUE(appears("ints"));
  pause_ms(300);  // for a second one that must not come
  write_text(file("stop"), "");
  EXPECT_EQ(run.wait(), 9);
  EXPECT_EQ(read_text(file("ints")), "int\n");
}

TEST_F(Run, IgnoredChildSignalDoesNotHangIt) {
  Launch launch = stage_.launch("ann", {"run", "a", "--", "sh", "-c", "exit 6"});
  launch.ignored = {SIGCHLD};
  Process run(std::move(launch));
  EXPECT_EQ(run.wait(20'000), 6);
  expect_free();
}

TEST_F(Run, Rule7_KilledWithNineItsCommandKeepsTheLeaseUntilItToIsGone) {
  const std::string script =
      "trap '' TERM; echo $$ >ready; while [ ! -e stop ]; do sleep 0.02; done";
  Process run = stage_.start("ann", {"run", "a", "--", "sh", "-c", script});
  ASSERT_TRUE(appears("ready"));
  run.signal(SIGKILL);
  EXPECT_EQ(run.wait(), 137);
  const Answer held = stage_.expect(75, "bob", {"acquire", "a"});
  EXPECT_EQ(held.json()["conflicts"][0]["alive"], true);
  Process waiter = stage_.start("bob", {"acquire", "a", "--wait"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  EXPECT_TRUE(waiter.running());
  write_text(file("stop"), "");
  EXPECT_EQ(waiter.wait(), 0);
}

TEST_F(Run, L1_KilledWithItsCommandItIsFreeAtOnce) {
  Process run = stage_.start("ann", {"run", "a", "--", "sh", "-c", "echo $$ >ready; sleep 600"});
  ASSERT_TRUE(appears("ready"));
  run.signal_group(SIGKILL);
  EXPECT_EQ(run.wait(), 137);
  expect_free();
}

TEST_F(Run, TheLeaseIsRenewedForAsLongAsTheCommandRuns) {
  Process run = stage_.start(
      "ann", {"run", "--ttl", "600ms", "a", "--", "sh", "-c", "echo $$ >ready; sleep 2.5; exit 4"});
  ASSERT_TRUE(appears("ready"));
  EXPECT_EQ(run.wait(), 4) << run.err();
}

TEST_F(Run, I7_ABrokenLeaseEndsTheCommand) {
  const std::string script =
      "trap 'echo told >told; exit 0' TERM; echo $$ >ready; "
      "while :; do sleep 0.02; done";
  Process run = stage_.start("ann", {"run", "a", "--", "sh", "-c", script});
  ASSERT_TRUE(appears("ready"));
  stage_.expect(0, "boss", {"break", "a", "--reason", "urgent"});
  EXPECT_EQ(run.wait(), 79) << run.err();
  EXPECT_EQ(read_text(file("told")), "told\n");
}

TEST_F(Run, I7_ACommandThatDoesNotListenIsKilled) {
  Process run = stage_.start(
      "ann", {"run", "a", "--", "sh", "-c", "trap '' TERM; echo $$ >ready; exec sleep 600"});
  const pid_t command = number_in("ready");
  stage_.expect(0, "boss", {"break", "a", "--reason", "urgent"});
  EXPECT_EQ(run.wait(), 79) << run.err();
  EXPECT_EQ(state_of(command), '\0');
}

TEST_F(Run, KeepGoingLetsTheCommandFinish) {
  Launch launch =
      stage_.launch("ann", {"run", "--keep-going", "--status-fd", "7", "a", "--", "sh", "-c",
                            "echo $$ >ready; while [ ! -e stop ]; do sleep 0.02; "
                            "done; exit 8"});
  launch.files = {{7, stage_.path("status")}};
  Process run(std::move(launch));
  ASSERT_TRUE(appears("ready"));
  stage_.expect(0, "boss", {"break", "a", "--reason", "urgent"});
  const auto lost = [&] {
    return read_text(stage_.path("status")).find("\"lost\"") != std::string::npos;
  };
  EXPECT_TRUE(eventually(lost));
  EXPECT_TRUE(run.running());
  write_text(file("stop"), "");
  EXPECT_EQ(run.wait(), 8);
}

TEST_F(Run, ACommandThatEndsAfterALossStillSays79) {
  Process run = stage_.start(
      "ann", {"run", "a", "--", "sh", "-c", "echo $$ >ready; while [ ! -e stop ]; do :; done"});
  ASSERT_TRUE(appears("ready"));
  stage_.expect(0, "boss", {"break", "a", "--reason", "urgent"});
  write_text(file("stop"), "");  // perhaps before run has noticed: the loss shows at the release
  EXPECT_EQ(run.wait(), 79) << run.err();
}

// As soon as it stands in the queue, and many times: there must be no moment without a handler.
TEST_F(Run, ControlCWhileWaitingLeavesTheQueue) {
  stage_.expect(0, "bob", {"acquire", "a"});
  const int times = through_hub() ? 5 : 40;  // it hears of the signal once a second
  for (int i = 0; i < times; ++i) {
    SCOPED_TRACE(i);
    Process waiting = stage_.start("ann", {"run", "a", "--wait", "--", "touch", "started"});
    ASSERT_TRUE(stage_.queue_grows_to(1));
    waiting.signal(SIGINT);
    EXPECT_EQ(waiting.wait(), 130);
    ASSERT_EQ(stage_.waiters(), 0U);
  }
  EXPECT_FALSE(exists(file("started")));
}

// The grant was handed over while it stood still; with the next breath it hears Ctrl-C.
TEST_F(Run, I11_AGrantThatComesWithControlCIsGivenBackOnRecord) {
  for (int i = 0; i < 10; ++i) {
    SCOPED_TRACE(i);
    stage_.expect(0, "bob", {"acquire", "a"});
    Process waiting = stage_.start("ann", {"run", "a", "--wait", "--", "touch", "started"});
    ASSERT_TRUE(stage_.queue_grows_to(1));
    ASSERT_TRUE(stage_.stop_outside(waiting));
    stage_.expect(0, "bob", {"release", "a"});
    EXPECT_EQ(stage_.list()["leases"][0]["agent"], "ann");
    waiting.signal(SIGINT);
    waiting.signal(SIGCONT);
    EXPECT_EQ(waiting.wait(), 130);
    const Json last = stage_.expect(0, "", {"log"}).lines().back();
    EXPECT_EQ(last["event"], "released") << last.dump();
    EXPECT_EQ(last["agent"], "ann") << last.dump();
    EXPECT_EQ(stage_.list()["leases"].size(), 0U);
  }
  EXPECT_FALSE(exists(file("started")));
}

}  // namespace
}  // namespace lockkeeper::stage
