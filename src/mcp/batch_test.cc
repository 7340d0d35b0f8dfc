#include "mcp/batch.h"

#include <gtest/gtest.h>

#include "mcp/test_client.h"

namespace lockkeeper::mcp {
namespace {

Catalogue catalogue() {
  Catalogue catalogue;
  catalogue.name = "test";
  catalogue.version = "1";
  catalogue.tools = {test_tool("work", [](Call& call, const Json&) {
    call.progress(1);
    return tool_answer("done", nullptr);
  })};
  return catalogue;
}

Json call(int id) {
  return request(
      id, "tools/call",
      {{"name", "work"}, {"arguments", Json::object()}, {"_meta", {{"progressToken", id}}}});
}

// All answers in one message after the last of them; other messages at once.
TEST(Batch, AnswersComeTogether) {
  TestClient client(catalogue());
  client.initialize("2025-03-26");
  const std::size_t before = client.out().sent().size();
  client.text(line_of(Json::array({call(1), notification("notifications/x", nullptr), call(2), 7,
                                   request(3, "ping", nullptr)})));
  const auto sent = client.out().wait(before + 3);
  ASSERT_EQ(sent.size(), before + 3);
  EXPECT_EQ(sent[before]["method"], "notifications/progress");
  const Json& answers = sent.back();
  ASSERT_TRUE(answers.is_array());
  ASSERT_EQ(answers.size(), 4U);
  std::set<std::string> ids;
  for (const Json& each : answers) ids.insert(each.value("id", Json()).dump());
  EXPECT_EQ(ids, (std::set<std::string>{"1", "2", "3", "null"}));
}

TEST(Batch, WhatNeedsNoAnswerGetsNone) {
  TestClient client(catalogue());
  client.initialize("2025-03-26");
  const std::size_t before = client.out().sent().size();
  client.text(line_of(Json::array({notification("notifications/x", nullptr)})));
  EXPECT_EQ(client.out().sent().size(), before);
}

TEST(Batch, OnlyOneRevisionHasThem) {
  for (const char* const revision : {"2025-11-25", "2025-06-18", "2024-11-05"}) {
    TestClient client(catalogue());
    client.initialize(revision);
    client.text(line_of(Json::array({request(1, "ping", nullptr)})));
    EXPECT_EQ(code_of(client.out().sent().back()), code::kInvalidRequest) << revision;
  }
}

// Not in a batch: what begins a session, and what belongs to a revision without batches.
TEST(Batch, SomeThingsComeAlone) {
  TestClient client(catalogue());
  client.initialize("2025-03-26");
  client.text(line_of(
      Json::array({request(1, "initialize", {{"protocolVersion", "2025-03-26"}}),
                   request(2, "subscriptions/listen",
                           {{"_meta", modern_meta()}, {"notifications", Json::object()}})})));
  const Json answers = client.out().sent().back();
  ASSERT_EQ(answers.size(), 2U);
  for (const Json& each : answers) EXPECT_EQ(code_of(each), code::kInvalidRequest);
}

}  // namespace
}  // namespace lockkeeper::mcp
