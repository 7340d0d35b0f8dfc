#include "mcp/json_rpc.h"

#include <gtest/gtest.h>

namespace lockkeeper::mcp {
namespace {

Incoming only(const std::string& text) {
  const Parsed parsed = parse(text);
  EXPECT_EQ(parsed.messages.size(), 1U) << text;
  return parsed.messages.front();
}

void expect_broken(const std::string& text, int code, const Json& id = nullptr) {
  const Incoming incoming = only(text);
  EXPECT_EQ(incoming.kind, Incoming::Kind::kBroken) << text;
  EXPECT_EQ(incoming.error.code, code) << text << ": " << incoming.error.message;
  EXPECT_EQ(incoming.id, id) << text;
}

TEST(JsonRpc, RequestsNotificationsAndResponsesAreToldApart) {
  EXPECT_EQ(only(R"({"jsonrpc":"2.0","id":1,"method":"a"})").kind, Incoming::Kind::kRequest);
  EXPECT_EQ(only(R"({"jsonrpc":"2.0","method":"a"})").kind, Incoming::Kind::kNotification);
  EXPECT_EQ(only(R"({"jsonrpc":"2.0","id":1,"result":{}})").kind, Incoming::Kind::kResponse);
  const Incoming failed = only(R"({"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}})");
  EXPECT_EQ(failed.kind, Incoming::Kind::kResponse);
  EXPECT_EQ(failed.error.code, -1);
  EXPECT_EQ(failed.error.message, "no");
}

TEST(JsonRpc, IdsOfEveryType) {
  const auto with_id = [](const std::string& id) {
    return R"({"jsonrpc":"2.0","method":"a","id":)" + id + "}";
  };
  for (const char* const good :
       {"0", "-7", "9223372036854775807", "18446744073709551615", "\"\"", R"("a\u0000b")"}) {
    const Incoming incoming = only(with_id(good));
    EXPECT_EQ(incoming.kind, Incoming::Kind::kRequest) << good;
    EXPECT_EQ(incoming.id, Json::parse(good)) << good;
  }
  for (const char* const bad :
       {"null", "true", "1.5", "1e3", "[]", "{}", "123456789012345678901234567890"}) {
    expect_broken(with_id(bad), code::kInvalidRequest);
  }
}

TEST(JsonRpc, BrokenMessagesKeepTheirIdWhereItCanBeTold) {
  expect_broken("{", code::kParseError);
  expect_broken("nonsense", code::kParseError);
  expect_broken("\xff\xfe", code::kParseError);
  expect_broken(R"({"jsonrpc":"2.0","id":1,"method":"\ud800"})", code::kParseError);
  expect_broken(R"({"jsonrpc":"2.0","id":1e999,"method":"a"})", code::kParseError);
  expect_broken("5", code::kInvalidRequest);
  expect_broken("[]", code::kInvalidRequest);
  expect_broken(R"({"id":"x","method":"a"})", code::kInvalidRequest, "x");
  expect_broken(R"({"jsonrpc":"1.0","id":3,"method":"a"})", code::kInvalidRequest, 3);
  expect_broken(R"({"jsonrpc":"2.0","id":3})", code::kInvalidRequest, 3);
  expect_broken(R"({"jsonrpc":"2.0","id":3,"method":5})", code::kInvalidRequest, 3);
  expect_broken(R"({"jsonrpc":"2.0","id":3,"method":"a","params":[1]})", code::kInvalidParams, 3);
  expect_broken(R"({"jsonrpc":"2.0","id":3,"method":"a","method":"b"})", code::kInvalidRequest);
  expect_broken(std::string(kNestingMax, '['), code::kParseError);
  expect_broken(std::string(kNestingMax + 1, '['), code::kInvalidRequest);
  expect_broken(std::string(kMessageBytesMax + 1, ' '), code::kInvalidRequest);
}

// The parser takes a NUL for the end of its text.
TEST(JsonRpc, NothingHidesBehindANul) {
  expect_broken(std::string("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\0 x", 39),
                code::kParseError);
}

// Keys of an object are found one by one: a large one would keep the reader for minutes.
TEST(JsonRpc, ObjectsHaveALimit) {
  const auto with_keys = [](std::size_t count) {
    std::string text = R"({"jsonrpc":"2.0","id":1,"method":"a","params":{)";
    for (std::size_t i = 0; i < count; ++i) {
      text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
    }
    return text + "}}";
  };
  EXPECT_EQ(only(with_keys(kKeysMax)).kind, Incoming::Kind::kRequest);
  expect_broken(with_keys(kKeysMax + 1), code::kInvalidRequest);
}

// What asks for no answer gets none, however broken.
TEST(JsonRpc, NotificationsAndResponsesAreNeverAnswered) {
  EXPECT_EQ(only(R"({"jsonrpc":"2.0","method":"a","params":[1]})").kind,
            Incoming::Kind::kNotification);
  for (const char* const text :
       {R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}})",
        R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}})",
        R"({"jsonrpc":"2.0","id":1.5,"result":{}})", R"({"jsonrpc":"2.0","result":5})"}) {
    const Incoming incoming = only(text);
    EXPECT_EQ(incoming.kind, Incoming::Kind::kResponse) << text;
    EXPECT_TRUE(incoming.id.is_null()) << text;
  }
}

TEST(JsonRpc, BatchesAreTakenApart) {
  const Parsed parsed = parse(R"([{"jsonrpc":"2.0","id":1,"method":"a"},7])");
  ASSERT_TRUE(parsed.batch);
  ASSERT_EQ(parsed.messages.size(), 2U);
  EXPECT_EQ(parsed.messages[0].kind, Incoming::Kind::kRequest);
  EXPECT_EQ(parsed.messages[1].kind, Incoming::Kind::kBroken);
  std::string many = "[0";
  for (std::size_t i = 0; i < kBatchMax; ++i) many += ",0";
  expect_broken(many + "]", code::kInvalidRequest);
}

// The published schemas have an id that is a string or a whole number, or none.
TEST(JsonRpc, AnErrorWithoutAnIdHasNone) {
  EXPECT_FALSE(error_response(nullptr, {}).contains("id"));
  EXPECT_EQ(error_response(7, {})["id"], 7);
}

TEST(JsonRpc, ALineIsOneLine) {
  const std::string line = line_of(response(1, {{"text", "a\nb\xff"}}));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_NE(line.find("\xef\xbf\xbd"), std::string::npos);
}

}  // namespace
}  // namespace lockkeeper::mcp
