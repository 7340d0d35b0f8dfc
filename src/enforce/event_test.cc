#include "enforce/event.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "enforce/payloads_testing.h"

namespace lockkeeper::enforce {
namespace {

using nlohmann::json;

Event read(Client said, std::string_view payload) {
  Result<Event> event = read_event(said, payload);
  EXPECT_TRUE(event.has_value()) << event.error().message;
  return event ? *event : Event{};
}

Error refused(Client said, std::string_view payload) {
  const Result<Event> event = read_event(said, payload);
  EXPECT_FALSE(event.has_value()) << payload.substr(0, 200);
  return event ? Error{} : event.error();
}

TEST(Event, ClientsHaveAWordAndAName) {
  for (const char* word : {"claude", "codex", "gemini", "copilot", "opencode", "cursor"}) {
    const auto client = client_named(word);
    ASSERT_TRUE(client.has_value()) << word;
    EXPECT_EQ(client_name(*client), word);
  }
  EXPECT_EQ(agent_name(Client::kClaude), "claude-code");
  EXPECT_EQ(agent_name(Client::kCursor), "cursor");
  EXPECT_FALSE(client_named("Claude").has_value());
  EXPECT_FALSE(client_named("").has_value());
}

TEST(Event, ClaudesEditIsRead) {
  const Event event = read(Client::kClaude, payloads::kClaudeEdit);
  EXPECT_EQ(event.client, Client::kClaude);
  EXPECT_EQ(event.moment, Moment::kBefore);
  EXPECT_EQ(event.name, "PreToolUse");
  EXPECT_EQ(event.session, "s-1");
  EXPECT_EQ(event.subagent, "");
  EXPECT_EQ(event.cwd, "/repo");
  EXPECT_EQ(event.permission_mode, "acceptEdits");
  EXPECT_FALSE(event.claude_shape);
  ASSERT_EQ(event.calls.size(), 1U);
  EXPECT_EQ(event.calls[0].id, "toolu_1");
  EXPECT_EQ(event.calls[0].tool, "Edit");
  EXPECT_EQ(event.calls[0].input.at("file_path"), "/repo/a.c");
  EXPECT_EQ(event.calls[0].outcome, Outcome::kUnknown);
}

TEST(Event, WhatHappenedIsTold) {
  const Event written = read(Client::kClaude, payloads::kClaudeSubagentWrite);
  EXPECT_EQ(written.moment, Moment::kAfter);
  EXPECT_EQ(written.subagent, "a25090baaffdc4891");
  EXPECT_EQ(written.calls.at(0).outcome, Outcome::kDone);
  const Event failed = read(Client::kClaude, payloads::kClaudeFailure);
  EXPECT_EQ(failed.moment, Moment::kAfter);
  EXPECT_EQ(failed.calls.at(0).outcome, Outcome::kFailed);
}

TEST(Event, ABatchTellsOnlyOfFailuresForSure) {
  const Event event = read(Client::kClaude, payloads::kClaudeBatch);
  EXPECT_EQ(event.moment, Moment::kBatchOver);
  ASSERT_EQ(event.calls.size(), 4U);
  EXPECT_EQ(event.calls[0].outcome, Outcome::kUnknown);
  EXPECT_EQ(event.calls[1].outcome, Outcome::kFailed);
  EXPECT_EQ(event.calls[2].outcome, Outcome::kFailed);
  EXPECT_EQ(event.calls[3].outcome, Outcome::kFailed);
  EXPECT_EQ(event.calls[3].id, "t3");
}

TEST(Event, ATurnGoesOnWhileBackgroundTasksRun) {
  json stop = json::parse(payloads::kClaudeStop);
  EXPECT_EQ(read(Client::kClaude, stop.dump()).moment, Moment::kTurnOver);
  EXPECT_FALSE(read(Client::kClaude, stop.dump()).goes_on);
  stop["background_tasks"] = {{{"id", "b1"}, {"type", "shell"}, {"status", "running"}}};
  EXPECT_TRUE(read(Client::kClaude, stop.dump()).goes_on);
  stop.erase("background_tasks");
  EXPECT_FALSE(read(Client::kClaude, stop.dump()).goes_on);
  // The subagent that ends is still listed among what runs.
  json over = json::parse(payloads::kClaudeSubagentStop);
  EXPECT_EQ(read(Client::kClaude, over.dump()).moment, Moment::kSubagentOver);
  EXPECT_FALSE(read(Client::kClaude, over.dump()).goes_on);
  over["background_tasks"].push_back({{"id", "other"}});
  EXPECT_TRUE(read(Client::kClaude, over.dump()).goes_on);
}

TEST(Event, EveryMomentHasItsName) {
  const auto moment = [](Client client, const char* name) {
    json payload{{"session_id", "s"},
                 {"hook_event_name", name},
                 {"tool_name", "Read"},
                 {"tool_input", json::object()},
                 {"tool_calls", json::array()}};
    if (client == Client::kCursor) {
      payload.update({{"conversation_id", "s"}, {"command", "ls"}, {"file_path", "a"}});
    }
    return read(client, payload.dump()).moment;
  };
  EXPECT_EQ(moment(Client::kClaude, "SessionStart"), Moment::kSessionStart);
  EXPECT_EQ(moment(Client::kClaude, "UserPromptSubmit"), Moment::kTurnStart);
  EXPECT_EQ(moment(Client::kClaude, "PostToolBatch"), Moment::kBatchOver);
  EXPECT_EQ(moment(Client::kClaude, "SubagentStart"), Moment::kSubagentStart);
  EXPECT_EQ(moment(Client::kClaude, "StopFailure"), Moment::kTurnOver);
  EXPECT_EQ(moment(Client::kClaude, "TeammateIdle"), Moment::kIdle);
  EXPECT_EQ(moment(Client::kClaude, "SessionEnd"), Moment::kSessionOver);
  EXPECT_EQ(moment(Client::kClaude, "PermissionRequest"), Moment::kOther);
  EXPECT_EQ(moment(Client::kClaude, "SomethingOfNextYear"), Moment::kOther);
  EXPECT_EQ(moment(Client::kClaude, "Notification"), Moment::kOther);
  EXPECT_EQ(moment(Client::kCodex, "Interrupt"), Moment::kTurnOver);
  EXPECT_EQ(moment(Client::kGemini, "BeforeAgent"), Moment::kTurnStart);
  EXPECT_EQ(moment(Client::kGemini, "AfterAgent"), Moment::kTurnOver);
  EXPECT_EQ(moment(Client::kCursor, "beforeShellExecution"), Moment::kBefore);
  EXPECT_EQ(moment(Client::kCursor, "afterFileEdit"), Moment::kAfter);
  EXPECT_EQ(moment(Client::kCursor, "beforeMCPExecution"), Moment::kBefore);
  EXPECT_EQ(moment(Client::kCursor, "beforeSubmitPrompt"), Moment::kTurnStart);
  const auto idle = R"({"session_id":"s","hook_event_name":"Notification",
                        "notification_type":"idle_prompt"})";
  EXPECT_EQ(read(Client::kClaude, idle).moment, Moment::kIdle);
  const auto asks = R"({"session_id":"s","hook_event_name":"Notification",
                        "notification_type":"permission_prompt"})";
  EXPECT_EQ(read(Client::kClaude, asks).moment, Moment::kQuestion);
}

