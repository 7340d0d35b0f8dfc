// Those who wait, and those who die meanwhile: in the queue, just granted, or holding (F3, L1, L4,
// L6). And answers that never arrive (F7).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::AnyOf;

class Waiters : public testing::Test {
 protected:
  // `count` requests for `a` behind its holder "ann", in this order.
  std::vector<Process> queue(std::size_t count) {
    stage_.expect(0, "ann", {"acquire", "a"});
    std::vector<Process> waiters;
    for (std::size_t i = 0; i < count; ++i) {
      waiters.push_back(stage_.start(name(i), request(i)));
      EXPECT_TRUE(stage_.queue_grows_to(i + 1));
    }
    return waiters;
  }

  static std::string name(std::size_t i) { return "w" + std::to_string(i); }
  Words request(std::size_t i) const {
    return {"acquire", "--json", "a", "--wait", "--request-id", round_ + name(i)};
  }

  // Granted, with a fence above `before`, while all behind it go on waiting; then given back.
  void served(std::vector<Process>& waiters, std::size_t i, std::uint64_t& before) {
    SCOPED_TRACE(name(i));
    EXPECT_EQ(waiters[i].wait(), 0) << waiters[i].err();
    Answer answer;
    answer.out = waiters[i].out();
    EXPECT_GT(answer.fence(), before) << "L4";
    before = answer.fence();
    for (std::size_t later = i + 1; later < waiters.size(); ++later) {
      if (later != dead_) {
        EXPECT_TRUE(waiters[later].running()) << "L4: " << name(later) << " overtook";
      }
    }
    stage_.expect(0, name(i), {"release", "a"});
  }

  Stage stage_;
  std::string round_ = "r";
  std::size_t dead_ = SIZE_MAX;
};

TEST_F(Waiters, F3_L4_L6_WhoeverDiesInTheQueueTheOthersKeepTheirOrder) {
  constexpr std::size_t kQueue = 5;
  for (dead_ = 0; dead_ < kQueue; ++dead_) {
    SCOPED_TRACE("killed: " + name(dead_));
    round_ = "in-queue-" + std::to_string(dead_) + "-";
    std::vector<Process> waiters = queue(kQueue);
    waiters[dead_].signal(SIGKILL);
    EXPECT_EQ(waiters[dead_].wait(), 137);
    stage_.expect(0, "ann", {"release", "a"});
    std::uint64_t fence = 0;
    for (std::size_t i = 0; i < kQueue; ++i) {
      if (i != dead_) served(waiters, i, fence);
    }
    const Json list = stage_.list();
    EXPECT_EQ(list["leases"].size() + list["waiters"].size(), 0U) << list.dump(1);
  }
  stage_.expect(0, "", {"doctor"});
}

// It was handed the lock while it stood still, and is killed before it can say that it has it.
TEST_F(Waiters, F3_I8_L4_L6_AGrantedWaiterKilledBeforeItConfirmsIsPassed) {
  for (int i = 0; i < 8; ++i) {
    SCOPED_TRACE(i);
    round_ = "granted-" + std::to_string(i) + "-";
    std::vector<Process> waiters = queue(3);
    ASSERT_TRUE(stage_.stop_outside(waiters[0]));
    stage_.expect(0, "ann", {"release", "a"});
    const Json handed = stage_.list()["leases"];
    ASSERT_EQ(handed.size(), 1U);
    EXPECT_EQ(handed[0]["agent"], name(0));
    dead_ = 0;
    waiters[0].signal(SIGKILL);
    EXPECT_EQ(waiters[0].wait(), 137);
    std::uint64_t fence = handed[0]["fence"].get<std::uint64_t>();
    served(waiters, 1, fence);
    served(waiters, 2, fence);
    // Its grant is over and its request with it: asking again never gives the lock anew.
    stage_.expect(79, name(0), {"acquire", "a", "--wait", "--request-id", round_ + name(0)});
    std::size_t ends = 0;
    for (const Json& event : stage_.expect(0, "", {"log"}).lines()) {
      if (event["lease"] == handed[0]["id"] && event["event"] == "ended") ++ends;
    }
    EXPECT_EQ(ends, 1U) << "I11";
  }
}

// The leases have an hour to go: only the death of their holder can have freed them.
TEST_F(Waiters, F2_L1_AKilledHolderIsFollowedAtOnce) {
  std::vector<std::int64_t> took_us;
  for (int i = 0; i < 30; ++i) {
    SCOPED_TRACE(i);
    Process holder(stage_.command({"sleep", "600"}));
    const bool under_run = i % 2 == 0;
    std::vector<Process> runs;
    if (under_run) {
      runs.push_back(stage_.start("ann", {"run", "a", "--", "sleep", "600"}));
      ASSERT_TRUE(eventually([&] { return stage_.list()["leases"].size() == 1; }));
    } else {
      stage_.expect(0, "ann", {"acquire", "a", "--attach", std::to_string(holder.pid())});
    }
    Process waiter = stage_.start("bob", {"acquire", "a", "--wait"});
    ASSERT_TRUE(stage_.queue_grows_to(1));
    const auto killed = std::chrono::steady_clock::now();
    (under_run ? runs.front() : holder).signal_group(SIGKILL);
    EXPECT_EQ(waiter.wait(), 0) << waiter.err();
    took_us.push_back(std::chrono::duration_cast<std::chrono::microseconds>(
                          std::chrono::steady_clock::now() - killed)
                          .count());
    stage_.expect(0, "bob", {"release", "a"});
  }
  std::sort(took_us.begin(), took_us.end());
  std::printf("killed holder to the waiter's exit: p50 %.1f ms, max %.1f ms\n",
              static_cast<double>(took_us[took_us.size() / 2]) / 1000,
              static_cast<double>(took_us.back()) / 1000);
}

// The answer goes to nobody: a pipe whose reader is gone, a full disk. The grant is there, and the
// same request finds it.
TEST_F(Waiters, F7_I8_I9_AnAnswerThatNobodyReadsIsFoundAgain) {
  for (const char* where : {"/dev/full", "pipe"}) {
    SCOPED_TRACE(where);
    const std::string id = std::string("lost-") + (where[0] == '/' ? "full" : "pipe");
    const std::string ask =
        "'" + std::string(Stage::program()) + "' acquire --json a b/ --request-id " + id;
    const bool pipe = where[0] != '/';
    Launch launch = stage_.command(
        {"sh", "-c", pipe ? "{ " + ask + "; echo $? >status; } | :" : ask + " >/dev/full"});
    launch.env["LOCKKEEPER_AGENT"] = "ann";
    const Answer lost = stage_.finish(std::move(launch));
    EXPECT_EQ(lost.out, "");
    if (!pipe) {
      EXPECT_EQ(lost.status, 70) << "A7: nobody knows, and its request id finds out";
    }
    const Json leases = stage_.list()["leases"];
    ASSERT_EQ(leases.size(), 1U) << lost.all();
    const Answer again = stage_.expect(0, "ann", {"acquire", "a", "b/", "--request-id", id});
    EXPECT_EQ(again.lease(), leases[0]["id"]) << "I8";
    EXPECT_EQ(again.fence(), leases[0]["fence"]) << "I8";
    stage_.expect(0, "ann", {"release", "--lease", again.lease()});
    stage_.expect(66, "ann", {"release", "--lease", again.lease()});
    stage_.expect(79, "ann", {"acquire", "a", "b/", "--request-id", id});
  }
}

}  // namespace
}  // namespace lockkeeper::stage
