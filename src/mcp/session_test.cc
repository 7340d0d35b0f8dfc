// Which revision a client gets, and what it sees there.
#include "mcp/session.h"

#include <gtest/gtest.h>

#include "mcp/test_client.h"

namespace lockkeeper::mcp {
namespace {

Catalogue full() {
  Catalogue catalogue;
  catalogue.name = "test";
  catalogue.title = "Test";
  catalogue.version = "1.0";
  catalogue.instructions = "Use it.";
  Tool echo = test_tool("echo", [](Call&, const Json& arguments) {
    Answer answer = tool_answer("said", {{"message", "said"}, {"arguments", arguments}});
    answer.result["content"].push_back({{"type", "resource_link"}, {"uri", "a://b"}});
    answer.result["content"].push_back({{"type", "audio"}, {"mimeType", "audio/wav"}});
    return answer;
  });
  echo.title = "Echo";
  echo.output_schema = {{"type", "object"}};
  echo.annotations = {{"readOnlyHint", true}};
  echo.meta = {{"x/y", true}};
  catalogue.tools = {echo};
  catalogue.resources = {{"a://b", "b", "B", "what b is", "text/plain"}};
  Prompt prompt;
  prompt.name = "greet";
  prompt.title = "Greet";
  prompt.description = "Greets";
  prompt.arguments = {{"who", "whom", true}};
  prompt.get = [](Call&, const Json& arguments) {
    Answer answer;
    answer.result["messages"] = Json::array(
        {{{"role", "user"}, {"content", {{"type", "text"}, {"text", arguments["who"]}}}}});
    return answer;
  };
  catalogue.prompts = {prompt};
  catalogue.read = [](Call&, const std::string& uri) -> std::optional<Answer> {
    if (uri != "a://b") return std::nullopt;
    Answer answer;
    answer.result["contents"] = Json::array({{{"uri", uri}, {"text", "b"}}});
    return answer;
  };
  catalogue.complete = [](const Json&, const std::string&, const std::string&) {
    return std::vector<std::string>(101, "x");
  };
  catalogue.logs = true;
  return catalogue;
}

TEST(Session, InitializeSettlesTheRevision) {
  for (const std::string_view revision : kLegacyRevisions) {
    TestClient client(full());
    const Json result = client.initialize(std::string(revision))["result"];
    EXPECT_EQ(result["protocolVersion"], revision);
    EXPECT_EQ(result["serverInfo"].contains("title"), revision >= "2025-06-18") << revision;
    EXPECT_EQ(result["capabilities"].contains("completions"), revision >= "2025-03-26");
    EXPECT_EQ(result["capabilities"]["resources"], Json({{"subscribe", true}}));
    EXPECT_TRUE(result["capabilities"].contains("logging"));
    EXPECT_EQ(result["instructions"], "Use it.");
  }
  for (const char* const unknown : {"2024-10-07", "2026-07-28", "2099-01-01", ""}) {
    TestClient client(full());
    EXPECT_EQ(client.initialize(unknown)["result"]["protocolVersion"], kLegacyRevisions[0]);
  }
  TestClient client(full());
  EXPECT_EQ(code_of(client.ask("initialize")), code::kInvalidParams);
  for (const char* const mistyped : {"capabilities", "clientInfo"}) {
    EXPECT_EQ(
        code_of(client.ask("initialize", {{"protocolVersion", "2025-11-25"}, {mistyped, "x"}})),
        code::kInvalidParams);
  }
  EXPECT_EQ(code_of(client.initialize("2025-11-25")), 0);  // the failed one does not count
}

TEST(Session, InitializeComesFirstAndOnce) {
  TestClient client(full());
  EXPECT_EQ(code_of(client.ask("tools/list")), code::kInvalidRequest);
  EXPECT_EQ(client.ask("ping")["result"], Json::object());
  EXPECT_EQ(code_of(client.initialize("2024-11-05")), 0);
  EXPECT_EQ(code_of(client.initialize("2025-11-25")), code::kInvalidRequest);
  const Json tool = client.ask("tools/list")["result"]["tools"][0];
  EXPECT_FALSE(tool.contains("annotations"));  // still 2024-11-05
}

TEST(Session, OldClientsGetNoFieldsThatTheirRevisionLacks) {
  for (const std::string_view revision : kLegacyRevisions) {
    TestClient client(full());
    client.initialize(std::string(revision));
    const bool titled = revision >= "2025-06-18";
    const Json tool = client.ask("tools/list")["result"]["tools"][0];
    EXPECT_EQ(tool.contains("title"), titled) << revision;
    EXPECT_EQ(tool.contains("outputSchema"), titled) << revision;
    EXPECT_EQ(tool.contains("_meta"), titled) << revision;
    EXPECT_EQ(tool.contains("annotations"), revision >= "2025-03-26") << revision;
    EXPECT_EQ(client.ask("prompts/list")["result"]["prompts"][0].contains("title"), titled);
    EXPECT_EQ(client.ask("resources/list")["result"]["resources"][0].contains("title"), titled);
    const Json result = client.ask("tools/call", {{"name", "echo"}})["result"];
    EXPECT_EQ(result.contains("structuredContent"), titled) << revision;
    EXPECT_EQ(result["content"][1]["type"], titled ? "resource_link" : "text") << revision;
    EXPECT_EQ(result["content"][2]["type"], revision >= "2025-03-26" ? "audio" : "text");
    for (const char* const modern : {"resultType", "ttlMs", "cacheScope", "_meta"}) {
      EXPECT_FALSE(result.contains(modern)) << modern;
    }
  }
}

TEST(Session, ModernResultsSayWhatTheyAre) {
  TestClient client(full());
  const Json found = client.modern("server/discover")["result"];
  EXPECT_EQ(found["supportedVersions"], Json::array({kModernRevision}));
  EXPECT_TRUE(found["capabilities"].contains("logging"));
  for (const char* const method : {"server/discover", "tools/list", "prompts/list",
                                   "resources/list", "resources/templates/list"}) {
    const Json result = client.modern(method)["result"];
    EXPECT_EQ(result["resultType"], "complete") << method;
    EXPECT_TRUE(result["ttlMs"].is_number_unsigned() || result["ttlMs"] >= 0) << method;
    EXPECT_EQ(result["cacheScope"], "public") << method;
    EXPECT_EQ(result["_meta"][kMetaServer]["name"], "test") << method;
  }
  const Json read = client.modern("resources/read", {{"uri", "a://b"}})["result"];
  EXPECT_EQ(read["ttlMs"], 0);
  EXPECT_EQ(read["cacheScope"], "private");
  const Json called = client.modern("tools/call", {{"name", "echo"}})["result"];
  EXPECT_EQ(called["resultType"], "complete");
  EXPECT_FALSE(called.contains("ttlMs"));
}

TEST(Session, ErasAreInterleaved) {
  TestClient client(full());
  EXPECT_EQ(code_of(client.modern("tools/list")), 0);
  client.initialize("2025-11-25");
  EXPECT_FALSE(client.ask("tools/list")["result"].contains("resultType"));
  EXPECT_TRUE(client.modern("tools/list")["result"].contains("resultType"));
  EXPECT_EQ(code_of(client.ask("server/discover")), code::kMethodNotFound);
  for (const char* const removed :
       {"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}) {
    EXPECT_EQ(code_of(client.modern(removed)), code::kMethodNotFound) << removed;
  }
}

TEST(Session, ModernRequestsMustSaySo) {
  TestClient client(full());
  const auto with = [&](Json meta) {
    return client.ask("tools/list", {{"_meta", std::move(meta)}});
  };
  EXPECT_EQ(code_of(with({{kMetaRevision, 5}})), code::kInvalidParams);
  EXPECT_EQ(code_of(with({{kMetaRevision, kModernRevision}})), code::kInvalidParams);
  EXPECT_EQ(code_of(with({{kMetaCapabilities, Json::object()}})), code::kInvalidParams);
  EXPECT_EQ(code_of(client.ask("server/discover")), code::kInvalidParams);
  Json meta = modern_meta();
  meta[kMetaLogLevel] = "loud";
  EXPECT_EQ(code_of(with(meta)), code::kInvalidParams);
  const Json unknown = with({{kMetaRevision, "v9"}, {kMetaCapabilities, Json::object()}});
  EXPECT_EQ(code_of(unknown), code::kUnsupportedVersion);
  EXPECT_EQ(unknown["error"]["data"]["requested"], "v9");
  EXPECT_EQ(unknown["error"]["data"]["supported"], Json::array({kModernRevision}));
}

// What is not offered is not there: capabilities say what handlers honour.
TEST(Session, AnEmptyCatalogueHasNoMethods) {
  TestClient client(Catalogue{});
  EXPECT_EQ(client.modern("server/discover")["result"]["capabilities"], Json::object());
  for (const char* const method :
       {"tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list",
        "resources/read", "resources/templates/list", "completion/complete"}) {
    EXPECT_EQ(code_of(client.modern(method)), code::kMethodNotFound) << method;
  }
  client.initialize("2025-11-25");
  EXPECT_EQ(code_of(client.ask("resources/subscribe", {{"uri", "a"}})), code::kMethodNotFound);
  EXPECT_EQ(code_of(client.ask("logging/setLevel", {{"level", "info"}})), code::kMethodNotFound);
}

TEST(Session, WhatIsNotThereIsAnsweredByTheBook) {
  TestClient client(full());
  client.initialize("2025-11-25");
  EXPECT_EQ(code_of(client.ask("no/such")), code::kMethodNotFound);
  EXPECT_EQ(code_of(client.ask("tools/call", {{"name", "none"}})), code::kInvalidParams);
  EXPECT_EQ(code_of(client.ask("tools/call")), code::kInvalidParams);
  EXPECT_EQ(code_of(client.ask("tools/call", {{"name", "echo"}, {"arguments", 5}})),
            code::kInvalidParams);
  EXPECT_EQ(code_of(client.ask("resources/read", {{"uri", "no"}})), code::kResourceNotFound);
  const Json modern = client.modern("resources/read", {{"uri", "no"}});
  EXPECT_EQ(code_of(modern), code::kInvalidParams);
  EXPECT_EQ(modern["error"]["data"]["uri"], "no");
  EXPECT_EQ(code_of(client.ask("prompts/get", {{"name", "none"}})), code::kInvalidParams);
  EXPECT_EQ(code_of(client.ask("prompts/get", {{"name", "greet"}})), code::kInvalidParams);
  EXPECT_EQ(code_of(client.ask("prompts/get", {{"name", "greet"}, {"arguments", {{"who", 5}}}})),
            code::kInvalidParams);
  EXPECT_EQ(code_of(client.ask("logging/setLevel", {{"level", "loud"}})), code::kInvalidParams);
  client.notify("no/such");
  client.notify("notifications/cancelled");
  client.notify("notifications/cancelled", {{"requestId", "never"}});
  client.text(R"({"jsonrpc":"2.0","id":77,"result":{}})");
  EXPECT_EQ(client.ask("ping")["result"], Json::object());
}

TEST(Session, CompletionsHaveALimit) {
  TestClient client(full());
  const Json params{{"ref", {{"type", "ref/prompt"}, {"name", "greet"}}},
                    {"argument", {{"name", "who"}, {"value", ""}}}};
  const Json completion = client.modern("completion/complete", params)["result"]["completion"];
  EXPECT_EQ(completion["values"].size(), 100U);
  EXPECT_EQ(completion["total"], 101);
  EXPECT_EQ(completion["hasMore"], true);
  EXPECT_EQ(code_of(client.modern("completion/complete")), code::kInvalidParams);
}

TEST(Session, ListsComeInPages) {
  Catalogue catalogue;
  for (int i = 0; i < 250; ++i) {
    catalogue.tools.push_back(
        test_tool("t" + std::to_string(i), [](Call&, const Json&) { return Answer{}; }));
  }
  TestClient client(std::move(catalogue));
  std::vector<std::string> names;
  Json params = Json::object();
  for (int page = 0; page < 3; ++page) {
    const Json result = client.modern("tools/list", params)["result"];
    for (const Json& tool : result["tools"]) names.push_back(tool["name"].get<std::string>());
    EXPECT_EQ(result.contains("nextCursor"), page < 2);
    if (page < 2) params["cursor"] = result["nextCursor"];
  }
  EXPECT_EQ(names.size(), 250U);
  EXPECT_EQ(names.back(), "t249");
  for (const Json& bad : {Json("x"), Json("from-0"), Json("from-250"), Json("from--1"), Json(5)}) {
    EXPECT_EQ(code_of(client.modern("tools/list", {{"cursor", bad}})), code::kInvalidParams) << bad;
  }
  EXPECT_EQ(code_of(client.modern("tools/list", {{"cursor", nullptr}})), 0);
}

}  // namespace
}  // namespace lockkeeper::mcp
