#include "enforce/answer.h"

#include <gtest/gtest.h>

#include <array>

#include "base/text.h"
#include "enforce/payloads_testing.h"

namespace lockkeeper::enforce {
namespace {

using nlohmann::json;

constexpr std::array kAllClients = {Client::kClaude,  Client::kCodex,    Client::kGemini,
                                    Client::kCopilot, Client::kOpencode, Client::kCursor};
constexpr std::array kAllMoments = {
    Moment::kSessionStart, Moment::kTurnStart,     Moment::kBefore,       Moment::kAfter,
    Moment::kBatchOver,    Moment::kSubagentStart, Moment::kSubagentOver, Moment::kTurnOver,
    Moment::kIdle,         Moment::kQuestion,      Moment::kSessionOver,  Moment::kOther};

Event event_of(Client client, Moment moment, const char* name) {
  Event event;
  event.client = client;
  event.moment = moment;
  event.name = name;
  return event;
}

Event before(Client client) {
  if (client == Client::kGemini) return event_of(client, Moment::kBefore, "BeforeTool");
  if (client == Client::kOpencode) return event_of(client, Moment::kBefore, "tool.execute.before");
  const bool small = client == Client::kCopilot || client == Client::kCursor;
  return event_of(client, Moment::kBefore, small ? "preToolUse" : "PreToolUse");
}

json out(const Event& event, const Answer& answer) {
  const Said said = say(event, answer);
  EXPECT_EQ(said.exit_code, 0);
  EXPECT_EQ(said.err, "");
  if (said.out.empty()) return nullptr;
  EXPECT_TRUE(said.out.ends_with('\n'));
  EXPECT_EQ(said.out.find('\n'), said.out.size() - 1);
  return json::parse(said.out);
}

const Answer kRefusal{Verdict::kRefuse, "a.c is held by bob", ""};
const Answer kQuestion{Verdict::kAsk, "a.c is held by bob", ""};

TEST(Answer, APassSaysNothing) {
  EXPECT_EQ(out(before(Client::kClaude), {}), nullptr);
  EXPECT_EQ(out(before(Client::kCodex), {}), nullptr);
  EXPECT_EQ(out(before(Client::kGemini), {}), nullptr);
  EXPECT_EQ(out(before(Client::kCopilot), {}), nullptr);
  // These take silence for a failure.
  EXPECT_EQ(out(before(Client::kCursor), {}), (json{{"permission", "allow"}}));
  EXPECT_EQ(out(before(Client::kOpencode), {}), (json{{"verdict", "pass"}}));
  EXPECT_EQ(out(event_of(Client::kCursor, Moment::kTurnOver, "stop"), {}), json::object());
  EXPECT_EQ(out(event_of(Client::kCursor, Moment::kTurnStart, "beforeSubmitPrompt"), {}),
            (json{{"continue", true}}));
}

TEST(Answer, NoPassIsEverAnAllow) {
  for (const Client client : kAllClients) {
    if (client == Client::kCursor) continue;
    for (const Moment moment : kAllMoments) {
      const Said said = say(event_of(client, moment, "X"), {Verdict::kPass, "r", "t"});
      EXPECT_EQ(said.out.find("allow"), std::string::npos) << said.out;
      EXPECT_EQ(said.out.find("approve"), std::string::npos) << said.out;
    }
  }
}

TEST(Answer, ARefusalIsInTheClientsDialect) {
  const json nested = {{"hookEventName", "PreToolUse"},
                       {"permissionDecision", "deny"},
                       {"permissionDecisionReason", "a.c is held by bob"}};
  const json flat = {{"permissionDecision", "deny"},
                     {"permissionDecisionReason", "a.c is held by bob"}};
  EXPECT_EQ(out(before(Client::kClaude), kRefusal), (json{{"hookSpecificOutput", nested}}));
  EXPECT_EQ(out(before(Client::kCodex), kRefusal), (json{{"hookSpecificOutput", nested}}));
  EXPECT_EQ(out(before(Client::kGemini), kRefusal),
            (json{{"decision", "deny"}, {"reason", "a.c is held by bob"}}));
  EXPECT_EQ(out(before(Client::kCopilot), kRefusal), flat);
  EXPECT_EQ(out(before(Client::kOpencode), kRefusal),
            (json{{"verdict", "refuse"}, {"reason", "a.c is held by bob"}}));
  EXPECT_EQ(out(before(Client::kCursor), kRefusal),
            (json{{"permission", "deny"},
                  {"user_message", "a.c is held by bob"},
                  {"agent_message", "a.c is held by bob"}}));
}

// Copilot ignores what is nested in the answers of its own hooks.
TEST(Answer, AGuestInClaudesShapeIsAnsweredInBoth) {
  const auto event = read_event(Client::kClaude, payloads::kCopilotAsClaude);
  ASSERT_TRUE(event.has_value());
  const json said = out(*event, kRefusal);
  EXPECT_EQ(said.at("permissionDecision"), "deny");
  EXPECT_EQ(said.at("hookSpecificOutput").at("permissionDecision"), "deny");
  EXPECT_EQ(said.at("hookSpecificOutput").at("hookEventName"), "PreToolUse");
  Event cursor = before(Client::kCursor);
  cursor.name = "PreToolUse";
  cursor.claude_shape = true;
  EXPECT_EQ(out(cursor, kRefusal).at("permission"), "deny");
  EXPECT_EQ(out(cursor, kRefusal).at("hookSpecificOutput").at("permissionDecision"), "deny");
  EXPECT_EQ(out(cursor, {}), (json{{"permission", "allow"}}));
}

TEST(Answer, AClientThatCannotAskRefuses) {
  EXPECT_EQ(out(before(Client::kClaude), kQuestion)["hookSpecificOutput"]["permissionDecision"],
            "ask");
  EXPECT_EQ(out(before(Client::kGemini), kQuestion), out(before(Client::kGemini), kRefusal));
  EXPECT_EQ(out(before(Client::kCopilot), kQuestion)["permissionDecision"], "ask");
  EXPECT_EQ(out(before(Client::kCodex), kQuestion), out(before(Client::kCodex), kRefusal));
  EXPECT_EQ(out(before(Client::kOpencode), kQuestion), out(before(Client::kOpencode), kRefusal));
  EXPECT_EQ(out(before(Client::kCursor), kQuestion), out(before(Client::kCursor), kRefusal));
  EXPECT_EQ(out(event_of(Client::kCursor, Moment::kBefore, "beforeShellExecution"),
                kQuestion)["permission"],
            "ask");
}

// Codex lets a call pass if it finds a field that it does not know.
TEST(Answer, CodexSeesOnlyFieldsOfItsSchemas) {
  for (const Moment moment : kAllMoments) {
    for (const Verdict verdict : {Verdict::kPass, Verdict::kRefuse, Verdict::kAsk}) {
      const json said = out(event_of(Client::kCodex, moment, "X"), {verdict, "r", "t"});
      if (said.is_null()) continue;
      EXPECT_NE(moment, Moment::kSessionOver);  // it has no schema for an answer there
      for (const auto& [name, value] : said.items()) {
        EXPECT_TRUE(name == "hookSpecificOutput" || name == "systemMessage") << name;
      }
      const json inner = said.value("hookSpecificOutput", json::object());
      for (const auto& [name, value] : inner.items()) {
        EXPECT_TRUE(name == "hookEventName" || name == "additionalContext" ||
                    (moment == Moment::kBefore && name.starts_with("permissionDecision")))
            << name;
      }
    }
  }
}

TEST(Answer, ATextReachesTheModelWhereItCan) {
  const Answer told{Verdict::kPass, "", "bob waits for a.c"};
  const json context = {{"hookEventName", "PostToolUse"},
                        {"additionalContext", "bob waits for a.c"}};
  EXPECT_EQ(out(event_of(Client::kClaude, Moment::kAfter, "PostToolUse"), told),
            (json{{"hookSpecificOutput", context}}));
  EXPECT_EQ(out(event_of(Client::kCodex, Moment::kAfter, "PostToolUse"), told),
            (json{{"hookSpecificOutput", context}}));
  EXPECT_EQ(out(event_of(Client::kGemini, Moment::kAfter, "AfterTool"),
                told)["hookSpecificOutput"]["additionalContext"],
            "bob waits for a.c");
  EXPECT_EQ(out(event_of(Client::kCopilot, Moment::kAfter, "postToolUse"), told),
            (json{{"additionalContext", "bob waits for a.c"}}));
  EXPECT_EQ(out(event_of(Client::kOpencode, Moment::kAfter, "tool.execute.after"), told)["tell"],
            "bob waits for a.c");
  EXPECT_EQ(
      out(event_of(Client::kCursor, Moment::kAfter, "postToolUse"), told)["additional_context"],
      "bob waits for a.c");
  // At the end of a turn a text would start another one: the user is told instead.
  EXPECT_EQ(out(event_of(Client::kClaude, Moment::kTurnOver, "Stop"), told),
            (json{{"systemMessage", "bob waits for a.c"}}));
  EXPECT_EQ(out(event_of(Client::kGemini, Moment::kBefore, "BeforeTool"), told),
            (json{{"systemMessage", "bob waits for a.c"}}));
  EXPECT_EQ(out(event_of(Client::kCopilot, Moment::kTurnOver, "agentStop"), told), nullptr);
}

// can_tell() and what is said agree.
TEST(Answer, CanTellIsTrueWhereverTheModelIsTold) {
  for (const Client client : kAllClients) {
    for (const Moment moment : kAllMoments) {
      const Event event = event_of(client, moment, moment == Moment::kAfter ? "PostToolUse" : "X");
      const Said said = say(event, {Verdict::kPass, "", "needle"});
      const bool to_user = said.out.find("systemMessage") != std::string::npos;
      const bool told = !to_user && said.out.find("needle") != std::string::npos;
      if (client == Client::kOpencode)
        continue;  // the plugin is handed it, and may have to keep it
      EXPECT_EQ(told, can_tell(event)) << client_name(client) << " " << said.out;
    }
  }
}

TEST(Answer, TooLateToRefuseTheModelIsTold) {
  const json said = out(event_of(Client::kClaude, Moment::kAfter, "PostToolUse"), kRefusal);
  EXPECT_EQ(said["hookSpecificOutput"]["additionalContext"], "a.c is held by bob");
  for (const Client client : kAllClients) {
    for (const Moment moment : kAllMoments) {
      if (moment == Moment::kBefore) continue;
      const Said late = say(event_of(client, moment, "X"), kRefusal);
      EXPECT_EQ(late.exit_code, 0);
      for (const char* word : {"deny", "block", "\"refuse\"", "\"ask\"", "\"continue\":false"}) {
        EXPECT_EQ(late.out.find(word), std::string::npos) << late.out;
      }
    }
  }
}

TEST(Answer, WhatIsToldBesideARefusalIsPartOfItsReason) {
  const json said = out(before(Client::kClaude), {Verdict::kRefuse, "held", "bob says hello"});
  EXPECT_EQ(said["hookSpecificOutput"]["permissionDecisionReason"], "held\nbob says hello");
}

TEST(Answer, AnyTextIsMadeValidAndBounded) {
  const std::string nasty = "a\xff\x1b[2J\u202e\"\\" + std::string(10'000, 'x') + "\u00e9";
  for (const Client client : kAllClients) {
    const Said said = say(before(client), {Verdict::kRefuse, nasty, nasty});
    EXPECT_TRUE(is_valid_utf8(said.out));
    EXPECT_TRUE(json::accept(said.out));
    EXPECT_LT(said.out.size(), 5 * kReasonBytesMax);
    EXPECT_EQ(said.out.find('\x1b'), std::string::npos);
  }
  const std::string cut = out(before(Client::kGemini),
                              {Verdict::kRefuse, std::string(3000, 'x') + nasty, ""})["reason"];
  EXPECT_LE(cut.size(), kReasonBytesMax);
  EXPECT_TRUE(cut.ends_with("…"));
}

TEST(Answer, ARefusalWithoutAReasonHasOne) {
  const json said = out(before(Client::kCodex), {Verdict::kRefuse, "", ""});
  EXPECT_NE(said["hookSpecificOutput"]["permissionDecisionReason"], "");
}

TEST(Answer, AnUnreadPayloadIsRefused) {
  for (const Client client : {Client::kClaude, Client::kCodex, Client::kGemini}) {
    const Said said = refuse_unread(client, "{", "no \"session_id\"");
    EXPECT_EQ(said.exit_code, 2);
    EXPECT_EQ(said.err, "no \"session_id\"\n");
    EXPECT_EQ(said.out, "");
    EXPECT_NE(refuse_unread(client, "", "").err, "");  // Codex wants a reason
  }
  EXPECT_EQ(json::parse(refuse_unread(Client::kCopilot, "{", "no").out)["permissionDecision"],
            "deny");
  EXPECT_EQ(json::parse(refuse_unread(Client::kCursor, "{", "no").out)["permission"], "deny");
  EXPECT_EQ(json::parse(refuse_unread(Client::kOpencode, "{", "no").out)["verdict"], "refuse");
}

// There a refusal would end the turn of the agent.
TEST(Answer, AnUnreadPayloadOfAnotherMomentIsLetGo) {
  const auto exit_code = [](const char* payload) {
    return refuse_unread(Client::kClaude, payload, "no").exit_code;
  };
  EXPECT_EQ(exit_code(R"({"hook_event_name": "PostToolBatch", "tool_calls":)"), 0);
  EXPECT_EQ(exit_code(R"({"hook_event_name":"Stop",)"), 0);
  EXPECT_EQ(exit_code(R"({"hook_event_name":"PreToolUse",)"), 2);
  EXPECT_EQ(exit_code(R"({"hook_event_name":"Unheard",)"), 2);
  EXPECT_EQ(exit_code(R"({"hook_event_name":7,)"), 2);
  EXPECT_EQ(exit_code(R"({"hook_event_name")"), 2);
  EXPECT_EQ(exit_code(R"({"hook_event_name":"Stop)"), 2);
  // What the model wrote does not count.
  EXPECT_EQ(exit_code(R"({"tool_input":{"text":"\"hook_event_name\":\"Stop\""},)"), 2);
  EXPECT_EQ(exit_code(R"({"tool_input":{"hook_event_name":"Stop"},"hook_event_name":"PreToolUse")"),
            2);
}

TEST(Say, ACallIsRewrittenWhereThatNeedsNoPermission) {
  Answer answer;
  answer.input = {{"agent", "call:7"}};
  EXPECT_EQ(out(before(Client::kGemini), answer),
            (json{{"hookSpecificOutput", {{"tool_input", {{"agent", "call:7"}}}}}}));
  EXPECT_EQ(out(before(Client::kCopilot), answer), (json{{"modifiedArgs", {{"agent", "call:7"}}}}));
  EXPECT_EQ(out(before(Client::kOpencode), answer),
            (json{{"verdict", "pass"}, {"args", {{"agent", "call:7"}}}}));
  for (const Client client : {Client::kClaude, Client::kCodex}) {
    EXPECT_EQ(say(before(client), answer).out, "");
  }
  answer.verdict = Verdict::kRefuse;
  EXPECT_FALSE(out(before(Client::kOpencode), answer).contains("args"));
}

}  // namespace
}  // namespace lockkeeper::enforce
