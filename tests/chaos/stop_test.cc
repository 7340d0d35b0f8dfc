// Processes that are stopped rather than killed. LOCKKEEPER_CHAOS_STOPS scales the last test,
// LOCKKEEPER_CHAOS_LONG makes F5 visit every store call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "support/campaign.h"
#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

constexpr int kKilledStatus = 137;

class Stopped : public testing::Test {
 protected:
  // Started with a plan to stop itself at a store call; returns when it has.
  Process stopped_at(const std::string& plan, const Words& words) {
    Launch launch = stage_.launch("stuck", words);
    launch.env["LOCKKEEPER_TEST_FAULT"] = plan;
    Process process(std::move(launch));
    EXPECT_TRUE(eventually([&] { return state_of(process.pid()) == 'T'; })) << process.err();
    return process;
  }

  void expect_busy(const Words& words, pid_t culprit) {
    const Answer busy = stage_.expect(69, "other", words);
    EXPECT_EQ(busy.json()["error"]["code"], "store_busy") << busy.out;
    EXPECT_THAT(busy.json()["error"].dump(), HasSubstr(std::to_string(culprit)));
  }

  Stage stage_;
};

TEST_F(Stopped, F5_L7_AWriterStoppedInATransactionIsNamedAndItsNeighboursRecover) {
  stage_.expect(0, "first", {"acquire", "a"});
  Process stuck = stopped_at("stop@4", {"acquire", "b", "--json"});
  expect_busy({"acquire", "c"}, stuck.pid());
  expect_busy({"check", "a"}, stuck.pid());
  stuck.signal(SIGCONT);
  EXPECT_EQ(stuck.wait(), 0) << stuck.err();
  stage_.expect(0, "other", {"acquire", "c"});
  stage_.expect(75, "other", {"acquire", "b"});
  stage_.expect(0, "other", {"doctor"});
}

TEST_F(Stopped, F5_L7_AStoppedWriterThatIsKilledLeavesNothing) {
  stage_.expect(0, "first", {"acquire", "a"});
  Process stuck = stopped_at("stop@4", {"acquire", "b", "--json"});
  expect_busy({"acquire", "c"}, stuck.pid());
  stuck.signal(SIGKILL);
  EXPECT_EQ(stuck.wait(), 137);
  stage_.expect(0, "other", {"acquire", "b", "c"});
  stage_.expect(0, "other", {"doctor"});
}

TEST_F(Stopped, F5_L7_AStoppedReaderIsNamedAndOtherReadersGoOn) {
  stage_.expect(0, "first", {"acquire", "a"});
  Process stuck = stopped_at("stop@2", {"check", "b"});
  stage_.expect(0, "other", {"check", "b"});
  expect_busy({"acquire", "c"}, stuck.pid());
  stuck.signal(SIGCONT);
  EXPECT_EQ(stuck.wait(), 0) << stuck.err();
  stage_.expect(0, "other", {"acquire", "c"});
}

// At any of its store calls: while it stands there nobody is told "free" or "held", and when it
// goes on or is killed all is as if it had never stood.
TEST_F(Stopped, F5_L7_I1_AtEveryStoreCall) {
  const int stride = number_from("LOCKKEEPER_CHAOS_LONG", 0) == 0 ? 9 : 1;
  stage_.expect(0, "first", {"acquire", "a"});
  int calls = 0;
  for (int call = 2;; call += stride) {
    SCOPED_TRACE("stopped at store call " + std::to_string(call));
    Launch launch = stage_.launch("stuck", {"acquire", "b", "c/", "--json"});
    launch.env["LOCKKEEPER_TEST_FAULT"] = "stop@" + std::to_string(call);
    Process stuck(std::move(launch));
    ASSERT_TRUE(eventually([&] { return !stuck.running() || state_of(stuck.pid()) == 'T'; }));
    if (!stuck.running()) break;
    expect_busy({"acquire", "b"}, stuck.pid());
    if (++calls % 2 == 0) {
      stuck.signal(SIGCONT);
      EXPECT_EQ(stuck.wait(), 0) << stuck.err();
      stage_.expect(75, "other", {"acquire", "b"});
      stage_.expect(0, "stuck", {"release", "--all"});
    } else {
      stuck.signal(SIGKILL);
      EXPECT_EQ(stuck.wait(), kKilledStatus);
      stage_.expect(0, "other", {"acquire", "b"});
      stage_.expect(0, "other", {"release", "b"});
    }
    stage_.expect(75, "other", {"acquire", "a"});
  }
  EXPECT_GE(calls, 2) << "it never stood inside";
  stage_.expect(0, "other", {"doctor"});
}

