// While a user is asked about a call, and when the answer comes too late.
#include "enforce/hook/hook_testing.h"

namespace lockkeeper::enforce::hook {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Asking : public Hooks {
 protected:
  void ask(const std::string& session) {
    json question = claude(session, "Notification");
    question["notification_type"] = "permission_prompt";
    const Said said = run(Client::kClaude, question);
    EXPECT_EQ(said.out, "");
    EXPECT_EQ(said.exit_code, 0);
  }
  json codex_edit(const std::string& id) {
    return patch("c1", "*** Update File: a.c\n@@\n-a\n+b\n", id);
  }
  void pass(std::int64_t ms) { site_.clock.ahead_ms += ms; }
};

TEST_F(Asking, AnOpenQuestionKeepsTheClaimAsLongAsARunningCall) {
  ASSERT_EQ(refusal(edit("s1", "a.c", "t1")), "");
  pass(6'000);
  ask("s1");
  pass(8 * 60'000);
  EXPECT_THAT(refusal(Client::kCodex, codex_edit("x1")), HasSubstr("a.c is being edited by"));
  pass(3 * 60'000);
  EXPECT_EQ(refusal(Client::kCodex, codex_edit("x2")), "") << "not forever";
}

TEST_F(Asking, ASubagentsClaimIsKeptToo) {
  ASSERT_EQ(refusal(as_subagent(edit("s1", "a.c", "t1"), "x")), "");
  ask("s1");
  pass(5 * 60'000);
  EXPECT_NE(refusal(Client::kCodex, codex_edit("x1")), "");
}

TEST_F(Asking, AClaimThatItsUserAllowedLastsAsAnyOther) {
  ASSERT_EQ(refusal(edit("s1", "a.c", "t1")), "");
  ask("s1");
  run(Client::kClaude, batch("s1", {{edit("s1", "a.c", "t1"), "ok"}}));
  EXPECT_THAT(held(), ElementsAre("claude-code s1 a.c"));
  run(Client::kClaude, claude("s1", "Stop"));
  EXPECT_THAT(held(), IsEmpty());
}

TEST_F(Asking, ADeniedCallLeavesNoClaim) {
  ASSERT_EQ(refusal(edit("s1", "a.c", "t1")), "");
  ask("s1");
  run(Client::kClaude, batch("s1", {{edit("s1", "a.c", "t1"),
                                     "The user doesn't want to proceed with this tool use."}}));
  EXPECT_THAT(held(), IsEmpty());
}

TEST_F(Asking, ADeniedCallDoesNotEndWhatAnotherCallHasEdited) {
  ASSERT_EQ(refusal(edit("s1", "a.c", "t1")), "");
  ask("s1");
  ASSERT_EQ(refusal(edit("s1", "a.c", "t2")), "");
  run(Client::kClaude, batch("s1", {{edit("s1", "a.c", "t1"), "<tool_use_error>no"},
                                    {edit("s1", "a.c", "t2"), "ok"}}));
  EXPECT_THAT(held(), ElementsAre("claude-code s1 a.c"));
}

TEST_F(Asking, AnInterruptedQuestionEndsWithTheNextPrompt) {
  ASSERT_EQ(refusal(edit("s1", "a.c", "t1")), "");
  ask("s1");
  run(Client::kClaude, claude("s1", "UserPromptSubmit"));
  EXPECT_THAT(held(), IsEmpty());
}

TEST_F(Asking, IfTheAnswerComesTooLateBothAreToldAndItIsOnRecord) {
  ASSERT_EQ(refusal(edit("s1", "a.c", "t1")), "");
  pass(61'000);
  ASSERT_EQ(refusal(Client::kCodex, codex_edit("x1")), "");
  run(Client::kCodex, after(codex_edit("x1")));
  EXPECT_THAT(told(batch("s1", {{edit("s1", "a.c", "t1"), "ok"}})),
              AllOf(HasSubstr("a.c"), HasSubstr("taken over by codex (session c1)")));
  EXPECT_THAT(events("overwrote"), ElementsAre("claude-code a.c"));
  EXPECT_THAT(told(Client::kCodex, codex("c1", "UserPromptSubmit")),
              HasSubstr("changed a.c while you held it"));
}

TEST_F(Asking, WhatItsUserLetPassIsToldToTheHolder) {
  write("lockkeeper.toml", "[hook]\npolicy = \"ask\"\n");
  ASSERT_EQ(refusal(edit("s1", "a.c", "t1")), "");
  run(Client::kClaude, batch("s1", {{edit("s1", "a.c", "t1"), "ok"}}));
  const json second = edit("s2", "a.c", "t2");
  ASSERT_THAT(run(Client::kClaude, second).out, HasSubstr("\"ask\""));
  run(Client::kClaude, batch("s2", {{second, "ok"}}));
  EXPECT_THAT(told(batch("s1", {})),
              AllOf(HasSubstr("its user was asked"), HasSubstr("changed a.c while you held it")));
}

}  // namespace
}  // namespace lockkeeper::enforce::hook
