#include "base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace lockkeeper {
namespace {

TEST(SeededRandomTest, is_the_published_sequence_on_every_machine) {
  SeededRandom random(1234567);  // the reference vector of SplitMix64
  EXPECT_EQ(random.next(), 6457827717110365317U);
  EXPECT_EQ(random.next(), 3203168211198807973U);
  EXPECT_EQ(random.next(), 9817491932198370423U);
}

TEST(SystemRandomTest, does_not_repeat) {
  SystemRandom random;
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(seen.insert(random.next()).second);
}

TEST(RandomBelow, stays_below_and_reaches_every_value) {
  SeededRandom random(7);
  std::array<int, 5> counts{};
  for (int i = 0; i < 5000; ++i) ++counts.at(random_below(random, counts.size()));
  for (const int count : counts) EXPECT_GT(count, 800);
  EXPECT_EQ(random_below(random, 1), 0U);
}

TEST(RandomBelow, draws_again_where_the_remainder_is_uneven) {
  // 2^64 mod 3 is 1: exactly the value 0 has to be drawn again.
  class Fixed final : public Random {
   public:
    std::uint64_t next() override { return calls++ == 0 ? 0 : 5; }
    int calls = 0;
  };
  Fixed fixed;
  EXPECT_EQ(random_below(fixed, 3), 2U);
  EXPECT_EQ(fixed.calls, 2);
}

}  // namespace
}  // namespace lockkeeper
