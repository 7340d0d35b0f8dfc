// The judge, judged: every rule of the checker has a message that breaks it.
#include "mcp/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mcp/published.h"

namespace lockkeeper::proof {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Json modern(Json params = Json::object()) {
  params["_meta"]["io.modelcontextprotocol/protocolVersion"] = kModern;
  params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = Json::object();
  return params;
}

Json request(const Json& id, const std::string& method, const Json& params = nullptr) {
  Json json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}};
  if (!params.is_null()) json["params"] = params;
  return json;
}

Json result(const Json& id, const Json& result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", result}};
}

Json error(const Json& id, int code, const Json& data = nullptr) {
  Json json{{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", "no"}}}};
  if (!data.is_null()) json["error"]["data"] = data;
  return json;
}

Json notification(const std::string& method, const Json& params = nullptr) {
  Json json{{"jsonrpc", "2.0"}, {"method", method}};
  if (!params.is_null()) json["params"] = params;
  return json;
}

Json text_result(bool modern_era = true) {
  Json json{{"content", Json::array({{{"type", "text"}, {"text", "hello"}}})}};
  if (modern_era) json["resultType"] = "complete";
  return json;
}

Json tool(const Json& more = Json::object()) {
  Json json{{"name", "t"}, {"inputSchema", {{"type", "object"}}}};
  json.update(more);
  return json;
}

Json listed(const Json& tools) {
  return {{"resultType", "complete"}, {"ttlMs", 0}, {"cacheScope", "public"}, {"tools", tools}};
}

Json agreed(const std::string& revision, const Json& capabilities = Json::object()) {
  return {{"protocolVersion", revision},
          {"capabilities", capabilities},
          {"serverInfo", {{"name", "s"}, {"version", "1"}}}};
}

class CheckerTest : public testing::Test {
 protected:
  void send(const Json& message) { checker_.sent(message.dump()); }
  void fine(const Json& message) { EXPECT_THAT(checker_.received(message.dump()), IsEmpty()); }
  void wrong(const Json& message, const std::string& why) {
    EXPECT_THAT(told(message.dump()), HasSubstr(why));
  }
  std::string told(const std::string& text) {
    std::string all;
    for (const std::string& each : checker_.received(text)) all += each + "\n";
    return all;
  }
  // A conversation of the legacy era.
  void initialize(const std::string& revision, const Json& offered = Json::object(),
                  const Json& can = Json::object()) {
    send(request("i", "initialize",
                 {{"protocolVersion", revision},
                  {"capabilities", can},
                  {"clientInfo", {{"name", "c"}, {"version", "1"}}}}));
    fine(result("i", agreed(revision, offered)));
  }
  void listen(const Json& wanted, const Json& honoured) {
    send(request(7, "subscriptions/listen", modern({{"notifications", wanted}})));
    fine(notification("notifications/subscriptions/acknowledged",
                      tagged(7, {{"notifications", honoured}})));
  }
  static Json tagged(const Json& id, Json params = Json::object()) {
    params["_meta"][kSubscriptionKey] = id;
    return params;
  }

  Checker checker_;
};

// --- messages ----------------------------------------------------------------------------------

TEST_F(CheckerTest, a_line_is_one_message_in_utf8) {
  EXPECT_THAT(told("hello"), HasSubstr("not JSON"));
  EXPECT_THAT(told("\"\xff\""), HasSubstr("not JSON"));
  EXPECT_THAT(told("{\"jsonrpc\":\"2.0\",\n\"id\":1}"), HasSubstr("line break"));
  EXPECT_THAT(told(R"({"jsonrpc":"2.0","id":1,"id":1,"result":{}})"), HasSubstr("twice"));
  EXPECT_THAT(told("[]"), HasSubstr("batch"));
  EXPECT_THAT(told("3"), HasSubstr("JSON-RPC"));
  EXPECT_THAT(told(std::string("{}\0", 3)), HasSubstr("not JSON"));
}

TEST_F(CheckerTest, a_message_has_the_members_of_json_rpc) {
  wrong({{"id", 1}, {"result", Json::object()}}, "JSON-RPC");
  wrong({{"jsonrpc", "1.0"}, {"id", 1}, {"result", Json::object()}}, "JSON-RPC");
  wrong({{"jsonrpc", "2.0"}, {"id", 1}, {"result", Json::object()}, {"extra", 1}}, "extra");
  wrong({{"jsonrpc", "2.0"}, {"id", 1}}, "either");
  Json both = result(1, Json::object());
  both["error"] = {{"code", 1}, {"message", "m"}};
  wrong(both, "either");
  wrong({{"jsonrpc", "2.0"}, {"method", 3}}, "name of a method");
}

TEST_F(CheckerTest, one_answer_for_each_request) {
  send(request(1, "tools/call", modern({{"name", "t"}})));
  EXPECT_EQ(checker_.open_requests(), 1U);
  wrong(result("1", text_result()), "nobody asked");
  wrong(result(1.5, text_result()), "neither");
  fine(result(1, text_result()));
  EXPECT_EQ(checker_.open_requests(), 0U);
  wrong(result(1, text_result()), "answered before");
  wrong(error(2, -32603), "nobody asked");
}

TEST_F(CheckerTest, a_second_request_under_one_id_is_refused_and_the_first_answered) {
  send(request(1, "tools/call", modern({{"name", "t"}})));
  send(request(1, "tools/list", modern()));
  fine(error(1, -32600));
  fine(result(1, text_result()));
  wrong(error(1, -32600), "answered before");
}

TEST_F(CheckerTest, notifications_are_not_answered) {
  send(notification("notifications/initialized"));
  send({{"jsonrpc", "2.0"}, {"method", "notifications/x"}, {"params", {1}}});
  Json nameless = error(nullptr, -32600);
  nameless.erase("id");
  wrong(nameless, "for none");
}

TEST_F(CheckerTest, what_cannot_be_read_is_owed_one_error_without_an_id) {
  Json nameless = error(nullptr, -32700);
  nameless.erase("id");
  checker_.sent("{");
  EXPECT_EQ(checker_.open_errors(), 1U);
  fine(nameless);
  wrong(nameless, "for none");
  checker_.sent(std::string(65, '[') + std::string(65, ']'));
  fine(nameless);
  checker_.sent(R"({"jsonrpc":"2.0","id":1,"id":2,"method":"ping"})");
  wrong(error(nullptr, -32600), "left out");
  send({{"jsonrpc", "2.0"}, {"id", nullptr}, {"method", "ping"}});
  fine(nameless);
  send({{"jsonrpc", "2.0"}, {"id", 1.5}, {"method", "ping"}});
  fine(nameless);
  initialize("2025-03-26");
  checker_.sent("{");
  checker_.sent("{");
  fine(error(nullptr, -32700));
  fine(nameless);
  wrong({{"jsonrpc", "2.0"}, {"result", Json::object()}}, "answers nothing");
}

TEST_F(CheckerTest, the_cancelled_are_not_answered) {
  send(request(1, "tools/call", modern({{"name", "t"}})));
  send(request(2, "tools/call", modern({{"name", "t"}})));
  send(notification("notifications/cancelled", {{"requestId", 1}}));
  send(notification("notifications/cancelled", {{"requestId", 2}}));
  EXPECT_EQ(checker_.open_requests(), 0U);
  fine(result(1, text_result()));  // they crossed
  checker_.expect_no_answer(2);
  wrong(result(2, text_result()), "cancelled");
}

TEST_F(CheckerTest, batches_are_for_one_revision) {
  initialize("2025-03-26");
  checker_.sent(Json::array({request(1, "ping"), request(2, "ping")}).dump());
  fine(Json::array({result(2, Json::object()), result(1, Json::object())}));
  EXPECT_EQ(checker_.open_requests(), 0U);
}

// --- errors ------------------------------------------------------------------------------------

TEST_F(CheckerTest, errors_have_a_code_and_words) {
  for (int i = 0; i < 5; ++i) send(request(i, "x", modern()));
  wrong({{"jsonrpc", "2.0"}, {"id", 0}, {"error", {{"code", -32600}}}}, "lacks message");
  wrong({{"jsonrpc", "2.0"}, {"id", 1}, {"error", {{"code", "x"}, {"message", "m"}}}},
        "whole number");
  wrong({{"jsonrpc", "2.0"}, {"id", 2}, {"error", {{"code", -32600}, {"message", ""}}}},
        "no words");
  wrong({{"jsonrpc", "2.0"}, {"id", 3}, {"error", 3}}, "no object");
  wrong({{"jsonrpc", "2.0"}, {"id", 4}, {"error", {{"code", 1}, {"message", "m"}, {"x", 1}}}},
        "has x");
}

TEST_F(CheckerTest, error_codes_belong_to_their_era) {
  for (int i = 0; i < 8; ++i) send(request(i, "x", modern()));
  wrong(error(0, -32000), "-32000");
  wrong(error(1, -32002), "-32002");
  wrong(error(2, -32022), "lacks supported");
  fine(error(3, -32022, {{"supported", {kModern}}, {"requested", "x"}}));
  wrong(error(4, -32021, {{"requiredCapabilities", {"sampling"}}}), "no object");
  fine(error(5, -32021, {{"requiredCapabilities", {{"sampling", Json::object()}}}}));
  fine(error(6, 17));
  initialize("2025-06-18");
  for (int i = 10; i < 12; ++i) send(request(i, "resources/read", {{"uri", "a:b"}}));
  fine(error(10, -32002));
  wrong(error(11, -32020), "-32020");
}

// --- results -----------------------------------------------------------------------------------

TEST_F(CheckerTest, modern_results_say_what_they_are) {
  for (int i = 0; i < 9; ++i) send(request(i, "tools/list", modern()));
  Json none = listed(Json::array({tool()}));
  none.erase("resultType");
  wrong(result(0, none), "resultType");
  wrong(result(1, {{"resultType", "input_required"}, {"requestState", "s"}}), "may not");
  for (const char* const missing : {"ttlMs", "cacheScope"}) {
    Json less = listed(Json::array({tool()}));
    less.erase(missing);
    wrong(result(missing[0] == 't' ? 2 : 3, less), "lacks ttlMs or cacheScope");
  }
  Json bad = listed(Json::array({tool()}));
  bad["ttlMs"] = -1;
  wrong(result(4, bad), "whole number");
  bad = listed(Json::array({tool()}));
  bad["cacheScope"] = "mine";
  wrong(result(5, bad), "cacheScope");
  wrong(result(6, 3), "no object");
  fine(result(7, listed(Json::array({tool()}))));
  wrong(result(8, listed(nullptr)), "no array");
}

TEST_F(CheckerTest, input_is_asked_for_only_where_it_may_be_and_with_something_to_ask) {
  for (int i = 0; i < 2; ++i) send(request(i, "tools/call", modern({{"name", "t"}})));
  wrong(result(0, {{"resultType", "input_required"}}), "asks for nothing");
  fine(result(1, {{"resultType", "input_required"}, {"requestState", "s"}}));
}

TEST_F(CheckerTest, legacy_results_have_nothing_of_the_modern_era) {
  wrong(result("none", Json::object()), "nobody");
  send(request(0, "tools/list"));
  wrong(result(0, {{"tools", Json::array()}}), "before initialize");
  initialize("2025-11-25");
  send(request(1, "tools/list"));
  wrong(result(1, listed(Json::array({tool()}))), "has cacheScope");
  send(request(2, "tools/call", {{"name", "t"}}));
  wrong(result(2, text_result()), "has resultType");
  send(request(3, "ping"));
  fine(result(3, Json::object()));
  send(request(4, "ping"));
  wrong(result(4, {{"pong", true}}), "has pong");
}

TEST_F(CheckerTest, initialize_agrees_on_what_was_asked_for) {
  const auto ask = [&](int id, const char* revision) {
    send(request(id, "initialize", {{"protocolVersion", revision}}));
  };
  ask(1, "2025-03-26");
  wrong(result(1, agreed("2025-06-18")), "asked for");
  ask(2, "1999-01-01");
  fine(result(2, agreed("2025-11-25")));
  ask(3, "2025-06-18");
  wrong(result(3, agreed(kModern)), "agrees on");
  ask(4, "2025-06-18");
  Json lacking = agreed("2025-06-18");
  lacking.erase("serverInfo");
  wrong(result(4, lacking), "lacks serverInfo");
  ask(5, "2024-11-05");
  Json titled = agreed("2024-11-05");
  titled["serverInfo"]["title"] = "T";
  wrong(result(5, titled), "came with 2025-06-18");
}

TEST_F(CheckerTest, discover_says_what_it_speaks) {
  Json good{{"resultType", "complete"},
            {"ttlMs", 0},
            {"cacheScope", "public"},
            {"supportedVersions", {kModern}},
            {"capabilities", Json::object()},
            {"_meta", {{kServerInfoKey, {{"name", "s"}, {"version", "1"}}}}}};
  for (int i = 0; i < 4; ++i) send(request(i, "server/discover", modern()));
  fine(result(0, good));
  Json bad = good;
  bad["supportedVersions"] = Json::array();
  wrong(result(1, bad), "supports nothing");
  bad = good;
  bad["_meta"][kServerInfoKey].erase("version");
  wrong(result(2, bad), "lacks version");
  bad = good;
  bad["capabilities"]["tools"] = true;
  wrong(result(3, bad), "no object");
}

TEST_F(CheckerTest, tools_are_listed_as_their_revision_has_them) {
  int id = 0;
  const auto legacy = [&](const Json& listed_tool) {
    send(request(++id, "tools/list"));
    return result(id, {{"tools", Json::array({listed_tool})}});
  };
  initialize("2024-11-05");
  fine(legacy(tool({{"description", "d"}})));
  wrong(legacy(tool({{"annotations", Json::object()}})), "came with 2025-03-26");
  wrong(legacy(tool({{"title", "t"}})), "came with 2025-06-18");
  wrong(legacy(tool({{"outputSchema", {{"type", "object"}}}})), "came with 2025-06-18");
  wrong(legacy({{"name", "t"}}), "lacks inputSchema");
  wrong(legacy(tool({{"inputSchema", {{"type", "string"}}}})), "no schema of an object");
  wrong(legacy(tool({{"name", "a b"}})), "not of the form");
  initialize("2025-11-25");
  wrong(legacy(tool({{"annotations", {{"readOnlyHint", "no"}}}})), "neither true nor false");
  wrong(legacy(tool({{"outputSchema", {{"type", "array"}}}})), "no schema of an object");
  fine(legacy(tool({{"icons", {{{"src", "https://e.org/i.png"}, {"theme", "dark"}}}}})));
  wrong(legacy(tool({{"icons", {{{"theme", "dark"}}}}})), "lacks src");
}

TEST_F(CheckerTest, content_is_of_a_known_type) {
  initialize("2024-11-05");
  int id = 0;
  const auto with = [&](const Json& block) {
    send(request(++id, "tools/call", {{"name", "t"}}));
    return result(id, {{"content", Json::array({block})}});
  };
  fine(with({{"type", "image"}, {"data", "aGk="}, {"mimeType", "image/png"}}));
  wrong(with({{"type", "text"}}), "lacks text");
  wrong(with({{"type", "image"}, {"data", "a!"}, {"mimeType", "image/png"}}), "form");
  wrong(with({{"type", "audio"}, {"data", ""}, {"mimeType", "audio/wav"}}), "does not have");
  wrong(with({{"type", "video"}}), "does not have");
  wrong(with("text"), "no content block");
  wrong(with({{"type", "resource"}, {"resource", {{"uri", "a:b"}}}}), "text or a blob");
  fine(with({{"type", "resource"}, {"resource", {{"uri", "a:b"}, {"text", ""}}}}));
  wrong(with({{"type", "text"}, {"text", "t"}, {"annotations", {{"priority", 2}}}}), "0 to 1");
  initialize("2025-06-18");
  fine(with({{"type", "resource_link"}, {"uri", "a:b"}, {"name", "n"}}));
  wrong(with({{"type", "resource_link"}, {"uri", "a b"}, {"name", "n"}}), "form");
}

TEST_F(CheckerTest, a_tools_structure_is_the_one_it_declares) {
  const Json schema{{"type", "object"},
                    {"required", {"message"}},
                    {"properties", {{"message", {{"type", "string"}}}}}};
  send(request(1, "tools/list", modern()));
  fine(result(1, listed(Json::array({tool({{"outputSchema", schema}})}))));
  for (int i = 2; i < 7; ++i) send(request(i, "tools/call", modern({{"name", "t"}})));
  Json given = text_result();
  wrong(result(2, given), "structure is missing");
  given["structuredContent"] = {{"message", 3}};
  EXPECT_NE(told(result(3, given).dump()), "");
  given["structuredContent"] = {{"message", "m"}};
  fine(result(4, given));
  given = text_result();
  given["isError"] = true;
  fine(result(5, given));
  given["isError"] = "no";
  wrong(result(6, given), "neither true nor false");
}

TEST_F(CheckerTest, structure_came_later) {
  initialize("2025-03-26");
  send(request(1, "tools/call", {{"name", "t"}}));
  Json given = text_result(false);
  given["structuredContent"] = Json::object();
  wrong(result(1, given), "came with 2025-06-18");
}

TEST_F(CheckerTest, resources_prompts_and_completions) {
  initialize("2025-06-18");
  int id = 0;
  const auto answer = [&](const char* method, const Json& given) {
    send(request(++id, method, Json::object()));
    return result(id, given);
  };
  fine(answer("resources/list", {{"resources", {{{"uri", "lock://a"}, {"name", "a"}}}}}));
  wrong(answer("resources/list", {{"resources", {{{"uri", "lock://a"}}}}}), "lacks name");
  wrong(answer("resources/list", {{"resources", {{{"uri", "a{b}"}, {"name", "a"}}}}}), "form");
  fine(answer("resources/templates/list",
              {{"resourceTemplates", {{{"uriTemplate", "lock://{a}"}, {"name", "a"}}}}}));
  wrong(answer("resources/templates/list", {{"resourceTemplates", {{{"name", "a"}}}}}),
        "lacks uri");
  wrong(answer("resources/read", {{"contents", {{{"uri", "a:b"}}}}}), "text or a blob");
  wrong(answer("resources/read", Json::object()), "lacks contents");
  wrong(answer("prompts/list", {{"prompts", {{{"title", "a"}}}}}), "lacks name");
  wrong(answer("prompts/list", {{"prompts", Json::array()}, {"nextCursor", 3}}), "no string");
  const Json said{{"role", "user"}, {"content", {{"type", "text"}, {"text", "t"}}}};
  fine(answer("prompts/get", {{"messages", Json::array({said})}}));
  Json other = said;
  other["role"] = "system";
  wrong(answer("prompts/get", {{"messages", Json::array({other})}}), "none of those allowed");
  fine(answer("completion/complete", {{"completion", {{"values", {"a"}}, {"total", 1}}}}));
  wrong(answer("completion/complete",
               {{"completion", {{"values", std::vector<std::string>(101, "a")}}}}),
        "more than 100");
  wrong(answer("completion/complete", Json::object()), "lacks completion");
}

// --- notifications -----------------------------------------------------------------------------

TEST_F(CheckerTest, progress_is_for_a_token_and_only_ever_more) {
  Json params = modern({{"name", "t"}});
  params["_meta"]["progressToken"] = "p";
  send(request(1, "tools/call", params));
  const auto at = [](const Json& token, const Json& done) {
    return notification("notifications/progress", {{"progressToken", token}, {"progress", done}});
  };
  fine(at("p", 0));
  fine(at("p", 1.5));
  wrong(at("p", 1.5), "more each time");
  wrong(at("q", 1), "nothing that is at work");
  wrong(at("p", "x"), "no number");
  fine(result(1, text_result()));
  wrong(at("p", 9), "nothing that is at work");
}

TEST_F(CheckerTest, nothing_comes_unasked_in_the_modern_era) {
  wrong(notification("notifications/tools/list_changed"), "nobody has subscribed");
  wrong(notification("notifications/resources/updated", {{"uri", "a:b"}}), "nobody has subscribed");
  wrong(notification("notifications/message", {{"level", "info"}, {"data", 1}}), "nobody wants");
  wrong(notification("notifications/invented"), "not a notification of a server");
  wrong(request(1, "roots/list"), "asks nothing");
}

TEST_F(CheckerTest, a_subscription_is_acknowledged_first_and_once) {
  const Json wanted{{"toolsListChanged", true}, {"resourceSubscriptions", {"lock://leases"}}};
  send(request(7, "subscriptions/listen", modern({{"notifications", wanted}})));
  const Json changed = notification("notifications/tools/list_changed", tagged(7));
  wrong(changed, "before anything else");
  const Json ack = notification("notifications/subscriptions/acknowledged",
                                tagged(7, {{"notifications", wanted}}));
  fine(ack);
  wrong(ack, "once");
  fine(changed);
}

TEST_F(CheckerTest, a_subscription_honours_only_what_was_asked_for) {
  send(request(7, "subscriptions/listen",
               modern({{"notifications", {{"toolsListChanged", true}}}})));
  wrong(notification("notifications/subscriptions/acknowledged",
                     tagged(7, {{"notifications", {{"promptsListChanged", true}}}})),
        "not asked for");
  wrong(notification("notifications/subscriptions/acknowledged", tagged(7)), "lacks notifications");
}

TEST_F(CheckerTest, a_subscription_tells_only_what_it_honours) {
  listen({{"resourceSubscriptions", {"lock://leases", "lock://events"}}},
         {{"resourceSubscriptions", {"lock://leases"}}});
  const auto updated = [&](const Json& id, const char* uri) {
    return notification("notifications/resources/updated", tagged(id, {{"uri", uri}}));
  };
  fine(updated(7, "lock://leases"));
  fine(updated(7, "lock://leases/src"));
  wrong(updated(7, "lock://leasesx"), "does not want");
  wrong(updated(7, "lock://events"), "does not want");
  wrong(updated(8, "lock://leases"), "there is not");
  wrong(notification("notifications/prompts/list_changed", tagged(7)), "does not want");
}

TEST_F(CheckerTest, a_subscription_ends_under_its_own_name) {
  listen({{"toolsListChanged", true}}, {{"toolsListChanged", true}});
  fine(notification("notifications/cancelled", {{"requestId", 7}}));
  wrong(notification("notifications/cancelled", {{"requestId", 8}}), "not the server's");
  wrong(result(7, {{"resultType", "complete"}, {"_meta", {{kSubscriptionKey, 8}}}}), "another");
}

TEST_F(CheckerTest, the_end_of_a_subscription_names_it) {
  listen({{"toolsListChanged", true}}, {{"toolsListChanged", true}});
  wrong(result(7, {{"resultType", "complete"}}), "does not name");
}

TEST_F(CheckerTest, legacy_notifications_follow_what_was_offered_and_subscribed_to) {
  initialize("2025-06-18", {{"tools", {{"listChanged", true}}}, {"prompts", Json::object()}});
  fine(notification("notifications/tools/list_changed"));
  wrong(notification("notifications/prompts/list_changed"), "did not say");
  const Json updated = notification("notifications/resources/updated", {{"uri", "lock://leases"}});
  wrong(updated, "nobody has subscribed");
  send(request(1, "resources/subscribe", {{"uri", "lock://leases"}}));
  fine(updated);
  wrong(notification("notifications/resources/updated", Json::object()), "lacks uri");
  wrong(notification("notifications/message", {{"level", "info"}, {"data", 1}}), "nobody wants");
  send(request(2, "logging/setLevel", {{"level", "info"}}));
  fine(notification("notifications/message", {{"level", "info"}, {"data", 1}}));
  wrong(notification("notifications/message", {{"level", "loud"}, {"data", 1}}), "none of those");
}

TEST_F(CheckerTest, a_legacy_server_asks_only_what_the_client_can) {
  initialize("2025-03-26", Json::object(), {{"roots", Json::object()}});
  fine(request("s1", "roots/list"));
  wrong(request("s1", "roots/list"), "is new");
  fine(request("s2", "ping"));
  wrong(request("s3", "sampling/createMessage", {{"messages", Json::array()}}), "can do sampling");
  wrong(request("s4", "elicitation/create", Json::object()), "not a request of a server");
  wrong(request("s5", "tools/list"), "not a request of a server");
}

TEST_F(CheckerTest, eras_may_be_interleaved) {
  initialize("2025-06-18");
  send(request(1, "tools/list", modern()));
  send(request(2, "tools/list"));
  fine(result(2, {{"tools", Json::array({tool()})}}));
  fine(result(1, listed(Json::array({tool()}))));
}

// --- the published schemas ---------------------------------------------------------------------

TEST(PublishedTest, their_schemas_refuse_what_is_wrong) {
  for (const std::string revision : {"2025-03-26", "2025-06-18", "2025-11-25", kModern}) {
    if (!has_published(revision)) GTEST_SKIP() << "LOCKKEEPER_MCP_SCHEMAS names no schemas";
    const bool is_modern = revision == kModern;
    const auto told = [&](const Json& message, const std::string& method) {
      return wrong_by_published(revision, message, method);
    };
    EXPECT_THAT(told(result(1, text_result(is_modern)), "tools/call"), IsEmpty()) << revision;
    EXPECT_FALSE(told(result(1, {{"content", 3}}), "tools/call").empty()) << revision;
    EXPECT_FALSE(told(result(1, Json::object()), "tools/list").empty()) << revision;
    EXPECT_FALSE(
        told(error("x", 1).patch(R"([{"op":"remove","path":"/error/code"}])"_json), "").empty())
        << revision;
    EXPECT_FALSE(told(notification("notifications/progress", Json::object()), "").empty());
  }
}

}  // namespace
}  // namespace lockkeeper::proof
