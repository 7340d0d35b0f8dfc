// Processes that are stopped rather than killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

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
  stage_.expect(0, "tool", {"check", "a", "--fence", fence});
  if (GetParam()) {
    run.signal_group(SIGSTOP);
  } else {
    run.signal(SIGSTOP);
  }
  const Answer next = stage_.expect(0, "next", {"acquire", "a", "--wait=60s"});
  EXPECT_GT(next.fence(), std::stoull(fence)) << "I3";
  stage_.expect(79, "tool", {"check", "a", "--fence", fence});
  run.signal_group(SIGCONT);
  EXPECT_EQ(run.wait(), 79) << run.err();
  EXPECT_EQ(read_text(stage_.repo() + "/told"), "told\n");
  EXPECT_THAT(run.err(), HasSubstr("lost"));
  stage_.expect(0, "tool", {"check", "a", "--fence", std::to_string(next.fence())});
}

INSTANTIATE_TEST_SUITE_P(Who, StoppedHolder, testing::Bool(), [](const auto& who) {
  return std::string(who.param ? "WithItsCommand" : "Alone");
});

}  // namespace
}  // namespace lockkeeper::stage
