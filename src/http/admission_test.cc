#include "http/admission.h"

#include <gtest/gtest.h>

namespace lockkeeper::http {
namespace {

Door door_at(const char* address, std::optional<std::string> token = {}) {
  return {*parse_address(address), std::move(token)};
}

Request asking(Headers headers) {
  Request request;
  request.method = "POST";
  request.target = "/mcp";
  request.headers = std::move(headers);
  return request;
}

int status(const Door& door, Headers headers) {
  const auto refused = refusal(door, asking(std::move(headers)));
  return refused ? refused->status : 200;
}

TEST(Admission, the_host_is_ours_with_and_without_a_port) {
  const Door door = door_at("127.0.0.1:7420");
  for (const char* const host : {"127.0.0.1", "127.0.0.1:7420", "localhost", "LocalHost:7420",
                                 "[::1]", "[::1]:7420", "localhost:9000"}) {
    EXPECT_EQ(status(door, {{"Host", host}}), 200) << host;
  }
  EXPECT_EQ(status(door_at("127.0.0.2:1"), {{"Host", "127.0.0.2:1"}}), 200);
}

TEST(Admission, another_host_is_forbidden) {
  const Door door = door_at("127.0.0.1:7420");
  for (const char* const host :
       {"evil.example.com", "evil.example.com:7420", "localhost.evil.example", "127.0.0.1.evil",
        "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:123456", "", "[::1", "[::1]x", "::1", "192.168.1.7",
        "localhost@evil", "localhost/", "0.0.0.0"}) {
    EXPECT_EQ(status(door, {{"Host", host}}), 403) << host;
  }
}

TEST(Admission, there_is_one_host) {
  const Door door = door_at("127.0.0.1:7420");
  EXPECT_EQ(status(door, {}), 403);
  EXPECT_EQ(status(door, {{"Host", "localhost"}, {"host", "localhost"}}), 403);
}

TEST(Admission, on_every_address_any_literal_one_is_ours) {
  const Door door = door_at("0.0.0.0:7420", "secret-secret-secret");
  const std::pair<std::string, std::string> token{"Authorization", "Bearer secret-secret-secret"};
  EXPECT_EQ(status(door, {{"Host", "192.168.1.7:7420"}, token}), 200);
  EXPECT_EQ(status(door, {{"Host", "[fe80::1]"}, token}), 200);
  EXPECT_EQ(status(door, {{"Host", "rebound.example"}, token}), 403);
}

TEST(Admission, pages_of_others_are_forbidden) {
  const Door door = door_at("127.0.0.1:7420");
  const auto from = [&](const char* origin) {
    return status(door, {{"Host", "localhost"}, {"Origin", origin}});
  };
  EXPECT_EQ(from("http://localhost:6274"), 200);
  EXPECT_EQ(from("https://127.0.0.1"), 200);
  EXPECT_EQ(from("http://[::1]:80"), 200);
  for (const char* const origin :
       {"http://evil.example.com", "null", "", "file://", "localhost", "ftp://localhost",
        "http://localhost.evil", "http://", "http://localhost@evil.example"}) {
    EXPECT_EQ(from(origin), 403) << origin;
  }
  EXPECT_EQ(status(door, {{"Host", "localhost"},
                          {"Origin", "http://localhost"},
                          {"Origin", "http://evil.example"}}),
            403);
}

TEST(Admission, the_token_is_asked_for_and_compared) {
  const Door door = door_at("127.0.0.1:7420", "0123456789abcdef");
  const auto with = [&](const char* authorization) {
    return status(door, {{"Host", "localhost"}, {"Authorization", authorization}});
  };
  EXPECT_EQ(with("Bearer 0123456789abcdef"), 200);
  EXPECT_EQ(with("bearer  0123456789abcdef"), 200);
  for (const char* const wrong :
       {"Bearer", "Bearer ", "Bearer 0123456789abcdeF", "Bearer 0123456789abcde",
        "Bearer 0123456789abcdef0", "Bearer 0123456789abcdef0123456789abcdef", "0123456789abcdef",
        "Basic 0123456789abcdef", ""}) {
    EXPECT_EQ(with(wrong), 401) << wrong;
  }
  EXPECT_EQ(status(door, {{"Host", "localhost"}}), 401);
  EXPECT_EQ(status(door, {{"Host", "localhost"},
                          {"Authorization", "Bearer 0123456789abcdef"},
                          {"Authorization", "Bearer 0123456789abcdef"}}),
            401);
  const auto refused = refusal(door, asking({{"Host", "localhost"}}));
  ASSERT_EQ(refused->headers.size(), 1U);
  EXPECT_EQ(refused->headers[0].first, "WWW-Authenticate");
  EXPECT_TRUE(refused->headers[0].second.starts_with("Bearer"));
  EXPECT_EQ(refused->message.find("0123456789abcdef"), std::string::npos);
}

TEST(Admission, a_wrong_host_is_told_nothing_of_tokens) {
  EXPECT_EQ(status(door_at("127.0.0.1:1", "0123456789abcdef"), {{"Host", "evil.example"}}), 403);
}

TEST(SameSecret, tells_equal_from_different) {
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_FALSE(same_secret("abc", "abd"));
  EXPECT_FALSE(same_secret("abc", "abcabc"));
  EXPECT_FALSE(same_secret("abc", "ab"));
  EXPECT_FALSE(same_secret("abc", ""));
  EXPECT_FALSE(same_secret("", "abc"));
}

}  // namespace
}  // namespace lockkeeper::http
