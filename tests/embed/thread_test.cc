// Many at once: threads, processes, leases.
#include <gmock/gmock.h>

#include <atomic>
#include <random>
#include <thread>

#include "embed/scene.h"

namespace lockkeeper::stage {
namespace {

using namespace std::chrono_literals;

using Crowd = EmbedTest;

TEST_F(Crowd, I1_ThreadsWithRealmsOfTheirOwnExcludeEachOther) {
  constexpr int kThreads = 4;
  constexpr int kTurns = 40;
  std::atomic<int> inside = 0;
  std::atomic<int> turns = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, mine = realm()] {
        for (int turn = 0; turn < kTurns; ++turn) {
          const Acquired lease = mine.acquire({"a"}, {.wait = kForever});
          ASSERT_TRUE(lease) << lease.error().message;
          EXPECT_EQ(inside++, 0);
          ++turns;
          EXPECT_EQ(--inside, 0);
        }
      });
    }
  }
  EXPECT_EQ(turns, kThreads * kTurns);
}

TEST_F(Crowd, I1_ProcessesExcludeEachOther) {
  stage_.file("counter", "0");
  std::vector<Process> processes;
  for (int i = 0; i < 3; ++i) processes.push_back(holder("count", "counter", 1min, {"40"}));
  for (Process& process : processes) EXPECT_EQ(process.wait(), 0) << process.out();
  EXPECT_EQ(read_text(stage_.repo() + "/counter"), "120");
}

TEST_F(Crowd, ThreadsMayShareARealmAndItsLeases) {
  const Realm mine = realm();
  const Lease common = granted(mine, {"common"}, {.ttl = 10s});
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      std::minstd_rand random(i);
      for (int turn = 0; turn < 40; ++turn) {
        EXPECT_FALSE(common.lost());
        EXPECT_TRUE(common.is_current());
        EXPECT_FALSE(common.lost_token().stop_requested());
        // The same resource from several threads is one lease; its end is that of the last object.
        auto lease = mine.acquire({"s" + std::to_string(random() % 2)}, {.ttl = 10s});
        ASSERT_TRUE(lease) << lease.error().message;
        EXPECT_TRUE(lease->is_current()) << lease->check().error().message;
        if (turn % 3 == 0) {
          EXPECT_TRUE(lease->release());
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(stage_.list()["leases"].size(), 1U);
}

// A thread that was told "renewed" just before another gave the lease back must not hand it to a
// third: all of them ask for one name, so they meet there all the time.
TEST_F(Crowd, I9_WhatIsHandedOutHasNotEnded) {
  stage_.file("lockkeeper.toml", "[store]\ndurability = \"process\"\n");
  const Realm mine = realm();
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 150; ++turn) {
        const auto lease = mine.acquire({"s"}, {.ttl = 10s});
        ASSERT_TRUE(lease) << lease.error().message;
        ASSERT_TRUE(lease->is_current()) << lease->check().error().message;
      }
    });
  }
}

}  // namespace
}  // namespace lockkeeper::stage
