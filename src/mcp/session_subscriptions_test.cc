// Notifications to clients of both eras.
#include <gtest/gtest.h>

#include "mcp/session.h"
#include "mcp/test_client.h"

namespace lockkeeper::mcp {
namespace {

Catalogue watched(bool lists_change) {
  Catalogue catalogue;
  catalogue.name = "test";
  catalogue.version = "1";
  catalogue.tools = {test_tool("t", [](Call&, const Json&) { return Answer{}; })};
  catalogue.resources = {{"a://b", "b", "", "", ""}};
  catalogue.lists_change = lists_change;
  return catalogue;
}

// Sends the request; the acknowledgment is the last message.
Json listen(TestClient& client, const Json& id, Json filter) {
  client.send(id, "subscriptions/listen",
              {{"_meta", modern_meta()}, {"notifications", std::move(filter)}});
  return client.out().sent().back();
}

TEST(Subscriptions, LegacyClientsSubscribe) {
  TestClient client(watched(true));
  client.initialize("2025-11-25");
  EXPECT_EQ(client.ask("resources/subscribe", {{"uri", "a://b"}})["result"], Json::object());
  EXPECT_EQ(code_of(client.ask("resources/subscribe")), code::kInvalidParams);
  EXPECT_EQ(client.session().watched(), std::set<std::string>{"a://b"});
  const std::size_t before = client.out().sent().size();
  client.session().resource_changed("a://b");
  client.session().resource_changed("a://c");
  client.session().list_changed("tools");
  ASSERT_EQ(client.out().sent().size(), before + 2);
  EXPECT_EQ(client.out().sent()[before],
            notification("notifications/resources/updated", {{"uri", "a://b"}}));
  EXPECT_EQ(client.out().sent()[before + 1],
            notification("notifications/tools/list_changed", nullptr));
  client.ask("resources/unsubscribe", {{"uri", "a://b"}});
  client.session().resource_changed("a://b");
  EXPECT_EQ(client.out().sent().size(), before + 3);  // the answer
}

TEST(Subscriptions, NothingIsToldBeforeTheClientIsReady) {
  TestClient client(watched(true));
  client.session().list_changed("tools");
  client.ask("initialize", {{"protocolVersion", "2025-11-25"}});
  client.session().list_changed("tools");
  EXPECT_EQ(client.out().sent().size(), 1U);
  client.notify("notifications/initialized");
  client.session().list_changed("tools");
  EXPECT_EQ(client.out().sent().size(), 2U);
}

TEST(Subscriptions, ListenIsAcknowledgedWithWhatIsHonoured) {
  TestClient client(watched(true));
  const Json filter{{"toolsListChanged", true},
                    {"promptsListChanged", true},  // there are no prompts
                    {"resourcesListChanged", false},
                    {"resourceSubscriptions", {"a://b", 5, std::string(5000, 'x')}},
                    {"unknown", true}};
  const Json ack = listen(client, 1, filter);
  EXPECT_EQ(ack["method"], "notifications/subscriptions/acknowledged");
  EXPECT_EQ(ack["params"]["_meta"][kMetaSubscription], 1);
  EXPECT_EQ(ack["params"]["notifications"],
            Json({{"toolsListChanged", true}, {"resourceSubscriptions", {"a://b"}}}));
  TestClient still(watched(false));
  EXPECT_EQ(listen(still, 1, {{"toolsListChanged", true}})["params"]["notifications"],
            Json::object());
}

TEST(Subscriptions, EachStreamGetsItsOwnAndNothingElse) {
  TestClient client(watched(true));
  listen(client, 1, {{"resourceSubscriptions", {"a://b"}}});
  listen(client, "two", {{"resourcesListChanged", true}});
  const std::size_t before = client.out().sent().size();
  client.session().resource_changed("a://b");
  client.session().list_changed("resources");
  client.session().list_changed("tools");
  const auto sent = client.out().sent();
  ASSERT_EQ(sent.size(), before + 2);
  EXPECT_EQ(sent[before]["params"], Json({{"uri", "a://b"}, {"_meta", {{kMetaSubscription, 1}}}}));
  EXPECT_EQ(sent[before + 1]["method"], "notifications/resources/list_changed");
  EXPECT_EQ(sent[before + 1]["params"]["_meta"][kMetaSubscription], "two");
}

TEST(Subscriptions, CancelledStreamsAreSilent) {
  TestClient client(watched(true));
  listen(client, 1, {{"toolsListChanged", true}});
  client.notify("notifications/cancelled", {{"requestId", 1}});
  EXPECT_EQ(client.out().ends(), 1U);
  client.session().list_changed("tools");
  client.session().close();
  EXPECT_EQ(client.out().sent().size(), 1U);  // the acknowledgment
}

TEST(Subscriptions, CloseEndsThemBothWays) {
  TestClient client(watched(true));
  listen(client, 9, Json::object());
  client.session().close();
  const auto sent = client.out().sent();
  ASSERT_EQ(sent.size(), 3U);
  EXPECT_EQ(sent[1]["method"], "notifications/cancelled");
  EXPECT_EQ(sent[1]["params"]["requestId"], 9);
  EXPECT_EQ(sent[1]["params"]["_meta"][kMetaSubscription], 9);  // as all on this stream
  EXPECT_EQ(sent[2]["id"], 9);
  EXPECT_EQ(sent[2]["result"]["resultType"], "complete");
  EXPECT_EQ(sent[2]["result"]["_meta"][kMetaSubscription], 9);
  EXPECT_EQ(sent[2]["result"]["_meta"][kMetaServer]["name"], "test");
}

TEST(Subscriptions, BadOnesAreRefused) {
  TestClient client(watched(true));
  EXPECT_EQ(code_of(client.modern("subscriptions/listen")), code::kInvalidParams);
  listen(client, 3, Json::object());
  EXPECT_EQ(code_of(listen(client, 3, Json::object())), code::kInvalidRequest);
  Json last;
  for (int id = 100; id < 300; ++id) last = listen(client, id, Json::object());
  EXPECT_EQ(code_of(last), code::kInternalError);
  client.notify("notifications/cancelled", {{"requestId", 100}});
  EXPECT_EQ(code_of(listen(client, 999, Json::object())), 0);
}

// The catalogue is told before the client, so that no change is missed.
TEST(Subscriptions, TheCatalogueIsToldFirst) {
  Catalogue catalogue = watched(true);
  std::vector<std::string> seen;
  Recorder* out = nullptr;
  catalogue.watch = [&](const std::string& uri) {
    seen.push_back(uri + " " + std::to_string(out->sent().size()));
  };
  TestClient client(std::move(catalogue));
  out = &client.out();
  listen(client, 1, {{"resourceSubscriptions", {"a://b"}}});
  EXPECT_EQ(seen, std::vector<std::string>{"a://b 0"});
}

}  // namespace
}  // namespace lockkeeper::mcp
