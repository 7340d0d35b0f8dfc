// Bad input over stdio: each has its answer by the protocol, and the server lives on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mcp/client.h"

namespace lockkeeper::proof {
namespace {

using testing::AnyOf;
using testing::Eq;

std::string named(const testing::TestParamInfo<const char*>& revision) {
  std::string name = revision.param;
  std::ranges::replace(name, '-', '_');
  return "of_" + name;
}

class BadInput : public testing::TestWithParam<const char*> {
 protected:
  BadInput() : client_(stage_, {.revision = GetParam(), .agent = "alice"}) {}
  void TearDown() override {
    client_.expect_alive();
    EXPECT_EQ(client_.finish(), 0);
  }

  // Sends the line, which names no request; what comes back is one error without an id.
  void refused(const std::string& line, int code) {
    SCOPED_TRACE(line.substr(0, 200));
    const std::size_t before = client_.lines().size();
    client_.raw(line);
    client_.settle();
    ASSERT_EQ(client_.lines().size(), before + 1);
    const Json answer = Json::parse(client_.lines().back());
    EXPECT_EQ(answer["error"]["code"], code) << answer;
  }

  // A request of the client's era, as a text in which `id` stands as it is.
  std::string line(const std::string& id, const std::string& method, Json params = Json::object()) {
    if (std::string(GetParam()) == kModern) params = modern_params(params);
    return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + R"(","params":)" +
           params.dump() + "}";
  }

