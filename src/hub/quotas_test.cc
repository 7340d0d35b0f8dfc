#include "hub/quotas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockkeeper::hub {
namespace {

using testing::HasSubstr;

class QuotasTest : public testing::Test {
 protected:
  // Asks, is granted, and the table knows it.
  bool grant(std::size_t more, const std::string& person = "alice") {
    auto asking = ask(more, person);
    if (!asking) return false;
    has_ += more;
    asking->granted();
    return true;
  }
  void release(std::size_t count) {
    const std::uint64_t begun = quotas_.begin_release("app", "alice");
    has_ -= count;
    quotas_.end_release("app", "alice", begun, count);
  }
  Result<Quotas::Asking> ask(std::size_t more, const std::string& person = "alice") {
    return quotas_.ask("app", person, more, 10, now_ms_, [&]() -> Result<std::size_t> {
      ++reads_;
      return has_;
    });
  }

  Quotas quotas_;
  std::size_t has_ = 0;
  int reads_ = 0;
  std::int64_t now_ms_ = 5'000;
};

TEST_F(QuotasTest, ThePersonHasOneLimitWhateverItsAgentsAreCalled) {
  EXPECT_TRUE(grant(6));
  EXPECT_TRUE(grant(4));
  const auto refused = ask(1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kLimitExceeded);
  EXPECT_THAT(refused.error().message, HasSubstr("alice has 10 resources"));
}

TEST_F(QuotasTest, AnotherPersonHasItsOwn) {
  EXPECT_TRUE(grant(10));
  has_ = 0;
  EXPECT_TRUE(grant(10, "bob"));
}

TEST_F(QuotasTest, TheTableIsReadOnlyWhenItMayBeTooMuch) {
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(grant(1));
  EXPECT_EQ(reads_, 1);
  has_ = 3;  // the others have expired
  EXPECT_TRUE(grant(7));
  EXPECT_EQ(reads_, 2);
}

TEST_F(QuotasTest, WhoeverTakesAndGivesBackIsNeverAtTheLimit) {
  EXPECT_TRUE(grant(9));
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(grant(1));
    release(1);
    EXPECT_TRUE(ask(1)) << "refused by the table: it holds nothing more";
  }
  EXPECT_EQ(reads_, 1);
}

TEST_F(QuotasTest, WhoeverIsAtTheLimitMakesTheHubReadOnceASecond) {
  EXPECT_TRUE(grant(10));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(ask(1));
  EXPECT_EQ(reads_, 2);
  now_ms_ += 1'000;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(ask(1));
  EXPECT_EQ(reads_, 3);
}

// Otherwise it would be taken off twice.
TEST_F(QuotasTest, AReleaseThatARaceMayHaveCountedDoesNotCountAgain) {
  EXPECT_TRUE(grant(10));
  const std::uint64_t begun = quotas_.begin_release("app", "alice");
  has_ = 5;
  EXPECT_TRUE(grant(5)) << "it was read";
  quotas_.end_release("app", "alice", begun, 5);
  EXPECT_FALSE(ask(1));
}

TEST_F(QuotasTest, WhatIsStillBeingAskedForCounts) {
  {
    const auto first = ask(6);  // not granted yet
    ASSERT_TRUE(first);
    EXPECT_FALSE(ask(5));
    EXPECT_EQ(reads_, 2) << "the table does not have it";
  }
  EXPECT_TRUE(ask(5)) << "it was refused";
}

}  // namespace
}  // namespace lockkeeper::hub
