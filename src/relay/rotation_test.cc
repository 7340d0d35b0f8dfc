#include "relay/rotation.h"

#include <gtest/gtest.h>

namespace lockkeeper::relay {
namespace {

constexpr std::int64_t kRestMs = Rotation::kRestMs;

// The addresses that a call asks if none answers.
std::vector<std::size_t> order(const Rotation& rotation, std::size_t count, std::int64_t now_ms) {
  std::vector<bool> tried(count);
  std::vector<std::size_t> all;
  while (const auto next = rotation.next(tried, now_ms)) {
    tried[next->at] = true;
    all.push_back(next->at);
  }
  return all;
}

using Order = std::vector<std::size_t>;

TEST(Rotation, ACallStaysWithTheAddressThatAnsweredLast) {
  Rotation rotation(3);
  EXPECT_EQ(order(rotation, 3, 0), (Order{0, 1, 2}));
  rotation.failed(0, 0);
  EXPECT_EQ(order(rotation, 3, 1), (Order{1, 2, 0}));
  rotation.answered(1);
  EXPECT_EQ(order(rotation, 3, 1), (Order{1, 2, 0}));
  EXPECT_EQ(order(rotation, 3, kRestMs), (Order{1, 2, 0})) << "nobody goes back by itself";
}

TEST(Rotation, OneThatDoesNotAnswerRestsWhileThereAreOthers) {
  Rotation rotation(3);
  rotation.failed(0, 0);
  rotation.failed(1, 10);
  rotation.answered(2);
  rotation.failed(2, 100);
  EXPECT_EQ(order(rotation, 3, kRestMs - 1), (Order{2, 0, 1})) << "all of them rest";
  EXPECT_EQ(order(rotation, 3, kRestMs), (Order{0, 2, 1}));
  EXPECT_EQ(order(rotation, 3, kRestMs + 10), (Order{0, 1, 2}));
  rotation.answered(1);
  EXPECT_EQ(order(rotation, 3, kRestMs + 10), (Order{1, 0, 2}));
}

// Two calls are on their way: one has waited for an address in vain, the other one had its answer.
TEST(Rotation, AnAnswerThatComesLateMovesNobody) {
  Rotation rotation(2);
  rotation.failed(0, 0);
  rotation.answered(1);
  rotation.answered(0);
  EXPECT_EQ(order(rotation, 2, 1), (Order{1, 0}));
  rotation.failed(1, 1);
  rotation.answered(1);
  EXPECT_EQ(order(rotation, 2, 1), (Order{1, 0}));
}

// So that each of them has its share of the time.
TEST(Rotation, ItSaysHowManyAreLeft) {
  Rotation rotation(3);
  std::vector<bool> tried(3);
  EXPECT_EQ(rotation.next(tried, 0)->after, 2U);
  rotation.failed(1, 0);
  EXPECT_EQ(rotation.next(tried, 0)->after, 1U);
  tried[0] = true;
  EXPECT_EQ(rotation.next(tried, 0)->after, 0U);
  tried[2] = true;
  EXPECT_EQ(rotation.next(tried, 0)->at, 1U);
  EXPECT_EQ(rotation.next(tried, 0)->after, 0U);
  rotation.failed(0, 0);
  rotation.failed(2, 0);
  EXPECT_EQ(rotation.next({false, false, false}, 0)->after, 2U) << "all of them rest";
  tried[1] = true;
  EXPECT_FALSE(rotation.next(tried, 0));
  Rotation alone(1);
  alone.failed(0, 0);
  EXPECT_EQ(alone.next({false}, 0)->at, 0U);
}

}  // namespace
}  // namespace lockkeeper::relay
