// The simple judge on histories that are known to be good or bad.
#include "nemesis/judge.h"

#include <gtest/gtest.h>

namespace lockkeeper::nemesis {
namespace {

std::size_t violations(const std::string& text) {
  return judge(text).violations.size();
}

// "p1" asks at `from`, is told at `to`, and gives it back at `back` (0: never).
std::string hold(int number, const std::string& what, int from, int to, int back, int fence,
                 const std::string& more = "") {
  const std::string n = std::to_string(number);
  const std::string owner = " p" + n + " w" + n + "@s" + n;
  std::string text = "> " + n + "0 " + std::to_string(from) + owner + " acquire " + what +
                     (more.empty() ? " ttl=none" : more) + " id=r" + n + "\n" + "< " + n + "0 " +
                     std::to_string(to) + " granted lease=L" + n +
                     " fence=" + std::to_string(fence) + "\n";
  if (back == 0) return text;
  return text + "> " + n + "1 " + std::to_string(back) + owner + " release lease=L" + n + "\n";
}

TEST(NemesisJudge, I1_TwoThatHoldOverlappingFilesAtOnceAreSeen) {
  EXPECT_EQ(violations(hold(1, "x:d/a", 1, 2, 5, 10) + hold(2, "x:d/", 5, 6, 9, 11)), 0U);
  EXPECT_EQ(violations(hold(1, "x:d/a", 1, 2, 7, 10) + hold(2, "x:d/", 3, 6, 9, 11)), 1U);
  EXPECT_EQ(violations(hold(1, "s:d/a", 1, 2, 7, 10) + hold(2, "s:d/", 3, 6, 9, 11)), 0U);
  EXPECT_EQ(violations(hold(1, "x:d/a", 1, 2, 7, 10) + hold(2, "x:d/b", 3, 6, 9, 11)), 0U);
  EXPECT_EQ(violations(hold(1, "x:d/a", 1, 2, 0, 10) + hold(2, "x:d/*", 30, 60, 0, 11)), 1U);
}

TEST(NemesisJudge, I5_WhoseProcessWasKilledHoldsNoLonger) {
  const std::string first = hold(1, "x:d/a", 1, 2, 0, 10, " ttl=none attach=p1");
  EXPECT_EQ(violations(first + hold(2, "x:d/a", 3, 6, 0, 11)), 1U);
  EXPECT_EQ(violations(first + hold(2, "x:d/a", 3, 6, 0, 11) + "x p1 4 100\n"), 0U);
}

TEST(NemesisJudge, I6_ALeaseWithATtlIsHeldForAllOfIt) {
  const std::string first = hold(1, "x:d/a", 1'000'000, 2'000'000, 0, 10, " ttl=10");
  EXPECT_EQ(violations(first + hold(2, "x:d/a", 2'000'000, 10'000'000, 0, 11)), 1U);
  EXPECT_EQ(violations(first + hold(2, "x:d/a", 2'000'000, 12'000'000, 0, 11)), 0U);
}

TEST(NemesisJudge, I3_AFenceThatDoesNotGrowIsSeen) {
  EXPECT_EQ(violations(hold(1, "x:d/a", 1, 2, 3, 10) + hold(2, "x:e/a", 3, 4, 5, 11)), 0U);
  EXPECT_EQ(violations(hold(1, "x:d/a", 1, 2, 3, 10) + hold(2, "x:e/a", 3, 4, 5, 10)), 1U);
  EXPECT_EQ(violations(hold(1, "x:d/a", 1, 9, 0, 10) + hold(2, "x:e/a", 3, 4, 5, 9)), 0U);
}

TEST(NemesisJudge, L4_WhoOvertakesInTheQueueIsSeen) {
  const std::string waited = hold(1, "x:d/a", 1, 20, 21, 12) + "# queued 10 3\n";
  EXPECT_EQ(violations(waited + hold(2, "x:d/a", 4, 8, 9, 11)), 1U);
  EXPECT_EQ(violations(waited + hold(2, "x:d/a", 2, 8, 9, 11)), 0U) << "asked before it waited";
  EXPECT_EQ(violations(waited + hold(2, "x:d/b", 4, 8, 9, 11)), 0U) << "not in its way";
  EXPECT_EQ(violations(waited + hold(2, "x:d/a", 4, 30, 31, 13)), 0U);
}

}  // namespace
}  // namespace lockkeeper::nemesis
