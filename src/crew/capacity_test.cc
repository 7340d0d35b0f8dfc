#include "crew/capacity.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <set>

namespace lockkeeper::crew {
namespace {

TEST(Capacity, NoMoreThanThereAreDescriptors) {
  EXPECT_EQ(most_at_once(2), 2U);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 100;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_EQ(most_at_once(0), 1U);
  few.rlim_cur = 300;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  EXPECT_LT(most_at_once(0), 150U);
  EXPECT_GT(most_at_once(500), 1U);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST(CheckBudget, EverybodyHasATurn) {
  for (const int agents : {1, 63, 64, 65, 128, 500}) {
    CheckBudget checks;
    std::set<int> had;
    for (int round = 0; round < 20; ++round) {
      checks.begin();
      int now = 0;
      for (int i = 0; i < agents; ++i) {
        if (checks.next()) {
          had.insert(i);
          ++now;
        }
      }
      EXPECT_LE(now, 64);
    }
    EXPECT_EQ(had.size(), static_cast<std::size_t>(agents));
  }
}

}  // namespace
}  // namespace lockkeeper::crew