TEST(Event, CopilotsMomentsAreToldByTheirFields) {
  const auto moment = [](const char* more) {
    json payload{{"sessionId", "s"}, {"timestamp", 1}, {"cwd", "/repo"}};
    payload.update(json::parse(more));
    return read(Client::kCopilot, payload.dump()).moment;
  };
  EXPECT_EQ(moment(R"({"toolName":"edit","toolArgs":{}})"), Moment::kBefore);
  EXPECT_EQ(moment(R"({"toolName":"edit","toolArgs":{},"toolResult":{}})"), Moment::kAfter);
  EXPECT_EQ(moment(R"({"toolName":"edit","toolInput":{}})"), Moment::kOther);
  EXPECT_EQ(moment(R"({"source":"startup"})"), Moment::kSessionStart);
  EXPECT_EQ(moment(R"({"prompt":"go"})"), Moment::kTurnStart);
  EXPECT_EQ(moment(R"({"prompt":"go","transformedPrompt":"go"})"), Moment::kOther);
  EXPECT_EQ(moment(R"({"stopReason":"end_turn"})"), Moment::kTurnOver);
  EXPECT_EQ(moment(R"({"agentName":"x"})"), Moment::kSubagentStart);
  EXPECT_EQ(moment(R"({"agentName":"x","stopReason":"end_turn"})"), Moment::kSubagentOver);
  EXPECT_EQ(moment(R"({"stopReason":"end_turn","agentId":"a"})"), Moment::kSubagentOver);
  EXPECT_EQ(moment(R"({"hookName":"permissionRequest","toolName":"edit"})"), Moment::kOther);
  EXPECT_EQ(moment(R"({"reason":"complete"})"), Moment::kSessionOver);
  EXPECT_EQ(moment(R"({"error":{"message":"m"}})"), Moment::kOther);
  EXPECT_EQ(moment("{}"), Moment::kOther);
  json failed = json::parse(payloads::kCopilotEdited);
  failed.erase("toolResult");
  failed["error"] = "no";
  EXPECT_EQ(read(Client::kCopilot, failed.dump()).calls.at(0).outcome, Outcome::kFailed);
}

