#include "mcp/http/http_headers.h"

#include <gtest/gtest.h>

namespace lockkeeper::mcp {
namespace {

http::Request with(http::Headers headers) {
  http::Request request;
  request.headers = std::move(headers);
  return request;
}

Incoming calling(const std::string& method, Json params) {
  Incoming message;
  message.kind = Incoming::Kind::kRequest;
  message.id = 1;
  message.method = method;
  message.params = std::move(params);
  return message;
}

Catalogue with_headers() {
  Catalogue made;
  Tool tool;
  tool.name = "where";
  tool.input_schema = Json::parse(R"({"type":"object","properties":{
    "region":{"type":"string","x-mcp-header":"Region"},
    "size":{"type":"number","x-mcp-header":"Size"},
    "dry":{"type":"boolean","x-mcp-header":"Dry"},
    "plain":{"type":"string"}}})");
  made.tools.push_back(tool);
  return made;
}

TEST(DecodeHeader, is_literal_unless_it_says_that_it_is_base64) {
  EXPECT_EQ(decode_header("Hello"), "Hello");
  EXPECT_EQ(decode_header("SGVsbG8="), "SGVsbG8=");
  EXPECT_EQ(decode_header("=?base64?SGVsbG8="), "=?base64?SGVsbG8=");
  EXPECT_EQ(decode_header("SGVsbG8=?="), "SGVsbG8=?=");
  EXPECT_EQ(decode_header("=?base64?="), "=?base64?=");
  EXPECT_EQ(decode_header("=?base64?SGVsbG8=?="), "Hello");
  EXPECT_EQ(decode_header("=?base64?w6Qg8J+UkA==?="), "ä 🔐");
  EXPECT_EQ(decode_header("=?base64?"
                          "?="),
            "");
}

TEST(DecodeHeader, bad_base64_is_refused) {
  for (const char* const text : {"=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?A===?=",
                                 "=?base64?====?=", "=?base64?SGVsbG9=?=", "=?base64?SG=sbG8=?=",
                                 "=?base64?SGVs bG8?=", "=?base64?SGVs_G8-?="}) {
    EXPECT_FALSE(decode_header(text)) << text;
  }
}

TEST(Accepts, both_types_or_everything) {
  EXPECT_TRUE(accepts(with({}), "application/json"));
  EXPECT_TRUE(accepts(with({{"Accept", "*/*"}}), "text/event-stream"));
  EXPECT_TRUE(accepts(with({{"Accept", "text/*;q=0.5"}}), "text/event-stream"));
  const auto both = with({{"accept", "application/json;q=0.9 , Text/Event-Stream"}});
  EXPECT_TRUE(accepts(both, "application/json"));
  EXPECT_TRUE(accepts(both, "text/event-stream"));
  const auto lines = with({{"Accept", "application/json"}, {"Accept", "text/event-stream"}});
  EXPECT_TRUE(accepts(lines, "text/event-stream"));
  EXPECT_FALSE(accepts(with({{"Accept", "application/json"}}), "text/event-stream"));
  EXPECT_FALSE(accepts(with({{"Accept", "text/html, image/*"}}), "application/json"));
  EXPECT_FALSE(accepts(with({{"Accept", ""}}), "application/json"));
}

TEST(IsJson, with_and_without_a_charset) {
  EXPECT_TRUE(http::is_json(with({{"Content-Type", "application/json"}})));
  EXPECT_TRUE(http::is_json(with({{"content-type", "Application/JSON; charset=utf-8"}})));
  EXPECT_FALSE(http::is_json(with({{"Content-Type", "text/plain"}})));
  EXPECT_FALSE(http::is_json(with({{"Content-Type", "application/jsonp"}})));
  EXPECT_FALSE(http::is_json(with({})));
}

