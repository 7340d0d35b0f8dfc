// `acquire --wait`: the queue, its order, and everything that can end a wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <sstream>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

class Wait : public testing::Test {
 protected:
  // Waits for `a` and writes its name into a file of all, once it has it.
  Process waiter(const std::string& agent, const Words& more = {}) {
    Words words{"acquire", "--json", "a", "--wait"};
    words.insert(words.end(), more.begin(), more.end());
    return stage_.start(agent, words);
  }

  Stage stage_;
};

TEST_F(Wait, TimeoutIs124AndLeavesTheQueue) {
  stage_.expect(0, "ann", {"acquire", "a"});
  const Answer answer = stage_.expect(124, "bob", {"acquire", "a", "--wait=100ms"});
  EXPECT_EQ(answer.json()["outcome"], "timeout");
  EXPECT_EQ(answer.json()["error"]["code"], "timeout");
  EXPECT_EQ(answer.json()["conflicts"][0]["agent"], "ann");
  EXPECT_EQ(stage_.waiters(), 0U);
  stage_.expect(124, "bob", {"acquire", "a", "--wait=0"});
}

TEST_F(Wait, ASignalEndsItAndLeavesTheQueue) {
  stage_.expect(0, "ann", {"acquire", "a"});
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    SCOPED_TRACE(number);
    Process bob = waiter("bob");
    ASSERT_TRUE(stage_.queue_grows_to(1));
    bob.signal(number);
    EXPECT_EQ(bob.wait(), 128 + number);
    const Json list = stage_.list();
    EXPECT_EQ(list["waiters"].size(), 0U) << list.dump(1);
    EXPECT_EQ(list["leases"].size(), 1U) << list.dump(1);
  }
}

TEST_F(Wait, L4_ThreeWaitersAreServedInTheOrderOfTheQueue) {
  stage_.expect(0, "ann", {"acquire", "a"});
  std::vector<Process> waiters;
  for (std::size_t i = 0; i < 3; ++i) {
    waiters.push_back(waiter("w" + std::to_string(i)));
    ASSERT_TRUE(stage_.queue_grows_to(i + 1));
  }
  stage_.expect(75, "late", {"acquire", "a"});
  stage_.expect(0, "ann", {"release", "a"});
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(waiters[i].wait(), 0);
    Answer answer;
    answer.out = waiters[i].out();
    EXPECT_GT(answer.fence(), before);
    before = answer.fence();
    for (std::size_t later = i + 1; later < 3; ++later) EXPECT_TRUE(waiters[later].running());
    stage_.expect(75, "late", {"acquire", "a"});
    stage_.expect(0, "w" + std::to_string(i), {"release", "a"});
  }
  stage_.expect(0, "late", {"acquire", "a"});
}

TEST_F(Wait, L4_NobodyOvertakesAnEarlierWaiter) {
  stage_.expect(0, "ann", {"acquire", "a", "--mode", "shared"});
  Process writer = waiter("bob");
  ASSERT_TRUE(stage_.queue_grows_to(1));
  const Answer reader = stage_.expect(75, "cat", {"acquire", "a", "--mode", "shared"});
  EXPECT_EQ(reader.json()["conflicts"][0]["kind"], "waiter") << reader.out;
  stage_.expect(0, "ann", {"release", "a"});
  EXPECT_EQ(writer.wait(), 0);
}

TEST_F(Wait, L6_F3_AWaiterKilledInTheQueueDelaysNobody) {
  stage_.expect(0, "ann", {"acquire", "a"});
  Process first = waiter("bob");
  ASSERT_TRUE(stage_.queue_grows_to(1));
  Process second = waiter("cat");
  ASSERT_TRUE(stage_.queue_grows_to(2));
  first.signal(SIGKILL);
  EXPECT_EQ(first.wait(), 137);
  stage_.expect(0, "ann", {"release", "a"});
  EXPECT_EQ(second.wait(), 0);
  const Json list = stage_.list();
  EXPECT_EQ(list["leases"].size(), 1U) << list.dump(1);
  EXPECT_EQ(list["leases"][0]["agent"], "cat");
  EXPECT_EQ(list["waiters"].size(), 0U);
}

