// Who is there: clients of both eras, told apart and missed when they are gone (M4).
#include "mcp/http/test_streamable.h"

namespace lockkeeper::mcp {
namespace {

class VisitorsTest : public StreamableTest {
 protected:
  VisitorsTest() {
    catalogue_.arrived = [this](const std::string& visitor) { note("+" + visitor); };
    catalogue_.gone = [this](const std::string& visitor, bool orderly) {
      note((orderly ? "bye " : "-") + visitor);
    };
    add("who", [](Call& call, const Json&) {
      const Visitor& visitor = call.client().visitor;
      return tool_answer(visitor.name + (visitor.told_apart ? "" : "?"), nullptr);
    });
  }
  void note(const std::string& what) {
    const std::lock_guard lock(mutex_);
    noted_.push_back(what);
  }
  // What was noted, once it is so much.
  std::vector<std::string> noted(std::size_t count) {
    for (int i = 0; i < 60'000; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (noted_.size() >= count) return noted_;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return {};
  }
  static std::string said(const Replied& reply) {
    return reply->json()["result"]["content"][0]["text"].get<std::string>();
  }
  std::string who(const std::string& token, const std::string& client) {
    const Json params{{"name", "who"},
                      {"arguments", Json::object()},
                      {"_meta", {{kMetaClient, {{"name", client}, {"version", "1"}}}}}};
    http::Headers headers = {{"MCP-Protocol-Version", std::string(kModernRevision)},
                             {"Mcp-Method", "tools/call"},
                             {"Mcp-Name", "who"},
                             {"Authorization", "Bearer " + token}};
    Json full = params;
    full["_meta"].update(meta());
    return said(ask("POST", headers, message(1, "tools/call", full).dump()));
  }

  std::mutex mutex_;
  std::vector<std::string> noted_;
};

TEST_F(VisitorsTest, M4_EverySessionIsAVisitorOfItsOwn) {
  const std::string first = open();
  const std::string second = open();
  const std::string name = said(legacy(first, calling(5, "who")));
  EXPECT_TRUE(name.starts_with("http-")) << name;
  EXPECT_NE(said(legacy(second, calling(5, "who"))), name);
  EXPECT_EQ(said(legacy(first, calling(6, "who"))), name);
  EXPECT_EQ(name.find(first.substr(0, 12)), std::string::npos) << "the session's id is a secret";
}

TEST_F(VisitorsTest, M4_WithoutSessionsTheTokenTellsClientsApart) {
  const std::string shared = who("t1", "claude");
  EXPECT_TRUE(shared.ends_with('?')) << "others may have the same token: " << shared;
  EXPECT_EQ(who("t1", "claude"), shared);
  EXPECT_NE(who("t1", "copilot"), shared);
  StreamableOptions options;
  options.tokens_differ = true;
  start(options);
  EXPECT_EQ(who("t1", "claude") + "?", shared);
  EXPECT_NE(who("t2", "claude") + "?", shared);
}

TEST_F(VisitorsTest, M4_AClientIsGoneWhenItsStreamCloses) {
  const std::string session = open();
  const std::string name = said(legacy(session, calling(5, "who")));
  const auto stream = ask("GET", {{"Mcp-Session-Id", session}}, "");
  endpoint_->sweep();
  EXPECT_EQ(noted(1), std::vector<std::string>{"+" + name});
  stream->leave();
  endpoint_->sweep();
  EXPECT_EQ(noted(2).back(), "-" + name);
  legacy(session, message(9, "ping"));
  EXPECT_EQ(noted(3).back(), "+" + name) << "and it may come back";
}

TEST_F(VisitorsTest, M4_AListeningClientIsThereUntilItStops) {
  const auto listening =
      modern(1, "subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}});
  listening->body_with("acknowledged");
  const std::string arrived = noted(1).front();
  endpoint_->sweep();
  EXPECT_EQ(noted(1).size(), 1U);
  listening->leave();
  endpoint_->sweep();
  EXPECT_EQ(noted(2).back(), "-" + arrived.substr(1));
}

TEST_F(VisitorsTest, M4_AClientWithoutAStreamIsGoneAfterATime) {
  open();
  endpoint_->sweep();
  EXPECT_EQ(noted(1).size(), 1U) << "it may think for a while";
  StreamableOptions options;
  options.visitor_idle = std::chrono::milliseconds(0);
  start(options);
  open();
  endpoint_->sweep();
  EXPECT_EQ(noted(3).back().substr(0, 6), "-http-");
}

TEST_F(VisitorsTest, M4_WhoeverLeavesIsNotToldBeforeItsArrival) {
  catalogue_.arrived = [this](const std::string& visitor) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the others of the pool are free
    note("+" + visitor);
  };
  StreamableOptions options;
  options.visitor_idle = std::chrono::milliseconds(0);
  start(options);
  const std::string session = open();
  endpoint_->sweep();
  legacy(session, message(9, "ping"));
  const std::vector<std::string> all = noted(3);
  const std::string name = all.front().substr(1);
  EXPECT_EQ(all, (std::vector<std::string>{"+" + name, "-" + name, "+" + name}));
}

TEST_F(VisitorsTest, M4_ASessionThatIsDeletedIsGoneInOrder) {
  const std::string session = open();
  EXPECT_EQ(ask("DELETE", {{"Mcp-Session-Id", session}}, "")->status(), 204);
  EXPECT_EQ(noted(2).back().substr(0, 9), "bye http-");
  endpoint_->sweep();
  EXPECT_EQ(noted(2).size(), 2U);
}

}  // namespace
}  // namespace lockkeeper::mcp
