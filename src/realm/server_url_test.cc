#include "realm/server_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockkeeper::realm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ServerUrl, HasOneForm) {
  const std::pair<const char*, const char*> good[] = {
      {"https://hub.example.com", "https://hub.example.com"},
      {"https://HUB.example.com:443/", "https://hub.example.com"},
      {"https://hub.example.com:7420", "https://hub.example.com:7420"},
      {"http://127.0.0.1:7420", "http://127.0.0.1:7420"},
      {"http://localhost:80", "http://localhost"},
      {"https://[::1]:7420", "https://[::1]:7420"},
      {"http://127.1.2.3", "http://127.1.2.3"},
      {"unix:/run/hub.sock", "unix:/run/hub.sock"},
  };
  for (const auto& [text, form] : good) {
    const auto url = parse_server_urls(text);
    ASSERT_TRUE(url) << text << ": " << url.error().message;
    EXPECT_EQ(text_of(*url), form);
  }
  for (const char* const bad :
       {"", "hub.example.com", "ftp://x", "https://", "https://a b", "https://x:0", "https://x:y",
        "https://x:70000", "https://me:secret@x", "https://x/path", "https://x?a", "https://[::1",
        "http://hub.example.com", "unix:relative", "https://x\n", "http://127.evil.example",
        "http://127.0.0.1.evil.example"}) {
    const auto url = parse_server_urls(bad);
    ASSERT_FALSE(url) << bad;
    EXPECT_EQ(url.error().code, Code::kInvalidInput);
    EXPECT_FALSE(is_server_url(bad));
  }
}

TEST(ServerUrl, SeveralHaveOneFormInTheirOrder) {
  const auto urls = parse_server_urls("https://B.example:443/, https://a.example:7420 ,unix:/x");
  ASSERT_TRUE(urls) << urls.error().message;
  EXPECT_THAT(texts_of(*urls),
              ElementsAre("https://b.example", "https://a.example:7420", "unix:/x"));
  EXPECT_EQ(text_of(*urls), "https://b.example,https://a.example:7420,unix:/x");
  EXPECT_TRUE(is_server_url(text_of(*urls)));
  EXPECT_NE(text_of(*urls),
            text_of(*parse_server_urls("https://a.example:7420,https://b.example")));
}

TEST(ServerUrl, ACommaInThePathOfASocketIsItsOwn) {
  const auto one = parse_server_urls("unix:/run/a,b.sock");
  ASSERT_TRUE(one);
  EXPECT_THAT(texts_of(*one), ElementsAre("unix:/run/a,b.sock"));
  const auto two = parse_server_urls("unix:/run/a,b.sock,unix:/c");
  ASSERT_TRUE(two);
  EXPECT_THAT(texts_of(*two), ElementsAre("unix:/run/a,b.sock", "unix:/c"));
}

TEST(ServerUrl, AnAddressWithoutAKindIsToldWhatToBeginWith) {
  for (const char* const text : {"hub.example.com", "ftp://hub.example.com", ""}) {
    const auto wrong = parse_server_urls(text);
    ASSERT_FALSE(wrong) << text;
    EXPECT_NE(wrong.error().message.find("neither https:// nor http://"), std::string::npos)
        << wrong.error().message;
  }
}

TEST(ServerUrl, AMistakeInOneOfThemNamesIt) {
  const std::pair<const char*, const char*> all[] = {
      {"https://a.example,b.example", "\"b.example\""},
      {"https://a.example,", "\"\""},
      {",https://a.example", "\"\""},
      {"https://a.example,,https://b.example", "\"\""},
      {"https://a.example,http://b.example", "\"http://b.example\""},
      {"https://a.example;https://b.example", "https://a.example;https://b.example"},
      {"https://a.example,https://A.example:443/", "\"https://a.example\" of a hub is there twice"},
      {"https://a,https://b,https://c,https://d,https://e,https://f,https://g,https://h,https://i",
       "9 addresses"},
  };
  for (const auto& [text, named] : all) {
    const auto urls = parse_server_urls(text);
    ASSERT_FALSE(urls) << text;
    EXPECT_EQ(urls.error().code, Code::kInvalidInput);
    EXPECT_THAT(urls.error().message, HasSubstr(named)) << text;
  }
}

}  // namespace
}  // namespace lockkeeper::realm