// Ctrl-Z comes at each of its store calls; it takes effect where nobody is kept out.
TEST_F(Stopped, F6_L7_ControlZIsDeliveredOutsideTheTransaction) {
  for (const char* verb : {"acquire", "check"}) {
    int stops = 0;
    for (int call = 1;; ++call) {
      SCOPED_TRACE(std::string(verb) + ", Ctrl-Z at store call " + std::to_string(call));
      Launch launch = stage_.launch("stuck", {verb, "b", "c/", "--json"});
      launch.env["LOCKKEEPER_TEST_FAULT"] = "tstp@" + std::to_string(call);
      Process stuck(std::move(launch));
      ASSERT_TRUE(eventually([&] { return !stuck.running() || state_of(stuck.pid()) == 'T'; }));
      const bool stopped = stuck.running();
      if (stopped) {
        ++stops;
        stage_.expect(0, "other", {"acquire", "d"});
        stage_.expect(0, "other", {"release", "d"});
        stuck.signal(SIGCONT);
      }
      EXPECT_EQ(stuck.wait(), 0) << stuck.err();
      stage_.as("stuck", {"release", "--all"});
      if (!stopped) break;
    }
    EXPECT_GE(stops, 5) << "the plan had no effect";
  }
}

// Stops a holder wherever it stands, but not inside the store: there it stops everybody else (F5).
void stop_outside_the_store(Stage& stage, const std::function<void(int signal)>& send) {
  ASSERT_TRUE(eventually([&] {
    send(SIGSTOP);
    const Answer other = stage.json("tool", {"acquire", "probe", "--ttl", "1s"});
    if (other.status == 0) return true;
    EXPECT_EQ(other.json()["error"]["code"], "store_busy") << other.all();
    send(SIGCONT);
    return false;
  }));
}

// The holder stopped with its command, or alone while the command goes on.
class StoppedHolder : public Stopped, public testing::WithParamInterface<bool> {};

TEST_P(StoppedHolder, F4_I3_I4_I7_PastItsLeaseTheSuccessorIsGrantedAndTheResumedOneIsTold) {
  const std::string script =
      "echo $LOCKKEEPER_FENCE >fence; trap 'echo told >told; exit 0' TERM; "
      "while :; do sleep 0.05; done";
  Process run = stage_.start("holder", {"run", "--ttl", "1s", "a", "--", "sh", "-c", script});
  const std::string fence_file = stage_.repo() + "/fence";
  ASSERT_TRUE(eventually([&] { return read_text(fence_file).ends_with("\n"); })) << run.err();
  std::string fence = read_text(fence_file);
  fence.pop_back();
  const std::string lease = stage_.list()["leases"][0]["id"].get<std::string>();
  stage_.expect(0, "tool", {"check", "a", "--fence", fence, "--lease", lease});
  stop_outside_the_store(
      stage_, [&](int signal) { GetParam() ? run.signal_group(signal) : run.signal(signal); });
  const Answer next = stage_.expect(0, "next", {"acquire", "a", "--wait=60s"});
  EXPECT_GT(next.fence(), std::stoull(fence)) << "I3";
  stage_.expect(79, "tool", {"check", "a", "--fence", fence, "--lease", lease});
  run.signal_group(SIGCONT);
  EXPECT_EQ(run.wait(), 79) << run.err();
  EXPECT_EQ(read_text(stage_.repo() + "/told"), "told\n");
  EXPECT_THAT(run.err(), HasSubstr("lost"));
  stage_.expect(0, "next", {"check", "a", "--fence", std::to_string(next.fence())});
}