TEST(HeaderMismatch, method_and_name_are_those_of_the_body) {
  const Catalogue offered = with_headers();
  const auto wrong = [&](http::Headers headers, const std::string& method, Json params) {
    const auto error =
        header_mismatch(with(std::move(headers)), calling(method, std::move(params)), offered);
    EXPECT_EQ(error ? error->code : code::kHeaderMismatch, code::kHeaderMismatch);
    return error.has_value();
  };
  EXPECT_FALSE(wrong({{"mcp-method", "tools/list"}}, "tools/list", Json::object()));
  EXPECT_TRUE(wrong({}, "tools/list", Json::object()));
  EXPECT_TRUE(wrong({{"Mcp-Method", "TOOLS/LIST"}}, "tools/list", Json::object()));
  EXPECT_TRUE(wrong({{"Mcp-Method", "a"}, {"Mcp-Method", "a"}}, "a", Json::object()));
  const http::Headers call = {{"Mcp-Method", "tools/call"}};
  EXPECT_TRUE(wrong(call, "tools/call", {{"name", "x"}}));
  EXPECT_FALSE(wrong(call, "tools/call", Json::object()));
  EXPECT_FALSE(wrong({call[0], {"Mcp-Name", "x"}}, "tools/call", {{"name", "x"}}));
  EXPECT_FALSE(wrong({call[0], {"Mcp-Name", "=?base64?eA==?="}}, "tools/call", {{"name", "x"}}));
  EXPECT_TRUE(wrong({call[0], {"Mcp-Name", "=?base64?eA?="}}, "tools/call", {{"name", "x"}}));
  EXPECT_TRUE(wrong({call[0], {"Mcp-Name", "y"}}, "tools/call", {{"name", "x"}}));
  EXPECT_FALSE(wrong({{"Mcp-Method", "resources/read"}, {"Mcp-Name", "lock://a"}}, "resources/read",
                     {{"uri", "lock://a"}}));
  EXPECT_TRUE(wrong({{"Mcp-Method", "prompts/get"}}, "prompts/get", {{"name", "x"}}));
}

TEST(HeaderMismatch, parameters_that_a_schema_wants_in_headers) {
  const Catalogue offered = with_headers();
  const auto wrong = [&](const http::Headers& more, Json arguments) {
    http::Headers headers = {{"Mcp-Method", "tools/call"}, {"Mcp-Name", "where"}};
    headers.insert(headers.end(), more.begin(), more.end());
    return header_mismatch(with(headers),
                           calling("tools/call", {{"name", "where"}, {"arguments", arguments}}),
                           offered)
        .has_value();
  };
  EXPECT_FALSE(wrong({}, Json::object()));
  EXPECT_FALSE(wrong({}, {{"plain", "x"}}));
  EXPECT_FALSE(wrong({}, {{"region", nullptr}}));
  EXPECT_TRUE(wrong({}, {{"region", "eu"}}));
  EXPECT_FALSE(wrong({{"Mcp-Param-Region", "eu"}}, {{"region", "eu"}}));
  EXPECT_FALSE(wrong({{"mcp-param-REGION", "=?base64?ZXU=?="}}, {{"region", "eu"}}));
  EXPECT_TRUE(wrong({{"Mcp-Param-Region", "EU"}}, {{"region", "eu"}}));
  EXPECT_TRUE(wrong({{"Mcp-Param-Region", "eu"}}, Json::object()));
  EXPECT_FALSE(wrong({{"Mcp-Param-Size", "3"}}, {{"size", 3}}));
  EXPECT_FALSE(wrong({{"Mcp-Param-Size", "3.50"}}, {{"size", 3.5}}));
  EXPECT_TRUE(wrong({{"Mcp-Param-Size", "4"}}, {{"size", 3}}));
  EXPECT_TRUE(wrong({{"Mcp-Param-Size", "3x"}}, {{"size", 3}}));
  EXPECT_FALSE(wrong({{"Mcp-Param-Dry", "true"}}, {{"dry", true}}));
  EXPECT_TRUE(wrong({{"Mcp-Param-Dry", "1"}}, {{"dry", true}}));
}

}  // namespace
}  // namespace lockkeeper::mcp
