// F22: every sync takes a second or more. Nobody is told `store_busy` while others get through
// (L7), everybody is if one sits on the disk for longer than that, deadlines are kept, and answers
// are honest (I9).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "chaos/faults/fault_stage.h"

namespace lockkeeper::faults {
namespace {

using stage::eventually;
using testing::HasSubstr;

class F22NewStore : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_preload(); !why.empty()) GTEST_SKIP() << why;
  }

  InMemory in_memory_;
  FaultStage stage_;
};

// To make a store takes a dozen syncs, and others wait for it at once.
TEST_F(F22NewStore, F22_L7_OthersWaitForWhoeverMakesIt) {
  Process maker(stage_.faulty({{"SYNC_MS", "400"}}, "ann", {"acquire", "a"}));
  EXPECT_TRUE(eventually([&] { return stage::exists(stage_.store() + "/gate"); }));
  std::vector<Process> others;
  for (const char* name : {"b", "c"}) others.emplace_back(stage_.launch(name, {"acquire", name}));
  for (Process& other : others) EXPECT_EQ(other.wait(), 0) << other.err();
  EXPECT_EQ(maker.wait(), 0) << maker.err();
  EXPECT_EQ(stage_.list()["leases"].size(), 3U);
}

class F22SlowDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_preload(); !why.empty()) GTEST_SKIP() << why;
    stage_.expect(0, "ann", {"acquire", "held"});
  }

  InMemory in_memory_;
  FaultStage stage_;
};

TEST_F(F22SlowDisk, F22_L7_I9_WritersThatGetThroughOneByOneAreAllServed) {
  std::vector<Process> writers;
  for (const char* name : {"a", "b", "c", "d"}) {
    writers.emplace_back(stage_.faulty({{"SYNC_MS", "1000"}}, name, {"acquire", name}));
  }
  for (Process& writer : writers) EXPECT_EQ(writer.wait(), 0) << writer.err();
  EXPECT_EQ(stage_.list()["leases"].size(), 5U);
}

TEST_F(F22SlowDisk, F22_L7_WhoSitsOnTheDiskIsNamed) {
  Process slow(stage_.faulty({{"SYNC_MS", "5000"}}, "slow", {"acquire", "a", "--json"}));
  // Inside by the time that somebody else has to wait, and for longer than bob is patient, also if
  // the machine is so busy that bob comes late.
  Answer busy;
  ASSERT_TRUE(eventually([&] {
    busy = stage_.json("bob", {"acquire", "b"});
    if (busy.status == 0) busy = stage_.json("bob", {"release", "b"});
    return busy.status != 0 || !slow.running();
  }));
  EXPECT_EQ(code_of(busy), "store_busy") << busy.all();
  EXPECT_THAT(busy.out, HasSubstr(std::to_string(slow.pid())));
  EXPECT_EQ(slow.wait(), 0) << slow.err();
  stage_.expect(75, "bob", {"acquire", "a"});
  stage_.expect(0, "bob", {"acquire", "b"});
  stage_.expect(0, "", {"doctor"});
}

TEST_F(F22SlowDisk, F22_L7_AWaiterGivesUpAtItsDeadlineAndLeavesTheQueue) {
  const Answer late =
      stage_.with({{"SYNC_MS", "1000"}}, "bob", {"acquire", "held", "--wait=300ms"});
  EXPECT_EQ(code_of(late), "timeout") << late.all();
  EXPECT_EQ(stage_.list()["waiters"].size(), 0U);
  stage_.expect(0, "ann", {"release", "held"});
  stage_.expect(0, "cat", {"acquire", "held"});
}

// A lease that is shorter than the disk is slow: whoever runs under it is told rather than left in
// the belief that it still holds it, and nobody is granted what it holds meanwhile.
TEST_F(F22SlowDisk, F22_I7_ARunWhoseRenewalsComeTooLateIsTold) {
  Process run(stage_.faulty({{"SYNC_MS", "1500"}}, "bob",
                            {"run", "--ttl", "1s", "job", "--", "sleep", "30"}));
  EXPECT_EQ(run.wait(), 79) << run.err();
  stage_.expect(0, "cat", {"acquire", "job", "--wait=60s"});
}

TEST_F(F22SlowDisk, F22_I5_ARunWhoseLeaseIsLongEnoughKeepsIt) {
  Process run(stage_.faulty({{"SYNC_MS", "300"}}, "bob",
                            {"run", "--ttl", "6s", "job", "--", "sleep", "7"}));
  EXPECT_TRUE(eventually([&] { return stage_.list()["leases"].size() == 2; }));
  EXPECT_EQ(run.wait(), 0) << run.err();
}

}  // namespace
}  // namespace lockkeeper::faults