TEST(Event, CallsWithoutAnIdAreJoinedByWhatTheyAre) {
  const Event before = read(Client::kGemini, payloads::kGeminiReplace);
  const Event after = read(Client::kGemini, payloads::kGeminiReplaced);
  ASSERT_FALSE(before.calls.at(0).id.empty());
  EXPECT_EQ(before.calls[0].id, after.calls.at(0).id);
  EXPECT_EQ(after.calls[0].outcome, Outcome::kDone);
  EXPECT_EQ(read(Client::kCopilot, payloads::kCopilotEdit).calls.at(0).id,
            read(Client::kCopilot, payloads::kCopilotEdited).calls.at(0).id);
  for (const char* change : {R"({"session_id":"g-2"})", R"({"tool_name":"write_file"})",
                             R"({"tool_input":{"file_path":"/repo/b.c"}})"}) {
    json other = json::parse(payloads::kGeminiReplace);
    other.update(json::parse(change));
    EXPECT_NE(before.calls[0].id, read(Client::kGemini, other.dump()).calls.at(0).id) << change;
  }
}

TEST(Event, GeminisFailureIsInItsResponse) {
  json failed = json::parse(payloads::kGeminiReplaced);
  failed["tool_response"]["error"] = {{"message", "no"}};
  EXPECT_EQ(read(Client::kGemini, failed.dump()).calls.at(0).outcome, Outcome::kFailed);
}

TEST(Event, AnotherClientsPayloadIsKnownByItsShape) {
  // Copilot and Cursor run the hooks of Claude Code.
  EXPECT_EQ(read(Client::kClaude, payloads::kCopilotEdit).client, Client::kCopilot);
  EXPECT_FALSE(read(Client::kClaude, payloads::kCopilotEdit).claude_shape);
  const Event copilot = read(Client::kClaude, payloads::kCopilotAsClaude);
  EXPECT_EQ(copilot.client, Client::kCopilot);
  EXPECT_TRUE(copilot.claude_shape);
  EXPECT_EQ(copilot.session, "c-1");
  EXPECT_EQ(read(Client::kClaude, payloads::kCursorDelete).client, Client::kCursor);
  json cursor = json::parse(payloads::kCursorDelete);
  cursor["hook_event_name"] = "PreToolUse";
  EXPECT_TRUE(read(Client::kClaude, cursor.dump()).claude_shape);
  EXPECT_EQ(read(Client::kClaude, payloads::kCodexPatch).client, Client::kCodex);
  EXPECT_EQ(read(Client::kClaude, payloads::kGeminiReplace).client, Client::kGemini);
  // What fits several is whose hook it is.
  EXPECT_EQ(read(Client::kCodex, payloads::kClaudeStop).client, Client::kCodex);
  EXPECT_EQ(read(Client::kCopilot, payloads::kCopilotAsClaude).client, Client::kCopilot);
}

