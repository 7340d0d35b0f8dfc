#include "kv/etcd/version.h"

#include <gtest/gtest.h>

#include "kv/etcd/version_page.h"

namespace lockkeeper::kv::etcd {
namespace {

bool good(std::string_view version, bool authenticated = false, bool allow_old = false) {
  const auto checked = check_version(version, authenticated, allow_old, "here:1");
  if (checked) return true;
  EXPECT_EQ(checked.error().code, Code::kStoreUnavailable);
  EXPECT_NE(checked.error().message.find("here:1"), std::string::npos);
  EXPECT_NE(checked.error().message.find(version), std::string::npos);
  EXPECT_FALSE(checked.error().hint.empty());
  return false;
}

TEST(EtcdVersion, EachLineOfReleasesHasItsFloor) {
  for (const char* const version : {"3.5.28", "3.5.30", "3.6.9", "3.6.14", "3.7.0", "4.0.0"}) {
    EXPECT_TRUE(good(version)) << version;
  }
  for (const char* const version :
       {"2.3.8", "3.4.23", "3.4.42", "3.5.3", "3.5.27", "3.6.0", "3.6.8"}) {
    EXPECT_FALSE(good(version)) << version;
    EXPECT_TRUE(good(version, false, true)) << version;
  }
  EXPECT_TRUE(good("3.5.28+git"));
  EXPECT_TRUE(good("3.7.0-rc.1"));
}

TEST(EtcdVersion, PasswordsRaiseTheFloor) {
  for (const char* const version : {"3.5.33", "3.6.14", "3.7.1"}) EXPECT_TRUE(good(version, true));
  for (const char* const version : {"3.5.32", "3.6.13", "3.7.0"}) {
    EXPECT_FALSE(good(version, true)) << version;
    EXPECT_TRUE(good(version, true, true)) << version;
  }
}

TEST(EtcdVersion, WhatLosesRowsIsNeverAccepted) {
  for (const char* const version : {"3.5.0", "3.5.1", "3.5.2"}) {
    EXPECT_FALSE(good(version, false, true)) << version;
  }
}

TEST(EtcdVersion, WhatCannotBeReadIsRefused) {
  for (const char* const version : {"", "3", "3.5", "3.5.x", "3.5.28.1", "-3.5.30", "not etcd"}) {
    EXPECT_FALSE(good(version, false, true)) << version;
  }
}

TEST(EtcdPages, TheQuotaIsReadOnceItsLineIsWhole) {
  const std::string page =
      "HTTP/1.0 200 OK\r\n\r\n# TYPE etcd_server_quota_backend_bytes gauge\n"
      "etcd_server_quota_backend_bytes 2.147483648e+09\nmore 1\n";
  EXPECT_EQ(quota_in_page(page), 2147483648U);
  const std::size_t end = page.find("\nmore");
  for (std::size_t size = 0; size < end; ++size) {
    EXPECT_EQ(quota_in_page(page.substr(0, size)), 0U) << size;
  }
  for (const char* const wrong : {"HTTP/1.1 404 No\r\n\netcd_server_quota_backend_bytes 7\n",
                                  "HTTP/1.0 200 OK\n\netcd_server_quota_backend_bytes -7\n",
                                  "HTTP/1.0 200 OK\n\netcd_server_quota_backend_bytes inf\n",
                                  "HTTP/1.0 200 OK\n\netcd_server_quota_backend_bytes x\n"}) {
    EXPECT_EQ(quota_in_page(wrong), 0U) << wrong;
  }
}

}  // namespace
}  // namespace lockkeeper::kv::etcd
