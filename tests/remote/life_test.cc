// Who lives, through a hub: deaths, waits, and kill -9 of relay and hub.
#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "remote/machine.h"

namespace lockkeeper::proof {
namespace {

using stage::Answer;
using stage::Process;
using stage::Words;

class RemoteLife : public Remote {
 protected:
  RemoteLife() {
    EXPECT_EQ(here_.login(url(), alice_).status, 0);
    EXPECT_EQ(there_.login(url(), bob_).status, 0);
  }
  void kill_relay(Machine& machine) {
    const pid_t pid = machine.relay();
    ASSERT_GT(pid, 0);
    ::kill(pid, SIGKILL);
    ASSERT_TRUE(stage::eventually([&] { return machine.relay() == 0; }));
  }
  Process waits(Machine& machine, const std::string& agent, const std::string& resource) {
    const std::size_t before = waiting();
    Process process = machine.start(agent, {"acquire", resource, "--wait=5m", "--json"});
    EXPECT_TRUE(stage::eventually([&] { return waiting() == before + 1; }));
    return process;
  }
};

TEST_F(RemoteLife, ADeathFreesAtOnceAndHandsOver) {
  Process holder = here_.start_holding("x", "a");
  ASSERT_EQ(held(), 1U);
  EXPECT_EQ(table()["leases"][0]["attached"], true);
  Process waiter = waits(there_, "y", "a");
  holder.signal_group(SIGKILL);
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
  EXPECT_EQ(table()["leases"][0]["agent"], "y@bob");
}

TEST_F(RemoteLife, ARunGivesBackWhenItsCommandEnds) {
  const Answer ran = here_.as("x", {"run", "a", "--", "true"});
  EXPECT_EQ(ran.status, 0) << ran.all();
  EXPECT_EQ(held(), 0U);
  EXPECT_EQ(here_.as("x", {"run", "a", "--", "sh", "-c", "exit 7"}).status, 7);
}

// The command does not care about the end of `run`, and has the slot.
TEST_F(RemoteLife, ARunThatIsKilledLeavesTheLeaseToItsCommand) {
  const std::string file = here_.path("pid");
  Process run =
      here_.start("x", {"run", "a", "--", "sh", "-c",
                        "trap '' TERM; echo $$ > '" + file + "'; while :; do sleep 0.1; done"});
  ASSERT_TRUE(stage::eventually([&] { return !stage::read_text(file).empty(); }));
  const pid_t command = std::atoi(stage::read_text(file).c_str());
  run.signal(SIGKILL);
  run.wait();
  EXPECT_EQ(there_.as("y", {"acquire", "a"}).status, 75);
  EXPECT_NE(stage::state_of(command), '\0');
  ::kill(command, SIGKILL);
  EXPECT_TRUE(stage::eventually([&] { return held() == 0; }));
  // Also for those on the hub's machine that do not ask the hub.
  EXPECT_TRUE(stage::eventually([&] { return home_.list()["leases"].empty(); }));
}

TEST_F(RemoteLife, WhoeverWaitsIsGrantedWhenItIsReleased) {
  here_.expect(0, "x", {"acquire", "a"});
  Process waiter = waits(there_, "y", "a");
  here_.expect(0, "x", {"release", "a"});
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
  EXPECT_EQ(Json::parse(waiter.out(), nullptr, false)["outcome"], "granted");
}

TEST_F(RemoteLife, WhoeverIsKilledWhileItWaitsLeavesTheQueueAtOnce) {
  here_.expect(0, "x", {"acquire", "a"});
  Process waiter = waits(there_, "y", "a");
  waiter.signal(SIGKILL);
  EXPECT_TRUE(stage::eventually([&] { return waiting() == 0; }));
  here_.expect(0, "x", {"release", "a"});
  EXPECT_EQ(held(), 0U);
}

TEST_F(RemoteLife, CtrlCLeavesTheQueue) {
  here_.expect(0, "x", {"acquire", "a"});
  Process waiter = waits(there_, "y", "a");
  waiter.signal(SIGINT);
  waiter.wait();
  EXPECT_EQ(waiting(), 0U);
}

// The next relay knows who lives, and says so.
TEST_F(RemoteLife, ARelayThatIsKilledForgetsNobody) {
  Process holder = here_.start_holding("x", "a");
  kill_relay(here_);
  EXPECT_EQ(here_.list()["leases"].size(), 1U);
  ASSERT_GT(here_.relay(), 0);
  Process waiter = waits(there_, "y", "a");
  holder.signal_group(SIGKILL);
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
}

// A process that dies while no relay runs is found dead by the next one.
TEST_F(RemoteLife, ADeathWithoutARelayIsToldByTheNext) {
  Process holder = here_.start_holding("x", "a");
  Process waiter = waits(there_, "y", "a");
  ::kill(holder.pid(), SIGSTOP);  // it would start another relay
  kill_relay(here_);
  holder.signal_group(SIGKILL);
  here_.list();
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
}

// How often its threads have been woken so far.
long wakes_of(pid_t pid) {
  long wakes = 0;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream status(task.path() / "status");
    for (std::string name; status >> name;) {
      long count = 0;
      if (name == "voluntary_ctxt_switches:" && status >> count) wakes += count;
    }
  }
  return wakes;
}

// Nobody talks to it, and nobody lives here whom it would have to watch.
TEST_F(RemoteLife, ARelayThatNobodyNeedsSleeps) {
  here_.list();
  const pid_t relay = here_.relay();
  ASSERT_GT(relay, 0);
  const long before = wakes_of(relay);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const long woken = wakes_of(relay) - before;
  ASSERT_EQ(here_.relay(), relay);
  EXPECT_GT(before, 0);
  EXPECT_LT(woken, 100) << "in a second";
}

// The hub hands over before the relay, which stands still, can say that the process has died.
TEST_F(RemoteLife, L6_F3_AWaiterThatDiesWhileItsRelayStandsStillDelaysNobody) {
  here_.expect(0, "x", {"acquire", "a"});
  Process first = waits(there_, "y", "a");
  Process second = waits(here_, "z", "a");
  const pid_t relay = there_.relay();
  ASSERT_GT(relay, 0);
  ::kill(relay, SIGSTOP);
  ASSERT_TRUE(stage::eventually([&] { return stage::state_of(relay) == 'T'; }));
  first.signal(SIGKILL);
  EXPECT_EQ(first.wait(), 137);
  here_.expect(0, "x", {"release", "a"});
  EXPECT_EQ(waiting(), 1U);
  ::kill(relay, SIGCONT);
  EXPECT_EQ(second.wait(), 0) << second.err();
  const Json all = table();
  ASSERT_EQ(all["leases"].size(), 1U) << all;
  EXPECT_EQ(all["leases"][0]["agent"], "z@alice");
}

TEST_F(RemoteLife, AWaitOutlivesTheHub) {
  here_.expect(0, "x", {"acquire", "a"});
  Process waiter = waits(there_, "y", "a");
  kill_hub();
  restart_hub();
  EXPECT_TRUE(waiter.running());
  EXPECT_EQ(waiting(), 1U);
  here_.expect(0, "x", {"release", "a"});
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
}

TEST_F(RemoteLife, AWaitOutlivesItsRelay) {
  here_.expect(0, "x", {"acquire", "a"});
  Process waiter = waits(there_, "y", "a");
  kill_relay(there_);
  ASSERT_TRUE(stage::eventually([&] { return there_.relay() != 0; }));
  EXPECT_EQ(waiting(), 1U);
  here_.expect(0, "x", {"release", "a"});
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
}

TEST_F(RemoteLife, ALeaseOutlivesTheHub) {
  Process holder = here_.start_holding("x", "a");
  kill_hub();
  restart_hub();
  EXPECT_EQ(held(), 1U);
  EXPECT_TRUE(holder.running());
  Process waiter = waits(there_, "y", "a");
  // Told by the beat: in its first minute the hub judges nobody dead by itself.
  holder.signal_group(SIGKILL);
  EXPECT_EQ(waiter.wait(), 0) << waiter.err();
}

}  // namespace
}  // namespace lockkeeper::proof
