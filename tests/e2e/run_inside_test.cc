// Rule 11 from inside `run`: what a command started under a lock may do, and what ends with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

using testing::HasSubstr;

class Inside : public testing::Test {
 protected:
  Inside() { stage_.env["LK"] = Stage::program(); }

  // Runs a script under a lock of ann on a/ and gives what it wrote.
  Answer under(const std::string& script) {
    return stage_.as("ann", {"run", "a/", "--", "sh", "-c", script});
  }

  Stage stage_;
};

TEST_F(Inside, TheEnvironmentTellsTheCommandWhatItHolds) {
  const Answer answer = under(
      "echo \"$LOCKKEEPER_AGENT|$LOCKKEEPER_REALM|$LOCKKEEPER_SESSION\"; "
      "\"$LK\" check a/ --fence \"$LOCKKEEPER_FENCE\" >/dev/null && echo current; "
      "\"$LK\" list --json; printf '%s\\n' \"$LOCKKEEPER_SCOPE\"");
  ASSERT_EQ(answer.status, 0) << answer.all();
  EXPECT_THAT(answer.out, HasSubstr("ann|" + stage_.repo() + "|-/run-"));
  EXPECT_THAT(answer.out, HasSubstr("current\n"));
  EXPECT_THAT(answer.out, HasSubstr("- a/\n"));
  const Answer ids = under("\"$LK\" list --json >list; printf %s \"$LOCKKEEPER_LEASE\"");
  EXPECT_EQ(Json::parse(read_text(stage_.repo() + "/list"))["leases"][0]["id"], ids.out);
}

TEST_F(Inside, Rule11_TheSameResourceIsNotLockedOutFromInside) {
  EXPECT_EQ(under("\"$LK\" check a/x").status, 0);
  EXPECT_EQ(under("\"$LK\" acquire a/x").status, 0);
  EXPECT_EQ(under("\"$LK\" acquire a/").status, 0);
  EXPECT_EQ(under("LOCKKEEPER_AGENT=helper LOCKKEEPER_SESSION= \"$LK\" acquire a/x").status, 0);
  EXPECT_EQ(under("\"$LK\" run a/x -- \"$LK\" check a/x --held").status, 0);
  EXPECT_EQ(stage_.list()["leases"].size(), 0U);
}

TEST_F(Inside, Rule11_SiblingsInsideExcludeEachOther) {
  const Answer answer = under(
      "unset LOCKKEEPER_SESSION; LOCKKEEPER_AGENT=one \"$LK\" acquire a/x -q && "
      "LOCKKEEPER_AGENT=two \"$LK\" acquire a/x; echo \"second: $?\"; "
      "LOCKKEEPER_AGENT=two \"$LK\" acquire a/y -q; echo \"third: $?\"");
  EXPECT_THAT(answer.out, HasSubstr("second: 75")) << answer.all();
  EXPECT_THAT(answer.out, HasSubstr("third: 0")) << answer.all();
}

TEST_F(Inside, Rule11_WhatIsTakenInsideEndsWithTheRun) {
  const Answer answer = under(
      "LOCKKEEPER_AGENT=one LOCKKEEPER_SESSION= \"$LK\" acquire a/x elsewhere -q && "
      "\"$LK\" acquire further -q && env -u LOCKKEEPER_LEASE -u LOCKKEEPER_FENCE "
      "LOCKKEEPER_AGENT=outsider LOCKKEEPER_SESSION= \"$LK\" check elsewhere");
  EXPECT_EQ(answer.status, 75) << answer.all();
  EXPECT_EQ(stage_.list()["leases"].size(), 0U) << stage_.list().dump(1);
}

TEST_F(Inside, Rule11_OthersOutsideAreStillExcluded) {
  const Answer answer = under(
      "env -u LOCKKEEPER_LEASE -u LOCKKEEPER_FENCE LOCKKEEPER_AGENT=outsider LOCKKEEPER_SESSION= "
      "\"$LK\" check a/x");
  EXPECT_EQ(answer.status, 75) << answer.all();
}

TEST_F(Inside, Rule11_AStaleLeaseInTheEnvironmentIsLost) {
  const Answer answer =
      stage_.as("ann", {"run", "a/", "--", "sh", "-c", "echo $LOCKKEEPER_LEASE $LOCKKEEPER_FENCE"});
  const std::size_t blank = answer.out.find(' ');
  Launch late = stage_.launch("late", {"acquire", "a/x", "--json"});
  late.env["LOCKKEEPER_LEASE"] = answer.out.substr(0, blank);
  late.env["LOCKKEEPER_FENCE"] = answer.out.substr(blank + 1, answer.out.size() - blank - 2);
  const Answer refused = stage_.finish(std::move(late));
  EXPECT_EQ(refused.status, 79) << refused.all();
  EXPECT_EQ(stage_.list()["leases"].size(), 0U);
}

TEST_F(Inside, NestedRunsEachHaveTheirOwnLeaseAndEndInOrder) {
  const Answer answer = under(
      "\"$LK\" run b -- sh -c 'test \"$LOCKKEEPER_LEASE\" != '\"$LOCKKEEPER_LEASE\"' && "
      "\"$LK\" check a/x b && \"$LK\" run a/deep -- \"$LK\" list --json >list'; "
      "echo \"inner: $?\"; \"$LK\" list --json >after");
  EXPECT_THAT(answer.out, HasSubstr("inner: 0")) << answer.all();
  EXPECT_EQ(Json::parse(read_text(stage_.repo() + "/list"))["leases"].size(), 3U);
  EXPECT_EQ(Json::parse(read_text(stage_.repo() + "/after"))["leases"].size(), 1U);
  EXPECT_EQ(stage_.list()["leases"].size(), 0U);
}

}  // namespace
}  // namespace lockkeeper::stage
