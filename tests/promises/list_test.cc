// The listing of promises on small trees of its own: can it fail?
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/stage.h"

namespace lockkeeper {
namespace {

class PromisesList : public testing::Test {
 protected:
  PromisesList() : stage_(stage::Stage::Git::kNo) {
    page("- **F12** Twelve.\n  Not yet: no power cut.\n");
    stage_.file("src/a_test.cc", "TEST(Suite, I1_IsTested) {}\n");
    stage_.file("tests/isolation/b.spec", "title They wait (rule 5, I1)\n");
  }

  // The page has I1 and rule 5 with a test each, and this behind them.
  void page(const std::string& more) {
    stage_.file("page.md",
                "# Promises\n\nWords.\n\n- **I1** One,\n  and more of it.\n"
                "  Tests: `Suite.I1_IsTested`.\n"
                "- **Rule 5** Five.\n  Tests: `b.spec`.\n" +
                    more);
  }
  stage::Answer list(std::vector<std::string> words = {}) {
    std::vector<std::string> command = {LOCKKEEPER_PROMISES_LIST, "--root", stage_.repo(), "--page",
                                        stage_.repo() + "/page.md"};
    command.insert(command.end(), words.begin(), words.end());
    return stage_.finish(stage_.command(command));
  }
  bool says(const stage::Answer& answer, const std::string& text) {
    return answer.out.find(text) != std::string::npos;
  }

  stage::Stage stage_;
};

TEST_F(PromisesList, EveryNumberWithItsTests) {
  const stage::Answer answer = list();
  EXPECT_EQ(answer.status, 0) << answer.all();
  EXPECT_TRUE(says(answer, "One, and more of it.")) << answer.all();
  EXPECT_TRUE(says(answer, "src/a_test.cc  Suite.I1_IsTested")) << answer.all();
  EXPECT_TRUE(says(answer, "b.spec  They wait (rule 5, I1)")) << answer.all();
  EXPECT_TRUE(says(answer, "not yet: no power cut")) << answer.all();
}

TEST_F(PromisesList, OnlyTheNumbersThatAreAskedFor) {
  const stage::Answer answer = list({"Rule5"});
  EXPECT_EQ(answer.status, 0) << answer.all();
  EXPECT_TRUE(says(answer, "Five.")) << answer.all();
  EXPECT_FALSE(says(answer, "One, and more of it.")) << answer.all();
}

TEST_F(PromisesList, ANumberWithoutATestFails) {
  page("- **F12** Twelve.\n  Tests: `Suite.F12_IsTested`.\n");
  const stage::Answer answer = list();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_TRUE(says(answer, "without a test: F12")) << answer.all();
}

TEST_F(PromisesList, ANumberThatDoesNotExistFails) {
  stage_.file("src/b_test.cc", "TEST_F(Suite, F99_IsTested) {}\n");
  const stage::Answer answer = list();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_TRUE(says(answer, "not on the page: F99")) << answer.all();
}

TEST_F(PromisesList, ATestThatThePageNamesAndNobodyHasFails) {
  page("- **F12** Twelve.\n  Tests: `Suite.F12_IsGone`,\n  `Suite.F12_IsHere`.\n");
  stage_.file("src/b_test.cc", "TEST_F(Suite, F12_IsHere) {}\n");
  const stage::Answer answer = list();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_TRUE(says(answer, "F12 names Suite.F12_IsGone")) << answer.all();
  EXPECT_FALSE(says(answer, "F12 names Suite.F12_IsHere")) << answer.all();
}

TEST_F(PromisesList, ATestThatDoesNotCarryTheNumberFails) {
  page("- **F12** Twelve.\n  Tests: `Suite.I1_IsTested`.\n");
  stage_.file("src/b_test.cc", "TEST_F(Suite, F12_IsHere) {}\n");
  const stage::Answer answer = list();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_TRUE(says(answer, "F12 names Suite.I1_IsTested")) << answer.all();
}

TEST_F(PromisesList, ANumberForWhichThePageNamesNoTestFails) {
  page("- **F12** Twelve.\n");
  stage_.file("src/b_test.cc", "TEST_F(Suite, F12_IsHere) {}\n");
  const stage::Answer answer = list();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_TRUE(says(answer, "F12 names no test")) << answer.all();
}

TEST_F(PromisesList, APageWithoutPromisesFails) {
  stage_.file("page.md", "# Promises\n");
  stage_.file("src/a_test.cc", "");
  stage_.file("tests/isolation/b.spec", "title They wait\n");
  EXPECT_EQ(list().status, 1);
}

TEST_F(PromisesList, NamesBrokenOverLinesLeadingZerosAndCtestNamesCount) {
  stage_.file("page.md",
              "- **I1** One.\n  Tests: `Suite.I1_IsTested`.\n"
              "- **Rule 5** Five.\n  Tests: `Rule05.HandsOver`.\n"
              "- **F12** Twelve.\n  Tests: `F12_power_test`.\n");
  stage_.file("tests/isolation/b.spec", "title They wait\n");
  stage_.file("src/b_test.cc", "TEST_P(Rule05,\n       HandsOver) {}\n");
  stage_.file("tests/CMakeLists.txt", "lockkeeper_test(NAME F12_power_test SOURCES a.cc)\n");
  const stage::Answer answer = list();
  EXPECT_EQ(answer.status, 0) << answer.all();
}

TEST_F(PromisesList, ADisabledTestOrALongerNumberDoesNotCount) {
  stage_.file("src/a_test.cc", "TEST(Suite, DISABLED_I1_IsTested) {}\nTEST(Suite, XI1_Is) {}\n");
  stage_.file("tests/isolation/b.spec", "title They wait (rule 5)\n");
  const stage::Answer answer = list();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_TRUE(says(answer, "without a test: I1")) << answer.all();
}

}  // namespace
}  // namespace lockkeeper
