#include "layout/turns.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace lockkeeper::layout {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(Turns, FirstComeFirstServed) {
  Turns turns;
  std::vector<std::size_t> order;
  std::vector<std::jthread> threads;
  {
    const Turns::Turn first = turns.take(1, hours(1));
    for (std::size_t i = 0; i < 5; ++i) {
      threads.emplace_back([&, i] {
        const Turns::Turn own = turns.take(1, hours(1));
        order.push_back(i);  // ThreadSanitizer would notice two at once
      });
      while (turns.in_line(1) < i + 2) std::this_thread::yield();
    }
    EXPECT_TRUE(order.empty());
  }
  threads.clear();
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

TEST(Turns, AnotherKeyIsAnotherLine) {
  Turns turns;
  const Turns::Turn one = turns.take(1, hours(1));
  const Turns::Turn two = turns.take(2, hours(1));
}

TEST(Turns, NobodyWaitsForever) {
  Turns turns;
  Turns::Turn first = turns.take(1, hours(1));
  std::thread([&] { turns.take(1, milliseconds(1)); }).join();
  EXPECT_EQ(turns.in_line(1), 1U);
  first.end();
  first.end();
  const Turns::Turn next = turns.take(1, hours(1));
}

TEST(Turns, ATurnCanBeHandedOn) {
  Turns turns;
  Turns::Turn kept;
  {
    Turns::Turn first = turns.take(1, hours(1));
    kept = std::move(first);
  }
  EXPECT_EQ(turns.in_line(1), 1U);
  kept.end();
  EXPECT_EQ(turns.in_line(1), 0U);
}

}  // namespace
}  // namespace lockkeeper::layout
