#include "mcp/http/streamable.h"

#include "mcp/http/test_streamable.h"

namespace lockkeeper::mcp {
namespace {

// --- which era, and what its headers must say ----------------------------------------------------

struct Case {
  const char* what;
  http::Headers headers;
  Json params;
  int status;
  int code;  // 0: a result
};

TEST_F(StreamableTest, modern_requests_are_checked_in_the_specified_order) {
  const std::string now(kModernRevision);
  const auto revision = [](const std::string& text) {
    return std::pair<std::string, std::string>("MCP-Protocol-Version", text);
  };
  const std::pair<std::string, std::string> method{"Mcp-Method", "server/discover"};
  Json no_capabilities{{"_meta", {{kMetaRevision, now}}}};
  Json no_revision{{"_meta", {{kMetaCapabilities, Json::object()}}}};
  const Json odd_revision{{"_meta", {{kMetaRevision, 5}, {kMetaCapabilities, Json::object()}}}};
  const Json good{{"_meta", meta()}};
  const Case cases[] = {
      {"good", {revision(now), method}, good, 200, 0},
      {"no version header", {method}, good, 400, code::kHeaderMismatch},
      {"no _meta", {revision(now), method}, Json::object(), 400, code::kInvalidParams},
      {"no revision in it", {revision(now), method}, no_revision, 400, code::kInvalidParams},
      {"an odd one", {revision(now), method}, odd_revision, 400, code::kInvalidParams},
      {"no capabilities", {revision(now), method}, no_capabilities, 400, code::kInvalidParams},
      {"header and _meta differ",
       {revision("2025-11-25"), method},
       good,
       400,
       code::kHeaderMismatch},
      {"a revision nobody knows",
       {revision("2099-01-01"), method},
       {{"_meta", meta("2099-01-01")}},
       400,
       code::kUnsupportedVersion},
      {"the same without Mcp-Method",
       {revision("2099-01-01")},
       {{"_meta", meta("2099-01-01")}},
       400,
       code::kUnsupportedVersion},
      {"no method header", {revision(now)}, good, 400, code::kHeaderMismatch},
      {"another method",
       {revision(now), {"Mcp-Method", "tools/list"}},
       good,
       400,
       code::kHeaderMismatch},
  };
  for (const Case& each : cases) {
    const auto reply =
        ask("POST", each.headers, message("id-7", "server/discover", each.params).dump());
    EXPECT_EQ(reply->status(), each.status) << each.what;
    const Json body = reply->json();
    EXPECT_EQ(body["id"], "id-7") << each.what;
    EXPECT_EQ(each.code == 0 ? body.contains("result") : body["error"]["code"] == each.code, true)
        << each.what << ": " << body;
    EXPECT_EQ(reply->header("Mcp-Session-Id"), "") << each.what;
  }
}

TEST_F(StreamableTest, an_unsupported_revision_is_told_which_are_supported) {
  const auto reply = ask("POST", {{"MCP-Protocol-Version", "2099-01-01"}},
                         message(1, "server/discover", {{"_meta", meta("2099-01-01")}}).dump());
  const Json data = reply->json()["error"]["data"];
  EXPECT_EQ(data["requested"], "2099-01-01");
  EXPECT_EQ(data["supported"], modern(1, "server/discover")->json()["result"]["supportedVersions"]);
}

TEST_F(StreamableTest, methods_that_are_not_there_are_404) {
  for (const char* const method : {"initialize", "ping", "logging/setLevel", "resources/subscribe",
                                   "resources/unsubscribe", "no/such/method"}) {
    const auto reply = modern(5, method);
    EXPECT_EQ(reply->status(), 404) << method;
    EXPECT_EQ(reply->json()["error"]["code"], code::kMethodNotFound) << method;
    EXPECT_EQ(reply->json()["id"], 5) << method;
  }
}

TEST_F(StreamableTest, what_is_no_message_is_400) {
  for (const char* const body :
       {"", "{", "[]", "1", "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"x\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}"}) {
    const auto reply = ask("POST", {}, body);
    EXPECT_EQ(reply->status(), 400) << body;
    EXPECT_TRUE(reply->json().contains("error")) << body;
  }
}

TEST_F(StreamableTest, other_methods_paths_and_types_are_told_so) {
  EXPECT_EQ(ask("PUT", {}, "")->status(), 405);
  EXPECT_EQ(ask("OPTIONS", {}, "")->header("Allow"), "POST, GET, DELETE");
  EXPECT_EQ(ask("GET", {}, "")->status(), 405);
  EXPECT_EQ(ask("DELETE", {}, "")->status(), 405);
  const auto status = [&](const char* target, http::Headers headers) {
    http::Request request;
    request.method = "POST";
    request.target = target;
    request.headers = std::move(headers);
    const auto reply = std::make_shared<TestReply>();
    endpoint_->handle(request, reply);
    return reply->status();
  };
  EXPECT_EQ(status("/", {}), 404);
  EXPECT_EQ(status("/mcp/", {}), 404);
  EXPECT_EQ(status("/mcp", {}), 415);
  EXPECT_EQ(status("/mcp", {{"Content-Type", "text/plain"}}), 415);
  EXPECT_EQ(status("/mcp", {{"Content-Type", "application/json"}, {"Accept", "text/html"}}), 406);
  EXPECT_EQ(status("/mcp", {{"Content-Type", "application/json"}, {"Accept", "application/json"}}),
            406);
  EXPECT_EQ(status("/mcp?x", {{"Content-Type", "application/json"}}), 400);  // no message
}

// --- modern --------------------------------------------------------------------------------------

TEST_F(StreamableTest, one_message_is_json_and_more_are_events) {
  const auto quick = modern(1, "tools/call", {{"name", "quick"}, {"arguments", Json::object()}});
  EXPECT_EQ(quick->header("Content-Type"), "application/json");
  EXPECT_EQ(quick->json()["result"]["content"][0]["text"], "done");
  const auto tells = modern(
      2, "tools/call",
      {{"name", "tells"}, {"arguments", Json::object()}, {"_meta", {{"progressToken", "p"}}}});
  EXPECT_TRUE(tells->is_stream());
  EXPECT_EQ(tells->header("X-Accel-Buffering"), "no");
  const std::vector<Json> messages = TestReply::messages(tells->body());
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[0]["method"], "notifications/progress");
  EXPECT_EQ(messages[1]["id"], 2);
  // The new era has no event ids.
  EXPECT_EQ(tells->body().find("id: "), std::string::npos);
}

TEST_F(StreamableTest, equal_ids_of_different_clients_do_not_meet) {
  const auto first = modern(1, "tools/call", {{"name", "waits"}, {"arguments", Json::object()}});
  until_it_waits();
  const auto second = modern(1, "tools/call", {{"name", "quick"}, {"arguments", Json::object()}});
  EXPECT_EQ(second->json()["result"]["content"][0]["text"], "done");
  go_on_.set_value();
  EXPECT_EQ(first->json()["result"]["content"][0]["text"], "waited");
}

TEST_F(StreamableTest, closing_the_stream_cancels) {
  const auto reply = modern(1, "tools/call", {{"name", "waits"}, {"arguments", Json::object()}});
  until_it_waits();
  reply->leave();
  EXPECT_EQ(cancelled_.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

TEST_F(StreamableTest, a_subscription_is_a_stream_until_it_is_closed) {
  const auto listening =
      modern("sub", "subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}});
  EXPECT_TRUE(listening->is_stream());
  listening->body_with("notifications/subscriptions/acknowledged");
  audience_.list_changed("tools");
  const auto messages = TestReply::messages(listening->body_with("tools/list_changed"));
  EXPECT_EQ(messages[1]["params"]["_meta"][kMetaSubscription], "sub");
  EXPECT_FALSE(listening->has_ended());
  endpoint_->close();
  const auto all = TestReply::messages(listening->body());
  EXPECT_EQ(all.back()["id"], "sub");
  EXPECT_EQ(all.back()["result"]["resultType"], "complete");
}

TEST_F(StreamableTest, who_stops_listening_hears_nothing) {
  const auto listening =
      modern(1, "subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}});
  listening->body_with("acknowledged");
  listening->leave();
  audience_.list_changed("tools");
  endpoint_->sweep();
  EXPECT_EQ(TestReply::messages(listening->body_with("acknowledged")).size(), 1U);
}

TEST_F(StreamableTest, notifications_and_responses_are_accepted) {
  const std::pair<std::string, std::string> revision{"MCP-Protocol-Version",
                                                     std::string(kModernRevision)};
  EXPECT_EQ(
      ask("POST", {revision}, notification("notifications/cancelled", {{"requestId", 1}}).dump())
          ->status(),
      202);
  const std::string session = open();
  EXPECT_EQ(legacy(session, notification("notifications/initialized", nullptr))->status(), 202);
  EXPECT_EQ(legacy(session, response(77, Json::object()))->status(), 202);
}

// --- sessions ------------------------------------------------------------------------------------

TEST_F(StreamableTest, a_session_is_opened_named_and_ended) {
  const std::string session = open();
  EXPECT_GE(session.size(), 32U);
  EXPECT_NE(session, open());
  EXPECT_EQ(legacy(session, message(2, "ping"))->json(), response(2, Json::object()));
  const auto nameless = ask("POST", {}, message(3, "tools/list").dump());
  EXPECT_EQ(nameless->status(), 400);
  EXPECT_EQ(nameless->json()["id"], 3);
  EXPECT_EQ(legacy("none-of-ours", message(4, "tools/list"))->status(), 404);
  EXPECT_EQ(ask("GET", {{"Mcp-Session-Id", "none-of-ours"}}, "")->status(), 404);
  const auto stream = ask("GET", {{"Mcp-Session-Id", session}}, "");
  EXPECT_TRUE(stream->is_stream());
  EXPECT_EQ(ask("DELETE", {{"Mcp-Session-Id", session}}, "")->status(), 204);
  stream->body();  // has ended
  EXPECT_EQ(legacy(session, message(5, "ping"))->status(), 404);
  EXPECT_EQ(ask("DELETE", {{"Mcp-Session-Id", session}}, "")->status(), 404);
  EXPECT_EQ(ask("POST", {}, message(6, "initialize").dump())->header("Mcp-Session-Id"), "");
}

TEST_F(StreamableTest, a_session_is_not_for_another_era) {
  const std::string session = open();
  const auto status = [&](const char* revision) {
    return ask("POST", {{"Mcp-Session-Id", session}, {"MCP-Protocol-Version", revision}},
               message(2, "ping").dump())
        ->status();
  };
  EXPECT_EQ(status("2025-06-18"), 200);
  EXPECT_EQ(status("2026-07-28"), 400);
  EXPECT_EQ(status("x"), 400);
}

TEST_F(StreamableTest, legacy_headers_with_other_metadata_stay_legacy) {
  const auto reply = ask("POST", {{"MCP-Protocol-Version", "2025-06-18"}},
                         message(1, "initialize",
                                 {{"protocolVersion", "2025-06-18"},
                                  {"capabilities", Json::object()},
                                  {"clientInfo", Json::object()},
                                  {"_meta", {{"progressToken", 1}}}})
                             .dump());
  EXPECT_EQ(reply->status(), 200);
  EXPECT_NE(reply->header("Mcp-Session-Id"), "");
}

TEST_F(StreamableTest, batches_are_for_the_revision_that_had_them) {
  const Json batch = Json::array(
      {message(1, "ping"), calling(2, "quick"), notification("notifications/x", nullptr)});
  const auto reply = legacy(open("2025-03-26"), batch);
  EXPECT_EQ(reply->json().size(), 2U);
  const auto refused = legacy(open("2025-06-18"), batch);
  EXPECT_EQ(refused->status(), 400);
  const Json silent = Json::array({notification("notifications/x", nullptr)});
  EXPECT_EQ(legacy(open("2025-03-26"), silent)->status(), 202);
  EXPECT_EQ(ask("POST", {}, batch.dump())->status(), 400);
}

TEST_F(StreamableTest, the_stream_of_a_session_hears_the_news) {
  const std::string session = open();
  const auto stream = ask("GET", {{"Mcp-Session-Id", session}}, "");
  stream->body_with("id: 0-0\n");
  audience_.list_changed("tools");
  stream->body_with("notifications/tools/list_changed");
  // The latest takes over.
  const auto next = ask("GET", {{"Mcp-Session-Id", session}}, "");
  stream->body();
  audience_.list_changed("tools");
  EXPECT_EQ(TestReply::messages(next->body_with("tools/list_changed")).size(), 1U);
}

TEST_F(StreamableTest, news_between_two_streams_are_not_lost) {
  const std::string session = open();
  const auto stream = ask("GET", {{"Mcp-Session-Id", session}}, "");
  audience_.list_changed("tools");
  stream->body_with("id: 0-1\n");
  stream->leave();
  audience_.list_changed("tools");
  const auto back = ask("GET", {{"Mcp-Session-Id", session}, {"Last-Event-ID", "0-1"}}, "");
  EXPECT_EQ(TestReply::messages(back->body_with("id: 0-2\n")).size(), 1U);
}

TEST_F(StreamableTest, the_client_is_asked_on_the_stream_and_answers_by_post) {
  const std::string session = open();
  const auto reply = legacy(session, calling(9, "asks"));
  const auto asked = TestReply::messages(reply->body_with("elicitation/create"));
  EXPECT_EQ(legacy(session, response(asked[0]["id"], {{"action", "accept"}}))->status(), 202);
  EXPECT_NE(reply->body().find("accept"), std::string::npos);
}

// --- connections that break ----------------------------------------------------------------------

TEST_F(StreamableTest, a_stream_that_was_closed_early_is_resumed) {
  const std::string session = open();
  const auto reply = legacy(session, calling(1, "hangs_up"));
  EXPECT_EQ(reply->body(), "id: 1-0\nretry: 500\ndata: \n\n");
  go_on_.set_value();
  const auto back = ask("GET", {{"Mcp-Session-Id", session}, {"Last-Event-ID", "1-0"}}, "");
  const auto messages = TestReply::messages(back->body());
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0]["id"], 1);
  // What it has seen does not come again.
  const auto again = ask("GET", {{"Mcp-Session-Id", session}, {"Last-Event-ID", "1-1"}}, "");
  EXPECT_EQ(TestReply::messages(again->body()).size(), 0U);
  EXPECT_EQ(ask("GET", {{"Mcp-Session-Id", session}, {"Last-Event-ID", "99-1"}}, "")->status(),
            400);
  EXPECT_EQ(ask("GET", {{"Mcp-Session-Id", session}, {"Last-Event-ID", "what?"}}, "")->status(),
            400);
}

TEST_F(StreamableTest, an_older_revision_is_not_hung_up_on) {
  const auto reply = legacy(open("2025-06-18"), calling(1, "hangs_up"));
  go_on_.set_value();
  EXPECT_EQ(reply->json()["id"], 1);
}

TEST_F(StreamableTest, a_legacy_client_that_has_seen_an_event_may_come_back) {
  tells_ = true;
  const std::string session = open();
  const auto reply = legacy(session, calling(4, "waits"));
  until_it_waits();
  reply->body_with("id: 1-1\n");
  reply->leave();
  endpoint_->sweep();
  go_on_.set_value();
  const auto back = ask("GET", {{"Mcp-Session-Id", session}, {"Last-Event-ID", "1-1"}}, "");
  const auto messages = TestReply::messages(back->body());
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0]["result"]["content"][0]["text"], "waited");
}

TEST_F(StreamableTest, who_does_not_come_back_in_time_is_cancelled) {
  StreamableOptions options;
  options.resume_within = std::chrono::milliseconds(-1);
  start(options);
  tells_ = true;
  const auto reply = legacy(open(), calling(4, "waits"));
  until_it_waits();
  reply->body_with("id: 1-1\n");
  reply->leave();
  endpoint_->sweep();
  EXPECT_EQ(cancelled_.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

TEST_F(StreamableTest, a_legacy_client_that_has_seen_nothing_cannot_come_back) {
  const auto reply = legacy(open(), calling(4, "waits"));
  until_it_waits();
  reply->leave();
  EXPECT_EQ(cancelled_.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
}

TEST_F(StreamableTest, a_cancelled_request_ends_without_an_answer) {
  const std::string session = open();
  const auto reply = legacy(session, calling(4, "waits"));
  until_it_waits();
  legacy(session, notification("notifications/cancelled", {{"requestId", 4}}));
  EXPECT_EQ(reply->body(), "");
  EXPECT_TRUE(reply->is_stream());
}

// --- limits --------------------------------------------------------------------------------------

TEST_F(StreamableTest, the_session_that_was_silent_for_longest_gives_way) {
  StreamableOptions options;
  options.sessions_max = 3;
  start(options);
  const std::string first = open();
  const std::string second = open();
  const std::string third = open();
  EXPECT_EQ(legacy(first, message(1, "ping"))->status(), 200);
  const std::string fourth = open();
  EXPECT_EQ(legacy(second, message(1, "ping"))->status(), 404);
  for (const std::string& each : {first, third, fourth}) {
    EXPECT_EQ(legacy(each, message(1, "ping"))->status(), 200);
  }
}

TEST_F(StreamableTest, a_session_that_nobody_uses_ends) {
  StreamableOptions options;
  options.session_idle = std::chrono::milliseconds(0);
  start(options);
  const std::string listened = open();
  const std::string idle = open();
  const auto stream = ask("GET", {{"Mcp-Session-Id", listened}}, "");
  endpoint_->sweep();
  EXPECT_EQ(legacy(listened, message(1, "ping"))->status(), 200);
  EXPECT_EQ(legacy(idle, message(1, "ping"))->status(), 404);
}

TEST_F(StreamableTest, an_answer_in_json_leaves_nothing_behind) {
  const std::string session = open();
  std::weak_ptr<TestReply> left;
  {
    const auto reply = legacy(session, calling(1, "quick"));
    left = reply;
    reply->body();
  }
  for (int i = 0; i < 1'000 && !left.expired(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(left.expired());
}

}  // namespace
}  // namespace lockkeeper::mcp
