// Rule 12 for calls other than acquire: kept answers.
#include "core/answers.h"

#include <gtest/gtest.h>

#include "core/testing.h"

namespace lockkeeper::core {
namespace {

class Rule12Answers : public OnBothFlavours {
 protected:
  Result<void> keep(const Answer& answer) {
    return realm_.run([&](Table& table) { return keep_answer(table.state(), kAnnInS1, answer); });
  }
  Result<std::optional<Answer>> find(const std::string& id, std::uint64_t arguments,
                                     const Owner& owner = kAnnInS1) {
    std::optional<Answer> found;
    const auto done = realm_.run([&](Table& table) -> Result<void> {
      LK_ASSIGN(found, find_answer(table.state(), owner, id, arguments));
      return {};
    });
    if (!done) return fail(done.error());
    return found;
  }
};
LOCKKEEPER_ON_BOTH_FLAVOURS(Rule12Answers);

TEST_P(Rule12Answers, I8TheAnswerIsKeptForTheSameCallOfTheSameOwner) {
  ASSERT_TRUE(keep({"r1", 7, true, "released a"}));
  const auto found = find("r1", 7);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->text, "released a");
  EXPECT_TRUE((*found)->complete);
  EXPECT_EQ(find("r2", 7).value(), std::nullopt);
  EXPECT_EQ(find("r1", 7, {"ann", "t"}).value(), std::nullopt);
  const auto other = find("r1", 8);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kInvalidInput);
}

TEST_P(Rule12Answers, ALaterAnswerReplacesTheOneSoFar) {
  ASSERT_TRUE(keep({"r1", 7, false, "a"}));
  EXPECT_FALSE(find("r1", 7).value()->complete);
  ASSERT_TRUE(keep({"r1", 7, true, "a b"}));
  EXPECT_EQ(find("r1", 7).value()->text, "a b");
}

TEST_P(Rule12Answers, ForgottenAfterADay) {
  ASSERT_TRUE(keep({"r1", 7, true, ""}));
  realm_.pass(kDayMs - 1'000);
  realm_.maintain();
  EXPECT_TRUE(find("r1", 7).value());
  realm_.pass(2'000);
  realm_.maintain();
  EXPECT_FALSE(find("r1", 7).value());
}

TEST_P(Rule12Answers, ARebootKeepsThemForAFullDayMore) {
  ASSERT_TRUE(keep({"r1", 7, true, ""}));
  realm_.reboot();
  realm_.maintain();
  EXPECT_TRUE(find("r1", 7).value());
  realm_.pass(kDayMs + 1'000);
  realm_.maintain();
  EXPECT_FALSE(find("r1", 7).value());
}

TEST_P(Rule12Answers, AnIdThatIsTooLongIsRefused) {
  const auto kept = keep({std::string(realm_.limits.name_bytes + 1, 'r'), 7, true, ""});
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().code, Code::kLimitExceeded);
}

TEST(Answers, I10DamagedBytesAreNoAnswer) {
  const std::string whole = encode_answer({"r1", 7, true, "text"});
  EXPECT_EQ(decode_answer(whole)->text, "text");
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_FALSE(decode_answer(whole.substr(0, i)));
  EXPECT_FALSE(decode_answer(whole + "x"));
}

}  // namespace
}  // namespace lockkeeper::core
