#include "kv/etcd/address.h"

#include <gtest/gtest.h>

namespace lockkeeper::kv::etcd {
namespace {

TEST(EtcdAddress, ReadsHostsPrefixAndParameters) {
  const auto address = parse_address(
      "etcds://a.example:2379,127.0.0.1:1,[::1]:65535/team/a/"
      "?ca=/c&cert=/d&key=/e&user=u&password-file=/p&allow-old=yes");
  ASSERT_TRUE(address.has_value()) << address.error().message;
  ASSERT_EQ(address->endpoints.size(), 3U);
  EXPECT_EQ(address->endpoints[0].name(), "a.example:2379");
  EXPECT_EQ(address->endpoints[1].name(), "127.0.0.1:1");
  EXPECT_EQ(address->endpoints[2].host, "::1");
  EXPECT_EQ(address->endpoints[2].name(), "[::1]:65535");
  EXPECT_EQ(address->prefix, "/team/a/");
  EXPECT_TRUE(address->tls);
  EXPECT_TRUE(address->allow_old);
  EXPECT_EQ(address->ca_file, "/c");
  EXPECT_EQ(address->certificate_file, "/d");
  EXPECT_EQ(address->key_file, "/e");
  EXPECT_EQ(address->user, "u");
  EXPECT_EQ(address->password_file, "/p");
}

TEST(EtcdAddress, WithoutAPrefixThereIsAUsualOne) {
  for (const char* const text : {"etcd://a:1", "etcd://a:1/", "etcd://a:1//",
                                 "etcd://a:1?user=u&"
                                 "password-file=p"}) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address.has_value()) << text;
    EXPECT_EQ(address->prefix, "/lockkeeper/");
    EXPECT_FALSE(address->tls);
    EXPECT_FALSE(address->allow_old);
  }
}

TEST(EtcdAddress, RefusesWhatItCannotBe) {
  for (const char* const text : {"",
                                 "http://a:1",
                                 "etcd:a:1",
                                 "etcd://",
                                 "etcd:///p",
                                 "etcd://a",
                                 "etcd://a:",
                                 "etcd://a:0",
                                 "etcd://a:70000",
                                 "etcd://:1",
                                 "etcd://::1:2",
                                 "etcd://[::1]",
                                 "etcd://[::1:2",
                                 "etcd://a:1/p q",
                                 "etcd://a:1/p%20",
                                 "etcd://a:1?x=1",
                                 "etcd://a:1?ca=/c",
                                 "etcds://a:1?cert=/c",
                                 "etcd://a:1?user=u",
                                 "etcd://a:1?allow-old=maybe",
                                 "etcd://a:1?ca"}) {
    const auto address = parse_address(text);
    ASSERT_FALSE(address.has_value()) << text;
    EXPECT_EQ(address.error().code, Code::kInvalidInput);
    EXPECT_FALSE(address.error().hint.empty());
  }
}

TEST(EtcdAddress, APasswordIsRefusedAndNotRepeated) {
  for (const char* const text : {"etcd://u:Secret1@a:1", "etcd://a:1?password=Secret1"}) {
    const auto address = parse_address(text);
    ASSERT_FALSE(address.has_value()) << text;
    EXPECT_EQ(address.error().message.find("Secret1"), std::string::npos);
    EXPECT_NE(address.error().message.find("password-file"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockkeeper::kv::etcd
