// Waits that outlive their call: what is kept, what is given back, and when.
#include "mcp/locks/waiting_room.h"

#include <filesystem>
#include <iterator>

#include "mcp/locks/test_server.h"

namespace lockkeeper::mcp::locks {
namespace {

const Json kAmy{{"resources", {"a"}}, {"agent", "amy"}};

Json waiting(int seconds, Json arguments = kAmy) {
  arguments["wait_s"] = seconds;
  return arguments;
}

class WaitingRoomTest : public LockServerTest {
 protected:
  void SetUp() override { ASSERT_EQ(tools->outcome_for("bob", "a"), "granted"); }
  void bob_releases() { tools->told("lock_release", {{"agent", "bob"}}); }
  std::string holder() {
    const auto reply = tools->server.reader().list({});
    return reply && !reply->leases.empty() ? reply->leases.front().lease.owner.agent : "";
  }
  // The table hands it to amy, then her seat confirms that, then it can be asked for.
  bool amy_is_granted() {
    bob_releases();
    return soon([&] {
      const auto reply = tools->server.reader().list({});
      return reply && !reply->leases.empty() && reply->leases[0].lease.owner.agent == "amy" &&
             reply->leases[0].lease.confirm_by_mono_ms == 0;
    });
  }
  // Each seat has a thread. When it is gone, so is whatever could have given its grant back.
  static std::size_t threads() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return static_cast<std::size_t>(std::distance(tasks, std::filesystem::directory_iterator{}));
  }
  Json decided(const Json& arguments) {
    Json told;
    EXPECT_TRUE(soon([&] {
      told = tools->told("lock_acquire", arguments);
      return told["outcome"] != "queued";
    }));
    return told;
  }
  // Amy's call is answered "queued", and her seat waits on.
  void queue() {
    auto call = begin(waiting(1));
    ASSERT_TRUE(soon([&] { return tools->waiters() == 1; }));
    const Json told = call.join();
    ASSERT_EQ(told["outcome"], "queued") << told;
    ASSERT_EQ(tools->waiters(), 1U);
  }
};

TEST_F(WaitingRoomTest, IsGrantedWhenTheHolderLeaves) {
  auto call = begin(waiting(45));
  ASSERT_TRUE(soon([&] { return tools->waiters() == 1; }));
  bob_releases();
  EXPECT_EQ(call.join()["outcome"], "granted");
  EXPECT_EQ(holder(), "amy");
}

TEST_F(WaitingRoomTest, AfterItsTimeItIsQueuedAndKeepsItsPlace) {
  auto call = begin(waiting(45));
  ASSERT_TRUE(soon([&] { return tools->waiters() == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  advance(45'000);
  const Json told = call.join();
  EXPECT_EQ(told["outcome"], "queued");
  EXPECT_EQ(told["position"], 1);
  EXPECT_EQ(told["conflicts"][0]["agent"], "bob");
  const std::string message = told["message"];
  for (const char* const part :
       {"Queued at position 1: bob holds a (", "kept for 90 s",
        "Next: call lock_acquire again with the same resources and wait_s: 45"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
  }
  ASSERT_EQ(tools->waiters(), 1U);
  tools->outcome_for("carl", "a");  // comes later, and does not wait
  bob_releases();
  ASSERT_TRUE(soon([&] { return holder() == "amy"; }));
  const Json again =
      tools->told("lock_acquire", waiting(45, {{"resources", {"./a"}}, {"agent", "amy"}}));
  EXPECT_EQ(again["outcome"], "granted");
  EXPECT_EQ(tools->told("lock_release", {{"agent", "amy"}})["released"], Json({"a"}));
}

TEST_F(WaitingRoomTest, AskingAgainWithoutWaitingFindsTheGrantToo) {
  const std::size_t before = threads();
  queue();
  EXPECT_EQ(tools->told("lock_acquire", kAmy)["outcome"], "queued") << "it is in the queue";
  ASSERT_TRUE(amy_is_granted());
  EXPECT_EQ(decided(kAmy)["outcome"], "granted");
  advance(kKeepPlaceMs + 60'000);
  ASSERT_TRUE(soon([&] { return threads() == before; }));
  EXPECT_EQ(holder(), "amy") << "what its owner knows of is not given back";
}

TEST_F(WaitingRoomTest, WhatNobodyAsksForIsGivenBack) {
  queue();
  ASSERT_TRUE(amy_is_granted());
  advance(kKeepPlaceMs + 2'000);
  EXPECT_TRUE(soon([&] { return holder().empty(); }));
}

TEST_F(WaitingRoomTest, APlaceThatNobodyAsksForIsLeft) {
  queue();
  advance(kKeepPlaceMs + 2'000);
  EXPECT_TRUE(soon([&] { return tools->waiters() == 0; }));
}

TEST_F(WaitingRoomTest, WhatItsOwnerWasToldOfIsItsOwn) {
  for (const char* const tool : {"lock_status", "lock_renew"}) {
    SCOPED_TRACE(tool);
    tools->outcome_for("bob", "a");
    const std::size_t before = threads();
    queue();
    ASSERT_TRUE(amy_is_granted());
    const Json told = tools->told(tool, {{"agent", "amy"}});
    EXPECT_NE(told["message"].get<std::string>().find("a"), std::string::npos);
    advance(kKeepPlaceMs + 2'000);
    ASSERT_TRUE(soon([&] { return threads() == before; }));
    EXPECT_EQ(holder(), "amy");
    tools->told("lock_release", {{"agent", "amy"}});
  }
}

TEST_F(WaitingRoomTest, M11_EveryToolTellsOfAGrantInTheBackground) {
  const std::pair<const char*, Json> calls[] = {
      {"lock_acquire", {{"resources", {"other"}}, {"agent", "amy"}}},
      {"lock_release", {{"resources", {"other"}}, {"agent", "amy"}}},
      {"lock_status", {{"resources", {"other"}}, {"agent", "amy"}}},
      {"lock_renew", {{"agent", "amy"}}},
      {"lock_message", {{"agent", "amy"}}},
  };
  for (const auto& [tool, arguments] : calls) {
    SCOPED_TRACE(tool);
    tools->outcome_for("bob", "a");
    queue();
    ASSERT_TRUE(amy_is_granted());
    Json told;
    ASSERT_TRUE(soon([&] {  // the grant is known to the table before it is to the server
      told = tools->told(tool, arguments);
      return told.contains("granted") || told.contains("renewed");
    }));
    const std::string message = told["message"];
    const char* const meanwhile = "Locked meanwhile, as you had queued for it: a, ";
    EXPECT_TRUE(message.find(meanwhile) != std::string::npos ||
                message.find("Renewed a, ") != std::string::npos)
        << message;
    advance(kKeepPlaceMs + 2'000);
    EXPECT_EQ(holder(), "amy") << "its owner knows of it";
    tools->told("lock_release", {{"agent", "amy"}});
  }
}

TEST_F(WaitingRoomTest, CancellingLeavesTheQueue) {
  auto call = begin(waiting(45));
  ASSERT_TRUE(soon([&] { return tools->waiters() == 1; }));
  call.call->cancel();
  call.join();
  EXPECT_TRUE(soon([&] { return tools->waiters() == 0; }));
  bob_releases();
  EXPECT_EQ(tools->outcome_for("carl", "a"), "granted");
}

TEST_F(WaitingRoomTest, OneOfTwoCallsThatIsCancelledLeavesThePlaceToTheOther) {
  auto first = begin(waiting(45));
  ASSERT_TRUE(soon([&] { return tools->waiters() == 1; }));
  auto second = begin(waiting(45));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  first.call->cancel();
  first.join();
  EXPECT_EQ(tools->waiters(), 1U);
  bob_releases();
  EXPECT_EQ(second.join()["outcome"], "granted");
}

// A grant and a cancellation meet at every moment: afterwards either the caller has heard of the
// grant or nobody holds it.
TEST_F(WaitingRoomTest, AGrantThatMeetsACancellationIsNotLeftBehind) {
  for (int round = 0; round < 40; ++round) {
    tools->outcome_for("bob", "a");
    auto call = begin(waiting(45));
    ASSERT_TRUE(soon([&] { return tools->waiters() == 1; }));
    std::thread releases([&] { bob_releases(); });
    std::this_thread::sleep_for(std::chrono::microseconds(round * 40));
    call.call->cancel();
    releases.join();
    if (call.join()["outcome"] == "granted") {
      EXPECT_EQ(holder(), "amy");
      tools->told("lock_release", {{"agent", "amy"}});
    }
    EXPECT_TRUE(soon([&] { return holder().empty(); })) << round;
    // The same request is not caught by the one that is on its way out.
    EXPECT_EQ(tools->outcome(waiting(45)), "granted") << round;
    tools->told("lock_release", {{"agent", "amy"}});
  }
}

TEST_F(WaitingRoomTest, ReleasingAllLeavesTheQueue) {
  queue();
  const Json told = tools->told("lock_release", {{"agent", "amy"}});
  EXPECT_EQ(told["left_queue"], Json({"a"}));
  EXPECT_EQ(tools->waiters(), 0U);
  bob_releases();
  EXPECT_EQ(holder(), "");
}

TEST_F(WaitingRoomTest, ReleasingWhatWasGrantedMeanwhileIsAReleaseAndNoMore) {
  queue();
  ASSERT_TRUE(amy_is_granted());
  const Json told = tools->told("lock_release", {{"agent", "amy"}});
  EXPECT_EQ(told["released"], Json({"a"})) << told;
  EXPECT_FALSE(told.contains("left_queue")) << told;
  EXPECT_EQ(told["message"].get<std::string>().find("Left the queue"), std::string::npos) << told;
  EXPECT_EQ(holder(), "");
}

TEST_F(WaitingRoomTest, ReleasingTheResourceLeavesTheQueue) {
  queue();
  tools->told("lock_release", {{"agent", "amy"}, {"resources", {"b"}}});
  EXPECT_EQ(tools->waiters(), 1U) << "another resource";
  const Json told = tools->told("lock_release", {{"agent", "amy"}, {"resources", {"./a"}}});
  EXPECT_EQ(told["left_queue"], Json({"a"}));
  EXPECT_EQ(told["not_held"].size(), 0);
  EXPECT_EQ(tools->waiters(), 0U);
}

TEST_F(WaitingRoomTest, ACallThatWaitsIsToldThatTheQueueWasLeft) {
  auto call = begin(waiting(45));
  ASSERT_TRUE(soon([&] { return tools->waiters() == 1; }));
  tools->told("lock_release", {{"agent", "amy"}});
  const Json told = call.join();
  EXPECT_EQ(told["outcome"], "interrupted");
  EXPECT_NE(told["message"].get<std::string>().find("Left the queue"), std::string::npos);
}

TEST_F(WaitingRoomTest, AGrantThatIsOverBeforeItIsAskedForIsAskedForAnew) {
  auto call = begin(waiting(1, {{"resources", {"a"}}, {"agent", "amy"}, {"ttl", "5s"}}));
  ASSERT_EQ(call.join()["outcome"], "queued");
  ASSERT_TRUE(amy_is_granted());
  advance(30'000);
  ASSERT_EQ(tools->outcome_for("carl", "a"), "granted");
  EXPECT_EQ(decided(kAmy)["outcome"], "held") << "not what was granted once";
}

TEST_F(WaitingRoomTest, AGrantIsAsLongAsTheLastCallAsked) {
  auto call = begin(waiting(1, {{"resources", {"a"}}, {"agent", "amy"}, {"ttl", "5m"}}));
  ASSERT_EQ(call.join()["outcome"], "queued");
  ASSERT_TRUE(amy_is_granted());
  const Json told = decided({{"resources", {"a"}}, {"agent", "amy"}, {"ttl", "2h"}});
  EXPECT_EQ(told["outcome"], "granted");
  EXPECT_NE(told["message"].get<std::string>().find("ends in 2h"), std::string::npos) << told;
}

TEST_F(WaitingRoomTest, ADeadlockIsANormalAnswerWithTheCycle) {
  ASSERT_EQ(tools->outcome_for("amy", "b"), "granted");
  auto bob = begin(waiting(45, {{"resources", {"b"}}, {"agent", "bob"}}));
  ASSERT_TRUE(soon([&] { return tools->waiters() == 1; }));
  const Json told = tools->told("lock_acquire", waiting(45));
  EXPECT_EQ(told["outcome"], "deadlock");
  EXPECT_EQ(told["cycle"].size(), 2);
  const std::string message = told["message"];
  EXPECT_NE(message.find("Waiting would never end"), std::string::npos) << message;
  EXPECT_NE(message.find("Next: lock_release what you hold"), std::string::npos) << message;
  tools->told("lock_release", {{"agent", "amy"}});
  EXPECT_EQ(bob.join()["outcome"], "granted");
}

TEST_F(WaitingRoomTest, ProgressIsToldOnceASecond) {
  auto call = begin(waiting(45), Json{{"progressToken", "p"}});
  ASSERT_TRUE(soon([&] { return !call.outlet->messages().empty(); }));
  advance(10'000);
  ASSERT_TRUE(soon([&] { return call.outlet->messages().size() >= 2; }));
  bob_releases();
  call.join();
  double last = -1;
  for (const Json& message : call.outlet->messages()) {
    EXPECT_EQ(message["method"], "notifications/progress");
    EXPECT_EQ(message["params"]["progressToken"], "p");
    EXPECT_EQ(message["params"]["total"], 45'000);
    EXPECT_GT(message["params"]["progress"].get<double>(), last);
    last = message["params"]["progress"].get<double>();
  }
}

TEST_F(WaitingRoomTest, TheEndOfTheServerLeavesTheQueue) {
  queue();
  TestServer other(world, {named_caller("bob"), {}, {}, "0"});
  tools.reset();  // waits for nobody
  EXPECT_EQ(other.waiters(), 0U);
}

TEST_F(WaitingRoomTest, AWaitingCallHearsTheLossThatWasFoundFirst) {
  tools->told("lock_acquire", {{"resources", {"c"}}, {"agent", "amy"}, {"ttl", "1m"}});
  advance(2 * 60'000);
  auto call = begin(waiting(1));
  const Json told = call.join();
  ASSERT_EQ(told["outcome"], "queued");
  EXPECT_EQ(told["lost"].size(), 1) << told;
}

}  // namespace
}  // namespace lockkeeper::mcp::locks