  stage::Stage stage_;
  Client client_;
};

TEST_P(BadInput, garbage) {
  for (const char* const text :
       {"hello", "{", "}", "{]", "\"", "nul", "{\"a\":}", "{'a':1}", "01",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", "//", "NaN"}) {
    refused(text, -32700);
  }
  for (const char* const text : {"null", "true", "3", "\"ping\"", "[]", "{}",
                                 R"({"jsonrpc":"2.0"})", R"({"jsonrpc":2.0,"method":"ping"})"}) {
    refused(text, -32600);
  }
}

TEST_P(BadInput, requests_that_are_none_are_refused_under_their_id) {
  for (const char* const text :
       {R"({"jsonrpc":"2.0","id":"q"})", R"({"id":"q","method":"ping"})",
        R"({"jsonrpc":"1.0","id":"q","method":"ping"})", R"({"jsonrpc":"2.0","id":"q","method":7})",
        R"({"jsonrpc":"2.0","id":"q","method":null})"}) {
    client_.raw(text);
    EXPECT_EQ(client_.wait_for("q")["error"]["code"], -32600) << text;
  }
  for (const char* const params : {"3", "null", "\"x\"", "[1]", "true"}) {
    client_.raw(R"({"jsonrpc":"2.0","id":"p","method":"tools/list","params":)" +
                std::string(params) + "}");
    EXPECT_EQ(client_.wait_for("p")["error"]["code"], -32602) << params;
  }
}

TEST_P(BadInput, what_is_no_utf8) {
  refused("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700);
  refused("{\"a\":\"\xc0\xaf\"}", -32700);      // overlong
  refused("{\"a\":\"\xed\xa0\x80\"}", -32700);  // a surrogate
  refused(R"({"a":"\ud800"})", -32700);         // half a pair
  refused(R"({"a":"\udc00\ud800"})", -32700);   // the wrong way round
  refused(std::string("{\"a\":\"\0\"}", 9), -32700);
  refused(std::string("\0", 1), -32700);
  refused(line("1", "tools/list") + std::string("\0", 1), -32700);
  refused("{\"a\":\"\x01\"}", -32700);
}

TEST_P(BadInput, nesting) {
  for (const std::size_t depth : {65UL, 1'000UL, 100'000UL}) {
    refused(std::string(depth, '[') + std::string(depth, ']'), -32600);
    std::string objects;
    for (std::size_t i = 0; i < depth; ++i) objects += "{\"a\":";
    refused(objects + "1" + std::string(depth, '}'), -32600);
    refused(std::string(depth, '['), -32600);
  }
}

TEST_P(BadInput, a_key_given_twice) {
  refused(R"({"jsonrpc":"2.0","id":1,"id":2,"method":"ping"})", -32600);
  refused(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":{"b":1,"b":1}}})", -32600);
}

TEST_P(BadInput, ids_of_every_type) {
  for (const char* const id : {"\"\"", "\"x\"", "0", "-1", "9223372036854775807",
                               "18446744073709551615", R"("\u0000")", R"("é\n")"}) {
    client_.raw(line(id, "tools/list"));
    EXPECT_TRUE(client_.wait_for(Json::parse(id)).contains("result")) << id;
  }
  const std::string longest = "\"" + std::string(100'000, 'i') + "\"";
  client_.raw(line(longest, "tools/list"));
  EXPECT_TRUE(client_.wait_for(Json::parse(longest)).contains("result"));
  for (const char* const id : {"null", "true", "1.5", "1e3", "[1]", "{}", "18446744073709551616"}) {
    refused(line(id, "tools/list"), -32600);
  }
  refused(line("1e999", "tools/list"), -32700);
}

TEST_P(BadInput, one_id_twice_at_a_time) {
  stage_.expect(0, "bob", {"acquire", "a"});
  const Json call{{"name", "lock_acquire"}, {"arguments", {{"resources", {"a"}}, {"wait_s", 45}}}};
  client_.raw(line("\"same\"", "tools/call", call));
  ASSERT_TRUE(stage_.queue_grows_to(1));
  client_.raw(line("\"same\"", "tools/call", call));
  EXPECT_EQ(client_.wait_for("same")["error"]["code"], -32600);
  stage_.expect(0, "bob", {"release", "--all"});
  client_.settle();
  EXPECT_EQ(stage_.list()["leases"][0]["agent"], "alice");
}

TEST_P(BadInput, notifications_for_nobody) {
  const std::size_t before = client_.lines().size();
  for (const char* const params :
       {"", R"(,"params":{})", R"(,"params":{"requestId":99})", R"(,"params":{"requestId":null})",
        R"(,"params":{"requestId":{"a":[]}})", R"(,"params":[1,2])", R"(,"params":7)",
        R"(,"params":{"progressToken":1,"progress":"x"})"}) {
    for (const char* const method :
         {"notifications/cancelled", "notifications/progress", "notifications/initialized",
          "notifications/roots/list_changed", "notifications/invented", "tools/list", ""}) {
      client_.raw(R"({"jsonrpc":"2.0","method":")" + std::string(method) + "\"" + params + "}");
    }
  }
  client_.raw(R"({"jsonrpc":"2.0","id":99,"result":{}})");
  client_.raw(R"({"jsonrpc":"2.0","id":"x","error":{"code":1e300,"message":3}})");
  client_.raw(R"({"jsonrpc":"2.0","id":1,"error":{"code":99999999999999,"message":"m"}})");
  client_.expect_alive();
  EXPECT_EQ(client_.lines().size(), before + 1) << "a notification was answered";
}

TEST_P(BadInput, revisions_that_there_are_not) {
  for (const Json& revision : {Json("2027-01-01"), Json("2025-11-25"), Json(""), Json("draft")}) {
    Json params = modern_params(Json::object());
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = revision;
    client_.raw(
        Json{{"jsonrpc", "2.0"}, {"id", "r"}, {"method", "tools/list"}, {"params", params}}.dump());
    const Json error = client_.wait_for("r")["error"];
    EXPECT_EQ(error["code"], -32022) << revision;
    EXPECT_EQ(error["data"]["requested"], revision);
  }
  for (const Json& revision : {Json(7), Json(true), Json::array(), Json::object()}) {
    Json params = modern_params(Json::object());
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = revision;
    client_.raw(
        Json{{"jsonrpc", "2.0"}, {"id", "r"}, {"method", "tools/list"}, {"params", params}}.dump());
    EXPECT_EQ(client_.wait_for("r")["error"]["code"], -32602) << revision;
  }
  for (const Json& meta : {Json(), Json(3), Json::array(), Json("x")}) {
    client_.raw(Json{
        {"jsonrpc", "2.0"}, {"id", "m"}, {"method", "tools/list"}, {"params", {{"_meta", meta}}}}
                    .dump());
    EXPECT_TRUE(client_.wait_for("m").is_object()) << meta;
  }
}

TEST_P(BadInput, ends_of_lines_and_a_mark_at_the_beginning) {
  client_.raw_bytes("\r\n\n  \n\t\r\n");
  const std::string request = line("\"crlf\"", "tools/list");
  client_.checker().sent(request);
  client_.raw_bytes(request + "\r\n");
  EXPECT_TRUE(client_.wait_for("crlf").contains("result"));
  client_.raw("\xef\xbb\xbf" + line("\"bom\"", "tools/list"));
  EXPECT_TRUE(client_.wait_for("bom").contains("result"));
  client_.raw("  \t" + line("\"blank\"", "tools/list") + "  ");
  EXPECT_TRUE(client_.wait_for("blank").contains("result"));
}

TEST_P(BadInput, a_line_that_is_too_long) {
  constexpr std::size_t kMost = 4U << 20;
  refused(std::string(kMost + 1, 'x'), -32600);
  refused(std::string(3 * kMost, ' ') + "x", -32600);
  std::string request = line("\"long\"", "tools/list", {{"x", ""}});
  request.insert(request.find("\"x\":\"") + 5, kMost - request.size(), 'y');
  ASSERT_EQ(request.size(), kMost);
  client_.raw(request);
  EXPECT_TRUE(client_.wait_for("long").contains("result"));
}

TEST_P(BadInput, a_message_in_pieces) {
  const std::string request = line("\"pieces\"", "tools/list");
  client_.checker().sent(request);
  for (const char each : request + "\n") client_.raw_bytes(std::string(1, each));
  EXPECT_TRUE(client_.wait_for("pieces").contains("result"));
}

TEST_P(BadInput, many_requests_before_anything_is_read) {
  // Long answers fill the pipe to us, and short requests the one to the server.
  for (int i = 0; i < 100; ++i) client_.request("tools/list");
  for (int i = 0; i < 3'000; ++i) client_.request("ping");
  const int last = client_.request("tools/list");
  EXPECT_TRUE(client_.wait_for(last).contains("result"));
  for (int i = 0; i < 300; ++i) client_.start_tool("lock_status", Json::object());
  client_.settle();
}

TEST_P(BadInput, methods_with_anything_for_parameters) {
  const std::vector<Json> values = {
      nullptr, true, -1, 1e300, "", "x", Json::array({1}), {{"a", {{"b", nullptr}}}}};
  for (const char* const method :
       {"tools/call", "tools/list", "resources/read", "resources/list", "resources/subscribe",
        "resources/templates/list", "prompts/get", "prompts/list", "completion/complete",
        "logging/setLevel", "server/discover", "ping", "resources/unsubscribe", "tasks/get"}) {
    for (const char* const name :
         {"name", "arguments", "uri", "cursor", "ref", "argument", "level", "_meta"}) {
      for (const Json& value : values) {
        const bool meta = name == std::string("_meta");  // revisions_that_there_are_not
        if (!meta || value.is_object()) client_.request(method, {{name, value}});
      }
    }
  }
  client_.settle();
  for (const Json& value : values) {
    client_.request("completion/complete",
                    {{"ref", {{"type", value}, {"uri", value}, {"name", value}}},
                     {"argument", {{"name", "path"}, {"value", "a"}}}});
    if (value.is_object()) continue;
    client_.request("tools/call", {{"name", "lock_status"},
                                   {"_meta", {{"progressToken", value}, {"sessionId", value}}}});
  }
  client_.settle();
}

INSTANTIATE_TEST_SUITE_P(Revisions, BadInput,
                         testing::Values("2024-11-05", "2025-03-26", "2025-11-25", kModern), named);

TEST(BadInputAtTheEnd, the_last_line_may_lack_its_end_and_half_a_message_is_told) {
  stage::Stage stage;
  for (const char* const half : {"{", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi", "\xff"}) {
    Client client(stage, {.opens = false});
    client.checker().sent(half);
    client.raw_bytes(half);
    EXPECT_EQ(client.finish(), 0);
    ASSERT_EQ(client.lines().size(), 1U);
    EXPECT_EQ(Json::parse(client.lines()[0])["error"]["code"], -32700);
  }
  Client client(stage, {.opens = false});
  const std::string whole = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
  client.checker().sent(whole);
  client.raw_bytes(whole);
  EXPECT_EQ(client.finish(), 0);
  EXPECT_EQ(client.checker().open_requests(), 0U);
}

TEST(BadInputAtTheEnd, a_client_that_stops_reading_and_goes) {
  stage::Stage stage;
  Client client(stage, {.opens = false});
  client.close_stdout();
  client.raw_bytes(R"({"jsonrpc":"2.0","id":1,"method":"ping"})"
                   "\n");
  client.close_stdin();
  EXPECT_EQ(client.process().wait(), 0);
}

TEST(BadInputBefore, initialize_with_anything) {
  stage::Stage stage;
  const auto asked = [](Client& client, const Json& params) {
    client.raw(
        Json{{"jsonrpc", "2.0"}, {"id", "i"}, {"method", "initialize"}, {"params", params}}.dump());
    return client.wait_for("i");
  };
  const Json whole{{"protocolVersion", "2025-06-18"},
                   {"capabilities", Json::object()},
                   {"clientInfo", {{"name", "n"}, {"version", "1"}}}};
  for (const char* const revision : {"1999-01-01", "", "2026-07-28", "\u2028", "9999-99-99"}) {
    Client client(stage, {.opens = false});
    EXPECT_EQ(asked(client, Json::object())["error"]["code"], -32602);
    for (const Json& value : {Json(), Json(3), Json::array()}) {
      Json mistyped = whole;
      mistyped["protocolVersion"] = value;
      EXPECT_EQ(asked(client, mistyped)["error"]["code"], -32602) << mistyped;
    }
    Json unknown = whole;
    unknown["protocolVersion"] = revision;
    EXPECT_EQ(asked(client, unknown)["result"]["protocolVersion"], "2025-11-25");
    EXPECT_EQ(asked(client, whole)["error"]["code"], -32600) << "once is enough";
  }
}

TEST(BadInputBefore, initialize_comes_first_in_the_legacy_era) {
  stage::Stage stage;
  Client client(stage, {.revision = "2025-06-18", .opens = false});
  EXPECT_EQ(client.ask_in_vain("tools/list")["code"], -32600);
  EXPECT_EQ(client.ask("ping"), Json::object());
  client.raw("garbage");
  client.settle();
}

}  // namespace
}  // namespace lockkeeper::proof
