#include "cli/verbs/client_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockkeeper::cli {
namespace {

using install::FoundPolicy;
using install::Verdict;
using testing::HasSubstr;
using Kind = Judged::Kind;

constexpr const char* kFile = ".lockkeeper-proof-1";

Judged judged(Verdict verdict, const std::string& reason,
              const std::optional<FoundPolicy>& policy = std::nullopt) {
  return judge_proof({verdict, reason}, 4, kFile, policy, "lockkeeper install claude --user");
}

TEST(Proofs, OnlyARefusalOfThatFileIsGood) {
  const Judged good =
      judged(Verdict::kRefused, std::string(kFile) + " is held by lockkeeper-doctor");
  EXPECT_EQ(good.kind, Kind::kGood);
  EXPECT_THAT(good.message, HasSubstr("was refused (4ms)"));
  EXPECT_EQ(judged(Verdict::kRefused, "held by lockkeeper-doctor").kind, Kind::kGood);
  const Judged other = judged(Verdict::kRefused, "the store cannot be read");
  EXPECT_EQ(other.kind, Kind::kBad);
  EXPECT_THAT(other.message, HasSubstr("\"the store cannot be read\""));
  const Judged failed = judged(Verdict::kFailed, "it ended with status 139");
  EXPECT_EQ(failed.kind, Kind::kBad);
  EXPECT_THAT(failed.hint, HasSubstr("lockkeeper install claude --user"));
}

TEST(Proofs, APolicyThatRefusesNothingIsSaidAndIsNotAFailure) {
  for (const char* const word : {"warn", "off"}) {
    const Judged soft = judged(Verdict::kPassed, "", FoundPolicy{word, "/repo/lockkeeper.toml"});
    EXPECT_EQ(soft.kind, Kind::kNote) << word;
    EXPECT_THAT(soft.message, HasSubstr(std::string("because [hook] policy is \"") + word +
                                        "\" in /repo/lockkeeper.toml"));
  }
  EXPECT_EQ(judged(Verdict::kAsked, "", FoundPolicy{"ask", "f"}).kind, Kind::kNote);
  for (const char* const word : {"wait", "block", "ask"}) {
    EXPECT_EQ(judged(Verdict::kPassed, "", FoundPolicy{word, "f"}).kind, Kind::kBad) << word;
  }
  EXPECT_EQ(judged(Verdict::kPassed, "").kind, Kind::kBad);
}

}  // namespace
}  // namespace lockkeeper::cli
