// The judge of the chaos tests, judged: each kind of violation must be seen, each kind of innocence
// too.
#include "chaos/ledger.h"

#include <gtest/gtest.h>

namespace lockkeeper::chaos {
namespace {

std::size_t violations(const std::string& ledger) {
  return judge_ledger(ledger).violations.size();
}

TEST(Ledger, HoldsOneAfterTheOtherAreFine) {
  EXPECT_EQ(violations("B w1.1.1 one 5 a 10 0\nE w1.1.1\nB w2.1.1 folder 6 a 10 0\nE w2.1.1\n"),
            0U);
  EXPECT_EQ(violations("B w1.1.1 one 5 a 10 0\nB w2.1.1 other 6 a 10 0\n"), 0U);
  EXPECT_EQ(violations("B w1.1.1 readers 5 a 10 0\nB w2.1.1 readers 6 a 10 0\n"), 0U);
}

TEST(Ledger, I1_TwoAtOnceAreSeen) {
  EXPECT_EQ(violations("B w1.1.1 one 5 a 10 0\nB w2.1.1 folder 6 a 10 0\n"), 1U);
  EXPECT_EQ(violations("B w1.1.1 readers 5 a 10 0\nB w2.1.1 glob 6 a 10 0\n"), 1U);
}

TEST(Ledger, AKilledWorkerHoldsNoLonger) {
  EXPECT_EQ(violations("B w1.1.1 one 5 a 10 0\nK w1.1\nB w2.1.1 folder 6 a 10 0\n"), 0U);
  EXPECT_EQ(violations("B w1.1.1 one 5 a 10 0\nK w1.2\nB w2.1.1 folder 6 a 10 0\n"), 1U);
  EXPECT_EQ(violations("K w1.1\nB w1.1.1 one 5 a 10 0\nB w2.1.1 folder 6 a 10 0\n"), 0U);
}

TEST(Ledger, I3_AFenceThatGoesBackIsSeen) {
  EXPECT_EQ(violations("B w1.1.1 one 5 a 10 0\nE w1.1.1\nB w2.1.1 one 5 a 10 0\nE w2.1.1\n"), 1U);
}

TEST(Ledger, I6_ADetachedHoldLastsItsLengthAlsoWhenItsHolderIsKilled) {
  const std::string first = "B w1.1.1 one 5 d 100 500\nK w1.1\n";
  EXPECT_EQ(violations(first + "B w2.1.1 one 6 a 300 0\n"), 1U);
  EXPECT_EQ(violations(first + "B w2.1.1 one 6 a 600 0\n"), 0U);
  EXPECT_EQ(violations("B w1.1.1 one 5 d 100 500\nE w1.1.1\nS w1.1.1\nB w2.1.1 one 6 a 300 0\n"),
            0U);
  // It overran its lease and says so by having no S: the other's grant was right.
  EXPECT_EQ(violations("B w1.1.1 one 5 d 100 500\nB w2.1.1 one 6 a 600 0\nE w1.1.1\n"), 0U);
  EXPECT_EQ(violations("B w1.1.1 one 5 d 100 500\nB w2.1.1 one 6 a 300 0\nE w1.1.1\nS w1.1.1\n"),
            1U);
}

TEST(Ledger, AnAttachedHoldWithALengthLastsUntilEither) {
  const std::string first = "B w1.1.1 one 5 b 100 500\n";
  EXPECT_EQ(violations(first + "B w2.1.1 one 6 a 300 0\n"), 1U);
  EXPECT_EQ(violations(first + "K w1.1\nB w2.1.1 one 6 a 300 0\n"), 0U);
  EXPECT_EQ(violations(first + "B w2.1.1 one 6 a 600 0\n"), 0U);
}

TEST(Ledger, AnAnswerThatMustNotBeIsSeen) {
  EXPECT_EQ(violations("X w1.1.1 acquire 1 {}\n"), 1U);
}

}  // namespace
}  // namespace lockkeeper::chaos
