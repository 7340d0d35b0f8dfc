#include "cli/verbs/client_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockkeeper::cli {
namespace {

using install::Verdict;
using realm::HookPolicy;
using testing::HasSubstr;
using Kind = Judged::Kind;

constexpr const char* kFile = ".lockkeeper-proof-1";

Judged judged(Verdict verdict, const std::string& reason, HookPolicy policy = HookPolicy::kWait) {
  const ProofPolicy set{policy, {"/repo/lockkeeper.toml", 2}};
  return judge_proof({verdict, reason}, 4, kFile, set, "lockkeeper install claude --user");
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
  const Judged soft = judged(Verdict::kPassed, "", HookPolicy::kWarn);
  EXPECT_EQ(soft.kind, Kind::kNote);
  EXPECT_THAT(soft.message,
              HasSubstr("because [hook] policy is \"warn\" (/repo/lockkeeper.toml:2)"));
  EXPECT_EQ(judged(Verdict::kPassed, "", HookPolicy::kOff).kind, Kind::kNote);
  EXPECT_EQ(judged(Verdict::kAsked, "", HookPolicy::kAsk).kind, Kind::kNote);
  for (const HookPolicy policy : {HookPolicy::kWait, HookPolicy::kBlock, HookPolicy::kAsk}) {
    EXPECT_EQ(judged(Verdict::kPassed, "", policy).kind, Kind::kBad);
  }
}

}  // namespace
}  // namespace lockkeeper::cli