TEST(Event, ASubagentOfOpencodeIsASessionOfItsOwn) {
  const Event event = read(Client::kOpencode, payloads::kOpencodeWrite);
  EXPECT_EQ(event.moment, Moment::kBefore);
  EXPECT_EQ(event.session, "ses_1");
  EXPECT_EQ(event.subagent, "ses_2");
  EXPECT_EQ(event.cwd, "/repo");
  EXPECT_EQ(event.calls.at(0).id, "call_1");
  EXPECT_EQ(event.calls.at(0).input.at("filePath"), "a.c");
  const auto moment = [](const char* name, const char* parent) {
    const json payload = {{"event", name}, {"sessionID", "ses_2"}, {"parentID", parent}};
    return read(Client::kOpencode, payload.dump()).moment;
  };
  EXPECT_EQ(moment("session.created", ""), Moment::kSessionStart);
  EXPECT_EQ(moment("session.created", "ses_1"), Moment::kSubagentStart);
  EXPECT_EQ(moment("session.idle", ""), Moment::kTurnOver);
  EXPECT_EQ(moment("session.idle", "ses_1"), Moment::kSubagentOver);
  EXPECT_EQ(moment("session.deleted", "ses_1"), Moment::kSubagentOver);
}

// Its calls name the subagent's session, its beginning and end that of the main agent.
TEST(Event, ASubagentOfCopilotHasOneIdentity) {
  json edit = json::parse(payloads::kCopilotEdit);
  edit.update({{"sessionId", "sub"}, {"agentId", "sub"}, {"parentAgentId", "c-1"}});
  const json over = {{"sessionId", "c-1"}, {"agentName", "general-purpose"},
                     {"agentId", "sub"},   {"parentAgentId", "c-1"},
                     {"timestamp", 1},     {"cwd", "/repo"},
                     {"response", "done"}, {"stopReason", "end_turn"}};
  for (const json& payload : {edit, over}) {
    const Event event = read(Client::kCopilot, payload.dump());
    EXPECT_EQ(event.session, "c-1");
    EXPECT_EQ(event.subagent, "sub");
  }
}

TEST(Event, CursorsFolderIsItsWorkspaceIfItNamesNone) {
  EXPECT_EQ(read(Client::kCursor, payloads::kCursorDelete).cwd, "/repo");
}

TEST(Event, CursorsOwnMomentsBecomeCalls) {
  const auto call = [](const char* more) {
    json payload = json::parse(payloads::kCursorDelete);
    payload.erase("tool_name");
    payload.erase("tool_input");
    payload.update(json::parse(more));
    return read(Client::kCursor, payload.dump()).calls.at(0);
  };
  EXPECT_EQ(call(R"({"hook_event_name":"beforeShellExecution","command":"ls"})").tool, "Shell");
  EXPECT_EQ(call(R"({"hook_event_name":"afterFileEdit","file_path":"a","edits":[]})").tool, "Edit");
  EXPECT_EQ(call(R"({"hook_event_name":"beforeReadFile","file_path":"a","content":""})").tool,
            "Read");
  const ToolCall mcp = call(R"({"hook_event_name":"beforeMCPExecution","tool_name":"write_file",
                                "tool_input":"{\"path\":\"a\"}"})");
  EXPECT_EQ(mcp.tool, "MCP:write_file");
  EXPECT_EQ(mcp.input.at("path"), "a");
  EXPECT_EQ(call(R"({"tool_input":{"path":"a"}})").tool, "");
}

TEST(Event, ArgumentsInATextAreUnpacked) {
  json edit = json::parse(payloads::kCopilotEdit);
  edit["toolArgs"] = R"({"path":"a.c"})";
  EXPECT_EQ(read(Client::kCopilot, edit.dump()).calls.at(0).input.at("path"), "a.c");
  edit["toolArgs"] = "*** Begin Patch";
  EXPECT_EQ(read(Client::kCopilot, edit.dump()).calls.at(0).input, "*** Begin Patch");
}

