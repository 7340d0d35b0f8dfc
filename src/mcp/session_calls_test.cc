// Calls at work: side by side, cancelled, failing, asking their client, needing more.
#include <gtest/gtest.h>

#include <atomic>
#include <new>

#include "mcp/session.h"
#include "mcp/test_client.h"

namespace lockkeeper::mcp {
namespace {

Catalogue with(const std::vector<Tool>& tools) {
  Catalogue catalogue;
  catalogue.name = "test";
  catalogue.version = "1";
  catalogue.tools = tools;
  return catalogue;
}

Json call(const std::string& name) {
  return {{"name", name}, {"arguments", Json::object()}};
}

// Waits as a lock tool does, until it is cancelled.
Tool waiter(Latch& begun, int count = 1) {
  auto here = std::make_shared<std::atomic<int>>(0);
  return test_tool("wait", [&begun, here, count](Call& call, const Json&) {
    const Call::Pause pause(call);
    if (!pause) return tool_answer("must not wait", nullptr);
    Latch over;
    call.on_cancel([&] { over.open(); });
    if (++*here == count) begun.open();
    EXPECT_TRUE(over.wait());
    call.progress(1);
    call.log("info", "", "never heard");
    return tool_answer("never heard", nullptr);
  });
}

TEST(SessionCalls, WaitingKeepsNobodyFromWorking) {
  Latch begun;
  constexpr int kWaits = 64;
  TestClient client(
      with({waiter(begun, kWaits),
            test_tool("work", [](Call&, const Json&) { return tool_answer("done", nullptr); })}),
      2);
  client.initialize("2025-11-25");
  for (int i = 0; i < kWaits; ++i) client.send(i, "tools/call", call("wait"));
  ASSERT_TRUE(begun.wait());
  EXPECT_EQ(client.ask("ping")["result"], Json::object());
  EXPECT_EQ(client.ask("tools/call", call("work"))["result"]["content"][0]["text"], "done");
}

// The official clients refuse an error whose structure is not as the tool declares it.
TEST(SessionCalls, WrongArgumentsAreToldInAStructureThatFitsOrInNone) {
  const auto strict = [](const char* name, const char* needs) {
    Tool tool = test_tool(name, [](Call&, const Json&) { return tool_answer("ran", nullptr); });
    tool.input_schema["required"] = {"x"};
    tool.output_schema = {{"type", "object"}, {"required", {needs}}};
    return tool;
  };
  TestClient client(with({strict("ours", "message"), strict("theirs", "success")}));
  client.initialize("2025-11-25");
  const Json ours = client.ask("tools/call", call("ours"))["result"];
  EXPECT_EQ(ours["structuredContent"]["message"], ours["content"][0]["text"]);
  const Json theirs = client.ask("tools/call", call("theirs"))["result"];
  EXPECT_EQ(theirs["isError"], true);
  EXPECT_FALSE(theirs.contains("structuredContent")) << theirs;
}

TEST(SessionCalls, WhoIsCancelledHearsNothingMore) {
  Latch begun;
  Catalogue catalogue = with({waiter(begun)});
  catalogue.logs = true;
  TestClient client(std::move(catalogue));
  client.initialize("2025-11-25");
  client.ask("logging/setLevel", {{"level", "debug"}});
  Json params = call("wait");
  params["_meta"]["progressToken"] = 1;
  const std::size_t before = client.out().sent().size();
  const std::size_t ends = client.out().ends();
  client.send("w", "tools/call", params);
  ASSERT_TRUE(begun.wait());
  client.notify("notifications/cancelled", {{"requestId", "w"}, {"reason", "no more"}});
  ASSERT_TRUE(client.out().wait_ends(ends + 1));
  EXPECT_EQ(client.out().sent().size(), before);
  client.notify("notifications/cancelled", {{"requestId", "w"}});  // it is over
  EXPECT_EQ(client.ask("ping")["result"], Json::object());
}

TEST(SessionCalls, WhoIsCancelledBeforeItBeginsNeverRuns) {
  Latch begun;
  Latch go;
  std::atomic<int> ran = 0;
  TestClient client(with({test_tool("work",
                                    [&](Call&, const Json&) {
                                      ++ran;
                                      begun.open();
                                      EXPECT_TRUE(go.wait());
                                      return tool_answer("done", nullptr);
                                    })}),
                    1);
  client.initialize("2025-11-25");
  const std::size_t ends = client.out().ends();
  client.send(1, "tools/call", call("work"));
  ASSERT_TRUE(begun.wait());
  client.send(2, "tools/call", call("work"));
  client.notify("notifications/cancelled", {{"requestId", 2}});
  go.open();
  ASSERT_TRUE(client.out().wait_ends(ends + 2));
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(client.answer_to(1)["result"]["content"][0]["text"], "done");
}

// Calls beyond the limit are refused one by one; accepted ones are done.
TEST(SessionCalls, TooManyAtOnceAreTold) {
  Latch go;
  TestClient client(with({test_tool("work",
                                    [&](Call&, const Json&) {
                                      EXPECT_TRUE(go.wait());
                                      return tool_answer("done", nullptr);
                                    })}),
                    1, 64);
  client.initialize("2025-11-25");
  constexpr int kCalls = 200;
  for (int i = 0; i < kCalls; ++i) client.send(i, "tools/call", call("work"));
  EXPECT_EQ(client.ask("ping")["result"], Json::object());
  go.open();
  int done = 0;
  int refused = 0;
  for (int i = 0; i < kCalls; ++i) {
    ++(code_of(client.answer_to(i)) == 0 ? done : refused);
  }
  EXPECT_GT(done, 1);
  EXPECT_GT(refused, 1);
}

TEST(SessionCalls, AnIdIsUsedByOneAtATime) {
  Latch begun;
  TestClient client(with({waiter(begun)}));
  client.initialize("2025-11-25");
  client.send(5, "tools/call", call("wait"));
  ASSERT_TRUE(begun.wait());
  client.send(5, "tools/call", call("wait"));
  EXPECT_EQ(code_of(client.answer_to(5)), code::kInvalidRequest);
  EXPECT_EQ(code_of(client.ask("ping")), 0);
}

// A handler's exception fails only its own call.
TEST(SessionCalls, ExceptionsAreInternalErrors) {
  TestClient client(
      with({test_tool("memory", [](Call&, const Json&) -> Answer { throw std::bad_alloc(); }),
            test_tool("type",
                      [](Call&, const Json& arguments) {
                        return tool_answer(arguments.at("missing").get<std::string>(), nullptr);
                      }),
            test_tool("odd", [](Call&, const Json&) -> Answer { throw 5; })}));
  client.initialize("2025-11-25");
  for (const char* const name : {"memory", "type", "odd", "memory"}) {
    EXPECT_EQ(code_of(client.ask("tools/call", call(name))), code::kInternalError) << name;
  }
  EXPECT_EQ(client.ask("ping")["result"], Json::object());
}

// Nor is a result that no revision has a shape for the end of the server.
TEST(SessionCalls, OddResultsAreInternalErrors) {
  TestClient client(with({test_tool("odd", [](Call&, const Json&) {
    Answer answer;
    answer.result = {{"_meta", "text"}, {"content", {{{"type", 5}}}}};
    return answer;
  })}));
  EXPECT_EQ(code_of(client.modern("tools/call", call("odd"))), code::kInternalError);
  client.initialize("2024-11-05");
  EXPECT_EQ(code_of(client.ask("tools/call", call("odd"))), code::kInternalError);
  EXPECT_EQ(client.ask("ping")["result"], Json::object());
}

TEST(SessionCalls, ProgressOnlyGrowsAndOnlyForAToken) {
  const Tool tool = test_tool("work", [](Call& call, const Json&) {
    for (const double done : {0.0, 50.0, 50.0, 20.0, 100.0}) call.progress(done, 100, "on it");
    return tool_answer("done", nullptr);
  });
  const auto told = [&](const std::string& revision, const Json& token) {
    TestClient client(with({tool}));
    client.initialize(revision);
    Json params = call("work");
    if (!token.is_null()) params["_meta"]["progressToken"] = token;
    client.ask("tools/call", params);
    std::vector<Json> progress;
    for (const Json& each : client.out().sent()) {
      if (each.value("method", "") == "notifications/progress") progress.push_back(each["params"]);
    }
    return progress;
  };
  const auto progress = told("2025-11-25", "t");
  ASSERT_EQ(progress.size(), 3U);
  EXPECT_EQ(progress[1]["progress"], 50.0);
  EXPECT_EQ(progress[1]["progressToken"], "t");
  EXPECT_EQ(progress[1]["message"], "on it");
  EXPECT_FALSE(told("2024-11-05", 7).front().contains("message"));
  EXPECT_TRUE(told("2025-11-25", nullptr).empty());
  EXPECT_TRUE(told("2025-11-25", Json::array()).empty());  // no token of any revision
}

TEST(SessionCalls, LogsFollowTheLevel) {
  Catalogue catalogue = with({test_tool("work", [](Call& call, const Json&) {
    call.log("debug", "", "d");
    call.log("error", "test", "e");
    return tool_answer("done", nullptr);
  })});
  catalogue.logs = true;
  TestClient client(std::move(catalogue));
  const auto logs = [&] {
    std::vector<Json> found;
    for (const Json& each : client.out().sent()) {
      if (each.value("method", "") == "notifications/message") found.push_back(each["params"]);
    }
    return found;
  };
  client.modern("tools/call", call("work"));
  EXPECT_TRUE(logs().empty());
  Json params = call("work");
  params["_meta"][kMetaLogLevel] = "warning";
  client.modern("tools/call", params);
  ASSERT_EQ(logs().size(), 1U);
  EXPECT_EQ(logs()[0]["data"], "e");
  EXPECT_EQ(logs()[0]["logger"], "test");
  client.initialize("2025-11-25");
  client.ask("logging/setLevel", {{"level", "debug"}});
  client.ask("tools/call", call("work"));
  EXPECT_EQ(logs().size(), 3U);
}

// Its text is what the client said.
Tool asker() {
  return test_tool("ask", [](Call& call, const Json&) {
    const auto said = call.ask("elicitation/create", {{"message", "?"}});
    return tool_answer(said ? line_of(*said) : "nothing", nullptr, !said);
  });
}

Json wait_for_question(TestClient& client, std::size_t before) {
  return client.out().wait(before + 1).back();
}

TEST(SessionCalls, TheClientIsAskedAndAnswers) {
  TestClient client(with({asker()}));
  client.initialize("2025-11-25", {{"elicitation", Json::object()}});
  const std::size_t before = client.out().sent().size();
  client.send("a", "tools/call", call("ask"));
  const Json question = wait_for_question(client, before);
  EXPECT_EQ(question["method"], "elicitation/create");
  client.text(line_of(response(question["id"], {{"action", "accept"}})));
  const Json answer = client.answer_to("a");
  EXPECT_EQ(answer["result"]["content"][0]["text"], R"({"action":"accept"})");
}

TEST(SessionCalls, AnAnswerThatIsNoneIsNone) {
  TestClient client(with({asker()}));
  client.initialize("2025-11-25", {{"elicitation", Json::object()}});
  for (const bool error : {true, false}) {
    const std::size_t before = client.out().sent().size();
    const Json id = error ? "a" : "b";
    client.send(id, "tools/call", call("ask"));
    const Json question = wait_for_question(client, before);
    client.text(line_of(error ? error_response(question["id"], {-1, "no", nullptr})
                              : response(question["id"], 5)));
    EXPECT_EQ(client.answer_to(id)["result"]["content"][0]["text"], "nothing");
  }
}

TEST(SessionCalls, OnlyWhoCanBeAskedIsAsked) {
  TestClient client(with({asker()}));
  client.initialize("2025-11-25", {{"sampling", Json::object()}});
  EXPECT_EQ(client.ask("tools/call", call("ask"))["result"]["isError"], true);
  EXPECT_EQ(client.modern("tools/call", call("ask"))["result"]["isError"], true);
  for (const Json& each : client.out().sent()) EXPECT_FALSE(each.contains("method")) << each;
}

TEST(SessionCalls, AQuestionIsWithdrawnWhenItsCallIsCancelled) {
  TestClient client(with({asker()}));
  client.initialize("2025-11-25", {{"elicitation", Json::object()}});
  const std::size_t before = client.out().sent().size();
  client.send("a", "tools/call", call("ask"));
  const Json question = wait_for_question(client, before);
  client.notify("notifications/cancelled", {{"requestId", "a"}});
  const Json withdrawn = wait_for_question(client, before + 1);
  EXPECT_EQ(withdrawn["method"], "notifications/cancelled");
  EXPECT_EQ(withdrawn["params"]["requestId"], question["id"]);
}

TEST(SessionCalls, CloseEndsWhatWaitsAndWhatAsks) {
  Latch begun;
  TestClient client(with({asker(), waiter(begun)}));
  client.initialize("2025-11-25", {{"elicitation", Json::object()}});
  const std::size_t before = client.out().sent().size();
  const std::size_t ends = client.out().ends();
  client.send("a", "tools/call", call("ask"));
  wait_for_question(client, before);
  client.send("w", "tools/call", call("wait"));
  ASSERT_TRUE(begun.wait());
  client.session().close();
  EXPECT_TRUE(client.out().wait_ends(ends + 2));
  EXPECT_EQ(client.out().sent().size(), before + 1);  // the question
}

// The client has closed its end: what works answers, what waits or would wait does not stay.
TEST(SessionCalls, FinishLetsWorkAnswer) {
  Latch begun;
  Latch waits;
  Latch go;
  TestClient client(with({waiter(waits), test_tool("work", [&](Call& call, const Json&) {
                            begun.open();
                            EXPECT_TRUE(go.wait());
                            const Call::Pause pause(call);
                            return tool_answer(pause ? "waits" : "done", nullptr);
                          })}));
  client.initialize("2025-11-25");
  client.send("w", "tools/call", call("wait"));
  ASSERT_TRUE(waits.wait());
  client.send("a", "tools/call", call("work"));
  ASSERT_TRUE(begun.wait());
  std::thread finishing([&] { client.session().finish(kTestPatience); });
  // The one that waits has gone once the session is finishing.
  ASSERT_TRUE(client.out().wait_ends(2));
  go.open();
  finishing.join();
  EXPECT_EQ(client.answer_to("a")["result"]["content"][0]["text"], "done");
}

Tool needs_input(const Json& requests) {
  return test_tool("need", [requests](Call& call, const Json&) {
    if (call.params().contains("inputResponses")) return tool_answer("thanks", nullptr);
    return Answer::need_input(requests, "state");
  });
}

TEST(SessionCalls, InputIsAskedForInTheResult) {
  const Json requests{{"k", {{"method", "roots/list"}, {"params", Json::object()}}}};
  TestClient client(with({needs_input(requests)}));
  const Json roots{{"roots", Json::object()}};
  const Json result = client.modern("tools/call", call("need"), roots)["result"];
  EXPECT_EQ(result["resultType"], "input_required");
  EXPECT_EQ(result["inputRequests"], requests);
  EXPECT_EQ(result["requestState"], "state");
  EXPECT_FALSE(result.contains("ttlMs"));
  Json again = call("need");
  again["inputResponses"] = {{"k", {{"roots", Json::array()}}}};
  EXPECT_EQ(client.modern("tools/call", again, roots)["result"]["resultType"], "complete");
  for (const Json& bad : {Json(), Json(5), Json{{"k", 12345}}}) {
    again["inputResponses"] = bad;
    EXPECT_EQ(code_of(client.modern("tools/call", again, roots)), code::kInvalidParams) << bad;
  }
  again["inputResponses"] = Json::object();
  again["requestState"] = 7;
  EXPECT_EQ(code_of(client.modern("tools/call", again, roots)), code::kInvalidParams);
}

TEST(SessionCalls, InputIsAskedForFromWhoCanGiveIt) {
  const Json url{{"method", "elicitation/create"}, {"params", {{"mode", "url"}}}};
  const Json sampling{{"method", "sampling/createMessage"}, {"params", Json::object()}};
  TestClient client(with({needs_input({{"a", url}, {"b", sampling}})}));
  const Json poor =
      client.modern("tools/call", call("need"), {{"elicitation", {{"form", Json::object()}}}});
  EXPECT_EQ(code_of(poor), code::kMissingCapability);
  EXPECT_EQ(poor["error"]["data"]["requiredCapabilities"],
            Json({{"elicitation", {{"url", Json::object()}}}, {"sampling", Json::object()}}));
  const Json rich{{"elicitation", {{"url", Json::object()}}}, {"sampling", Json::object()}};
  EXPECT_EQ(code_of(client.modern("tools/call", call("need"), rich)), 0);
  client.initialize("2025-11-25", rich);  // the old era knows nothing of it
  EXPECT_EQ(code_of(client.ask("tools/call", call("need"))), code::kInternalError);
}

}  // namespace
}  // namespace lockkeeper::mcp
