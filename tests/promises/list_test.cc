// The listing of promises on small trees of its own: can it fail?
#include <gtest/gtest.h>

#include "support/stage.h"

namespace lockkeeper {
namespace {

class PromisesList : public testing::Test {
 protected:
  PromisesList() : stage_(stage::Stage::Git::kNo) {
    stage_.file("promises.txt", "# comment\nI1 One.\nF12 Twelve.\nRule5 Five.\n");
    stage_.file("later.txt", "F12 a power cut\n");
    stage_.file("src/a_test.cc", "TEST(Suite, I1_IsTested) {}\n");
    stage_.file("tests/isolation/b.spec", "title They wait (rule 5, I1)\n");
  }

  stage::Answer list() {
    return stage_.finish(
        stage_.command({LOCKKEEPER_PROMISES_LIST, "--root", stage_.repo(), "--promises",
                        stage_.repo() + "/promises.txt", "--later", stage_.repo() + "/later.txt"}));
  }
  bool says(const stage::Answer& answer, const std::string& text) {
    return answer.out.find(text) != std::string::npos;
  }

  stage::Stage stage_;
};

TEST_F(PromisesList, EveryNumberWithItsTests) {
  const stage::Answer answer = list();
  EXPECT_EQ(answer.status, 0) << answer.all();
  EXPECT_TRUE(says(answer, "src/a_test.cc  Suite.I1_IsTested")) << answer.all();
  EXPECT_TRUE(says(answer, "b.spec  They wait (rule 5, I1)")) << answer.all();
  EXPECT_TRUE(says(answer, "waits for: a power cut")) << answer.all();
}

TEST_F(PromisesList, ANumberWithoutATestFails) {
  stage_.file("later.txt", "");
  const stage::Answer answer = list();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_TRUE(says(answer, "without a test: F12")) << answer.all();
}

TEST_F(PromisesList, ANumberThatDoesNotExistFails) {
  stage_.file("src/b_test.cc", "TEST_F(Suite, F99_IsTested) {}\n");
  const stage::Answer answer = list();
  EXPECT_EQ(answer.status, 1) << answer.all();
  EXPECT_TRUE(says(answer, "not in the list: F99")) << answer.all();
}

TEST_F(PromisesList, NamesBrokenOverLinesLeadingZerosAndCtestNamesCount) {
  stage_.file("later.txt", "");
  stage_.file("tests/isolation/b.spec", "title They wait\n");
  stage_.file("src/b_test.cc", "TEST_P(Rule05,\n       HandsOver) {}\n");
  stage_.file("tests/CMakeLists.txt", "lockkeeper_test(NAME F12_power_test SOURCES a.cc)\n");
  const stage::Answer answer = list();
  EXPECT_EQ(answer.status, 0) << answer.all();
  EXPECT_TRUE(says(answer, "Rule05.HandsOver")) << answer.all();
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