TEST(Event, ABadPayloadIsRefusedAndNamesItsField) {
  const std::string long_id = R"({"session_id":")" + std::string(513, 'x') + R"("})";
  struct Case {
    const char* change;  // to Claude Code's edit
    const char* named;
  };
  for (const Case& each : {
           Case{R"({"session_id":null})", "session_id"},
           Case{R"({"session_id":""})", "session_id"},
           Case{R"({"session_id":7})", "session_id"},
           Case{long_id.c_str(), "session_id"},
           Case{R"({"session_id":"a\u0000b"})", "session_id"},
           Case{R"({"session_id":"a\u202eb"})", "session_id"},
           Case{R"({"hook_event_name":null})", "hook_event_name"},
           Case{R"({"hook_event_name":["PreToolUse"]})", "hook_event_name"},
           Case{R"({"tool_name":null})", "tool_name"},
           Case{R"({"tool_name":{}})", "tool_name"},
           Case{R"({"tool_input":null})", "tool_input"},
           Case{R"({"tool_input":[]})", "tool_input"},
           Case{R"({"tool_input":3})", "tool_input"},
           Case{R"({"tool_use_id":3})", "tool_use_id"},
           Case{R"({"agent_id":3})", "agent_id"},
           Case{R"({"cwd":3})", "cwd"},
           Case{R"({"cwd":"/a\u0000b"})", "cwd"},
           Case{R"({"permission_mode":3})", "permission_mode"},
           Case{R"({"hook_event_name":"PostToolBatch"})", "tool_calls"},
           Case{R"({"hook_event_name":"PostToolBatch","tool_calls":{}})", "tool_calls"},
           Case{R"({"hook_event_name":"PostToolBatch","tool_calls":[1]})", "tool_calls"},
           Case{R"({"hook_event_name":"PostToolBatch","tool_calls":[{}]})", "tool_name"},
           Case{R"({"hook_event_name":"Stop","background_tasks":1})", "background_tasks"},
       }) {
    json payload = json::parse(payloads::kClaudeEdit);
    payload.update(json::parse(each.change));
    const Error error = refused(Client::kClaude, payload.dump());
    EXPECT_EQ(error.code, Code::kInvalidInput) << each.change;
    EXPECT_NE(error.message.find(each.named), std::string::npos) << error.message;
    EXPECT_FALSE(hidden_in(error.message)) << error.message;
    EXPECT_FALSE(error.hint.empty());
  }
}

TEST(Event, WhatIsNotAnObjectOfJsonIsRefused) {
  EXPECT_NE(refused(Client::kClaude, "").message.find("empty"), std::string::npos);
  EXPECT_NE(refused(Client::kClaude, " \n").message.find("empty"), std::string::npos);
  EXPECT_NE(refused(Client::kClaude, "{\"a\":\"\xff\"}").message.find("UTF-8"), std::string::npos);
  EXPECT_NE(refused(Client::kClaude, "{\"a\":").message.find("JSON"), std::string::npos);
  EXPECT_NE(refused(Client::kClaude, "[]").message.find("object"), std::string::npos);
  EXPECT_NE(refused(Client::kClaude, R"({"a":1,"a":2})").message.find("twice"), std::string::npos);
  EXPECT_NE(refused(Client::kClaude, R"({"a":"\ud800"})").message.find("JSON"), std::string::npos);
  EXPECT_NE(refused(Client::kClaude, std::string("{}\0", 3)).message.find("NUL"),
            std::string::npos);
  EXPECT_NE(refused(Client::kClaude, R"({"a":1e999})").message.find("JSON"), std::string::npos);
}

TEST(Event, WhatIsTooLargeOrTooDeepIsRefused) {
  std::string deep = R"({"a":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  EXPECT_EQ(refused(Client::kClaude, deep).code, Code::kLimitExceeded);
  const auto edit_of_size = [](std::size_t bytes) {
    const std::string text =
        R"({"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Write",
                                 "tool_input":{"file_path":"a","content":""}})";
    return text.substr(0, text.size() - 3) + std::string(bytes - text.size(), 'x') + R"("}})";
  };
  EXPECT_EQ(refused(Client::kClaude, edit_of_size(kPayloadBytesMax + 1)).code,
            Code::kLimitExceeded);
  EXPECT_EQ(read(Client::kClaude, edit_of_size(kPayloadBytesMax)).moment, Moment::kBefore);
}

// An object of very many keys must not take a time that grows with their square.
TEST(Event, ManyKeysAreRead) {
  json many = json::parse(payloads::kClaudeEdit);
  for (int i = 0; i < 20'000; ++i) many["tool_input"]["k" + std::to_string(i)] = i;
  EXPECT_EQ(read(Client::kClaude, many.dump()).calls.at(0).input.size(), 20'004U);
}

}  // namespace
}  // namespace lockkeeper::enforce
