#include "base/parse.h"

#include <gtest/gtest.h>

namespace lockkeeper {
namespace {

using Words = std::vector<std::string>;

TEST(Parse, ANumberIsTheWholeText) {
  EXPECT_EQ(number_in<int>("-12"), -12);
  EXPECT_EQ(number_in<double>("0.5"), 0.5);
  for (const char* const text : {"", " 1", "1 ", "+1", "1m", "99999999999"}) {
    EXPECT_EQ(number_in<int>(text), std::nullopt) << text;
  }
  EXPECT_EQ(number_in<unsigned>("-1"), std::nullopt);
}

TEST(Parse, WordsStandBetweenSeparatorsAndAreNeverEmpty) {
  EXPECT_EQ(words_in("a,b,,c,", ","), (Words{"a", "b", "c"}));
  EXPECT_EQ(words_in(" a, b\n", " ,\n"), (Words{"a", "b"}));
  EXPECT_EQ(words_in("", ","), Words());
  EXPECT_EQ(words_in(",,", ","), Words());
}

}  // namespace
}  // namespace lockkeeper
