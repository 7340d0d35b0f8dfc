// The judge of the history, judged: each kind of lie must be seen, and the truth must pass.
#include "chaos/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockkeeper::chaos {
namespace {

using Json = nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

Json grant(const std::string& hold, const std::string& scope, std::uint64_t fence) {
  return {{"event", "granted"},
          {"agent", "w"},
          {"session", hold},
          {"task", scope},
          {"resources", scope_named(scope)->resources},
          {"fence", fence},
          {"cause", nullptr},
          {"lease", "lease of " + hold}};
}

Json end(Json grant, const std::string& what, const Json& cause = nullptr) {
  grant["event"] = what;
  grant["cause"] = cause;
  return grant;
}

std::vector<std::string> judged(const std::vector<Json>& events, const std::string& ledger = "") {
  return judge_history(events, judge_ledger(ledger), "last");
}

const Json kOne = grant("w1.1.1", "one", 5);
const Json kFolder = grant("w2.1.1", "folder", 6);
const char* const kHeld = "B w1.1.1 one 5 a 10 0\n";

TEST(History, TheTruthPasses) {
  EXPECT_THAT(judged({kOne, end(kOne, "released"), kFolder, end(kFolder, "expired", "expired")},
                     "B w1.1.1 one 5 a 10 0\nE w1.1.1\nB w2.1.1 folder 6 d 10 400\n"),
              IsEmpty());
  EXPECT_THAT(judged({kOne, end(kOne, "ended", "died")}, std::string(kHeld) + "K w1.1\n"),
              IsEmpty());
  EXPECT_THAT(judged({kOne, end(kOne, "ended", "died")}, "B w1.1.1 one 5 r 10 0\nE w1.1.1\n"),
              IsEmpty());
}

TEST(History, I1_I2_I3_AreSeen) {
  EXPECT_THAT(judged({kOne, kFolder, end(kOne, "released"), end(kFolder, "released")}),
              ElementsAre(StartsWith("I1")));
  Json part = grant("w1.1.1", "several", 5);
  part["resources"].erase(1);
  EXPECT_THAT(judged({part, end(part, "released")}), ElementsAre(StartsWith("I2")));
  const Json older = grant("w2.1.1", "other", 4);
  EXPECT_THAT(judged({kOne, older, end(kOne, "released"), end(older, "released")}),
              ElementsAre(StartsWith("I3")));
}

TEST(History, I5_WhatWasAcknowledgedAndIsMissingIsSeen) {
  EXPECT_THAT(judged({}, kHeld), ElementsAre(HasSubstr("is in no event")));
  const Json other_fence = grant("w1.1.1", "one", 6);
  EXPECT_THAT(judged({other_fence, end(other_fence, "released")}, kHeld),
              ElementsAre(HasSubstr("is in no event")));
}

TEST(History, I5_WhatWasTakenAwayIsSeen) {
  EXPECT_THAT(judged({kOne, end(kOne, "ended", "died")}, kHeld), ElementsAre(StartsWith("I5")));
  EXPECT_THAT(judged({kOne, end(kOne, "released")}, kHeld), ElementsAre(StartsWith("I5")));
  EXPECT_THAT(judged({kOne, end(kOne, "expired", "expired")}, kHeld),
              ElementsAre(StartsWith("I5")));
  EXPECT_THAT(judged({kOne, end(kOne, "broken")}, kHeld), ElementsAre(StartsWith("I5")));
  EXPECT_THAT(judged({kOne, end(kOne, "ended", "died")}, "B w1.1.1 one 5 d 10 400\nK w1.1\n"),
              ElementsAre(StartsWith("I5")));
}

TEST(History, I11_EachGrantEndsOnce) {
  EXPECT_THAT(judged({kOne}), ElementsAre(StartsWith("I11")));
  EXPECT_THAT(judged({kOne, end(kOne, "released"), end(kOne, "released")}),
              ElementsAre(StartsWith("I11")));
  EXPECT_THAT(judged({end(kOne, "released")}), ElementsAre(StartsWith("I11")));
}

}  // namespace
}  // namespace lockkeeper::chaos
