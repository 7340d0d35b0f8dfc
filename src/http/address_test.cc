#include "http/address.h"

#include <gtest/gtest.h>

namespace lockkeeper::http {
namespace {

TEST(Address, is_read_as_people_write_it) {
  const auto plain = parse_address("127.0.0.1:7420");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->text(), "127.0.0.1:7420");
  EXPECT_TRUE(plain->is_loopback());
  EXPECT_EQ(parse_address("localhost:0")->text(), "127.0.0.1:0");
  const auto six = parse_address("[0:0:0:0:0:0:0:1]:80");
  ASSERT_TRUE(six);
  EXPECT_EQ(six->text(), "[::1]:80");
  EXPECT_TRUE(six->is_loopback());
}

TEST(Address, knows_what_other_machines_reach) {
  EXPECT_FALSE(parse_address("0.0.0.0:1")->is_loopback());
  EXPECT_TRUE(parse_address("0.0.0.0:1")->is_any());
  EXPECT_TRUE(parse_address("[::]:1")->is_any());
  EXPECT_FALSE(parse_address("192.168.1.7:1")->is_loopback());
  EXPECT_FALSE(parse_address("[fe80::1]:1")->is_loopback());
  EXPECT_TRUE(parse_address("127.8.9.10:1")->is_loopback());
}

TEST(Address, what_is_wrong_is_named_with_the_form) {
  for (const char* const text :
       {"", "7420", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:80x",
        ":80", "example.com:80", "::1:80", "[::1]", "[127.0.0.1]:80", "[::1:80", "127.0.0.1.:80",
        "127.1:80"}) {
    const auto wrong = parse_address(text);
    ASSERT_FALSE(wrong) << text;
    EXPECT_EQ(wrong.error().code, Code::kUsage) << text;
    EXPECT_NE(wrong.error().hint.find("127.0.0.1:7420"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace lockkeeper::http
