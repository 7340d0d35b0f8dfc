#include "hub/pace.h"

#include <gtest/gtest.h>

namespace lockkeeper::hub {
namespace {

using std::chrono::microseconds;

void be_quick(Pace& pace, int times) {
  for (int i = 0; i < times; ++i) pace.took(microseconds(50));
}

TEST(PaceTest, ItIsQuickAfterQuickCallsInARow) {
  Pace pace;
  be_quick(pace, Pace::kProofs - 1);
  EXPECT_FALSE(pace.is_quick());
  be_quick(pace, 1);
  EXPECT_TRUE(pace.is_quick());
  be_quick(pace, 1);
  EXPECT_TRUE(pace.is_quick());
}

TEST(PaceTest, OneSlowCallEndsItUntilAllWereQuickAgain) {
  Pace pace;
  be_quick(pace, Pace::kProofs);
  pace.took(Pace::kQuick + microseconds(1));
  EXPECT_FALSE(pace.is_quick());
  be_quick(pace, Pace::kProofs - 1);
  pace.took(std::chrono::seconds(5));
  be_quick(pace, Pace::kProofs - 1);
  EXPECT_FALSE(pace.is_quick());
  be_quick(pace, 1);
  EXPECT_TRUE(pace.is_quick());
}

}  // namespace
}  // namespace lockkeeper::hub