INSTANTIATE_TEST_SUITE_P(Who, StoppedHolder, testing::Bool(), [](const auto& who) {
  return std::string(who.param ? "WithItsCommand" : "Alone");
});

// Many at once: each holder stops with its command, loses its lease, and wakes up to write. Every
// write asks first whether its fence is current.
class Sleepers : public testing::Test {
 protected:
  struct Sleeper {
    std::string name;
    Process run;
    std::string fence;
  };

  std::string file(const std::string& name) const { return stage_.path(name); }

  Sleeper start(const std::string& name) {
    const std::string script =
        "trap '' TERM; echo $LOCKKEEPER_FENCE >" + file(name + ".fence") + "; while [ ! -e " +
        file(name + ".go") + " ]; do sleep 0.02; done; if '" + Stage::program() + "' check " +
        name + " --fence $LOCKKEEPER_FENCE >/dev/null 2>&1; then echo stale >" +
        file(name + ".stale") + "; fi; echo done >" + file(name + ".done");
    return {name, stage_.start(name, {"run", "--ttl", "700ms", name, "--", "sh", "-c", script}),
            ""};
  }

  void put_to_sleep(Sleeper& sleeper) {
    const std::string fence = file(sleeper.name + ".fence");
    ASSERT_TRUE(eventually([&] { return read_text(fence).ends_with("\n"); })) << sleeper.run.err();
    sleeper.fence = read_text(fence);
    sleeper.fence.pop_back();
    // As one, the command and what it has just started included.
    stop_outside_the_store(stage_, [&](int signal) { sleeper.run.signal_group(signal); });
  }

  void wake(Sleeper& sleeper) {
    SCOPED_TRACE(sleeper.name);
    const Answer next = stage_.expect(0, "next", {"acquire", sleeper.name, "--wait=60s"});
    EXPECT_GT(next.fence(), std::stoull(sleeper.fence)) << "I3";
    write_text(file(sleeper.name + ".go"), "");
    sleeper.run.signal_group(SIGCONT);
    EXPECT_EQ(sleeper.run.wait(), 79) << "I7: " << sleeper.run.err();
    EXPECT_EQ(read_text(file(sleeper.name + ".done")), "done\n");
    EXPECT_FALSE(exists(file(sleeper.name + ".stale"))) << "I4: a stale write was accepted";
    stage_.expect(0, "next", {"check", sleeper.name, "--fence", std::to_string(next.fence())});
    stage_.expect(0, "next", {"release", sleeper.name});
    for (const char* end : {".fence", ".go", ".done"})
      std::remove(file(sleeper.name + end).c_str());
  }

  Stage stage_;
};

TEST_F(Sleepers, F4_I3_I4_I7_NoStaleWriteIsAccepted) {
  constexpr int kAtOnce = 20;
  const int stops = static_cast<int>(number_from("LOCKKEEPER_CHAOS_STOPS", 40));
  for (int done = 0; done < stops && !HasFailure(); done += kAtOnce) {
    std::vector<Sleeper> sleepers;
    for (int i = 0; i < kAtOnce; ++i) sleepers.push_back(start("f" + std::to_string(i)));
    for (Sleeper& sleeper : sleepers) put_to_sleep(sleeper);
    for (Sleeper& sleeper : sleepers) wake(sleeper);
    if (stops > kAtOnce && done % 1000 == 0) {
      std::printf("%d holders stopped past their lease\n", done + kAtOnce);
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace lockkeeper::stage
