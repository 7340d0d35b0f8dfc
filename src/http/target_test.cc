#include "http/target.h"

#include <gtest/gtest.h>

namespace lockkeeper::http {
namespace {

TEST(Target, NamesAndQueryAreDecodedOnce) {
  const auto target = parse_target("/v1/waits/a%2Fb%252F?realm=github.com%2Fo%2Fr&for=1+s&flag");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->names, (std::vector<std::string>{"v1", "waits", "a/b%2F"}));
  EXPECT_EQ(target->rest(1), "waits/a/b%2F");
  EXPECT_EQ(target->rest(9), "");
  EXPECT_EQ(target->value("realm"), "github.com/o/r");
  EXPECT_EQ(target->value("for"), "1 s");
  EXPECT_EQ(target->value("flag"), "");
  EXPECT_EQ(target->query.count("flag"), 1U);
  EXPECT_TRUE(parse_target("/")->names.empty());
}

TEST(Target, WhatCanBeReadInTwoWaysIsRefused) {
  for (const char* const text :
       {"", "v1", "//v1", "/v1/", "/v1//list", "/v1/../etc", "/v1/%2e%2e/etc", "/./v1", "/v1/%",
        "/v1/%4", "/v1/%zz", "/v1/%00", "/v1/%0a", "/v1/%ff", "/v1?a=1&a=2", "/v1?a=%g0"}) {
    EXPECT_FALSE(parse_target(text)) << text;
  }
}

}  // namespace
}  // namespace lockkeeper::http