TEST_F(Wait, L1_AnAttachedHolderKilledHandsOver) {
  Process holder(stage_.command({"sleep", "600"}));
  stage_.expect(0, "ann", {"acquire", "a", "--attach", std::to_string(holder.pid())});
  Process bob = waiter("bob");
  ASSERT_TRUE(stage_.queue_grows_to(1));
  holder.signal(SIGKILL);  // and not waited for: a zombie is dead
  EXPECT_EQ(bob.wait(), 0);
}

TEST_F(Wait, L2_I6_AnExpiredLeaseHandsOverAndNeverEarly) {
  const auto began = std::chrono::steady_clock::now();
  stage_.expect(0, "ann", {"acquire", "a", "--ttl", "1500ms"});
  Process bob = waiter("bob");
  EXPECT_EQ(bob.wait(), 0);
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(1500)) << "I6";
  stage_.expect(79, "ann", {"renew", "a"});
}

TEST_F(Wait, L5_Rule6_ADeadlockIsRefusedWithItsCycle) {
  stage_.expect(0, "ann", {"acquire", "a"});
  stage_.expect(0, "bob", {"acquire", "b"});
  Process bob = waiter("bob");
  ASSERT_TRUE(stage_.queue_grows_to(1));
  const Answer refused = stage_.expect(76, "ann", {"acquire", "b", "--wait"});
  const Json json = refused.json();
  EXPECT_EQ(json["outcome"], "deadlock");
  EXPECT_EQ(json["error"]["code"], "deadlock");
  ASSERT_EQ(json["cycle"].size(), 2U) << refused.out;
  std::set<std::string> agents;
  for (const Json& step : json["cycle"]) {
    agents.insert(step["agent"].get<std::string>());
    EXPECT_FALSE(step["waits_for"].empty());
  }
  EXPECT_EQ(agents, (std::set<std::string>{"ann", "bob"}));
  EXPECT_TRUE(bob.running());
  stage_.expect(0, "ann", {"release", "a"});
  EXPECT_EQ(bob.wait(), 0);
}

TEST_F(Wait, I8_AWaitThatIsAskedAgainUnderItsIdAfterTheGrantGivesTheSameLease) {
  stage_.expect(0, "ann", {"acquire", "a"});
  Process bob = waiter("bob", {"--request-id", "r1"});
  ASSERT_TRUE(stage_.queue_grows_to(1));
  stage_.expect(0, "ann", {"release", "a"});
  EXPECT_EQ(bob.wait(), 0);
  Answer first;
  first.out = bob.out();
  const Answer again = stage_.expect(0, "bob", {"acquire", "a", "--wait", "--request-id", "r1"});
  EXPECT_EQ(again.lease(), first.lease());
  EXPECT_EQ(again.fence(), first.fence());
  stage_.expect(65, "bob", {"acquire", "other", "--request-id", "r1"});
}

TEST_F(Wait, AStoppedWaiterThatWasHandedTheLockIsWithdrawnInTheEnd) {
  STAGE_IS_LOCAL("a hub keeps what it has handed over for a minute");
  stage_.expect(0, "ann", {"acquire", "a"});
  Process bob = waiter("bob");
  ASSERT_TRUE(stage_.queue_grows_to(1));
  Process cat = waiter("cat");
  ASSERT_TRUE(stage_.queue_grows_to(2));
  bob.signal(SIGSTOP);
  stage_.expect(0, "ann", {"release", "a"});
  EXPECT_EQ(cat.wait(), 0);  // rule 5: unconfirmed for 10 s
  bob.signal(SIGCONT);
  EXPECT_EQ(bob.wait(), 79) << bob.err();
}

}  // namespace
}  // namespace lockkeeper::stage
