#include "install/proof.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "install/inspect.h"
#include "install/install_testing.h"

namespace lockkeeper::install {
namespace {

class Proof : public InstallTest {
 protected:
  // A program with the name of ours that says this.
  void answer_with(const std::string& script) const {
    write("home/.local/share/lockkeeper/bin/lockkeeper", "#!/bin/sh\n" + script);
    std::filesystem::permissions(program_, std::filesystem::perms::owner_all);
  }
  Asking asking(std::vector<std::string> words, const std::string& input = "") const {
    return {.command = {std::move(words)}, .folder = at("repo"), .input = input};
  }
  Heard heard(const Asking& asked) const {
    const auto answer = ask_program(asked);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer.value_or(Heard{});
  }
};

TEST_F(Proof, AProgramGetsItsInputItsFolderAndNoNameOfTheCaller) {
  ASSERT_EQ(::setenv("LOCKKEEPER_AGENT", "ann", 1), 0);
  Asking asked =
      asking({"sh", "-c", "cat; pwd; echo \"[$LOCKKEEPER_AGENT$A]\" >&2; exit 3"}, "x\n");
  asked.command.variables["A"] = "b";
  const Heard got = heard(asked);
  ::unsetenv("LOCKKEEPER_AGENT");
  EXPECT_EQ(got.status, 3);
  EXPECT_EQ(got.out, "x\n" + at("repo") + "\n");
  EXPECT_EQ(got.err, "[b]\n");
  EXPECT_FALSE(got.late || got.stopped);
}

TEST_F(Proof, AProgramThatGoesOnIsEnded) {
  Asking late = asking({"sh", "-c", "echo begun; sleep 600"});
  late.limit_ms = 50;
  EXPECT_TRUE(heard(late).late);
  EXPECT_EQ(read_verdict(Client::kClaude, heard(late)).verdict, Verdict::kFailed);
  Asking stopped = asking({"sleep", "600"});
  stopped.stop = [] { return true; };
  EXPECT_TRUE(heard(stopped).stopped);
  // Of a server one line is enough, and its input stays open until then.
  Asking line = asking({"sh", "-c", "read -r x; echo \"$x\"; cat; sleep 600"}, "hello\n");
  line.one_line = true;
  const Heard got = heard(line);
  EXPECT_EQ(got.out, "hello\n");
  EXPECT_FALSE(got.late);
}

TEST_F(Proof, WhatCannotBeStartedIsAnError) {
  EXPECT_FALSE(ask_program(asking({at("nowhere/lockkeeper")})));
  EXPECT_FALSE(ask_program(asking({})));
}

// The client's own command, exactly as an install wrote it, in every scope that has one.
TEST_F(Proof, EveryInstalledGuardIsStartedAsItsClientWould) {
  for (const ClientFacts& facts : all_clients()) {
    for (const Scope scope : {Scope::kUser, Scope::kProject}) {
      answer_with("echo \"$*\"; cat");
      install(request({facts.client}, scope));
      const ClientStatus status = inspect(machine(), facts.client);
      ASSERT_EQ(status.scopes.size(), 1U) << facts.name;
      const ScopeStatus& found = status.scopes[0];
      EXPECT_TRUE(found.fails_closed) << facts.name;
      const Heard got = heard({.command = found.guard, .folder = at("repo"), .input = "{}"});
      EXPECT_EQ(got.out, "hook " + std::string(facts.name) + "\n{}") << facts.name;
      if (found.server) {
        const Heard server = heard({.command = found.server_command, .folder = at("repo")});
        EXPECT_EQ(server.out, "mcp\n") << facts.name;
      }
      uninstall(request({facts.client}, scope));
    }
  }
}

TEST_F(Proof, AHookThatCrashesIsNotAVerdict) {
  for (const ClientFacts& facts : all_clients()) {
    answer_with("kill -9 $$");
    install(request({facts.client}, Scope::kProject));
    const ClientStatus status = inspect(machine(), facts.client);
    ASSERT_EQ(status.scopes.size(), 1U) << facts.name;
    const Heard got = heard({.command = status.scopes[0].guard, .folder = at("repo")});
    EXPECT_EQ(read_verdict(facts.client, got).verdict, Verdict::kFailed) << facts.name;
    uninstall(request({facts.client}, Scope::kProject));
  }
}

struct Case {
  Client client;
  Heard heard;
  Verdict verdict;
  std::string reason = {};
};

const std::string kNestedDeny =
    R"({"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny",)"
    R"("permissionDecisionReason":"why"}})";

TEST(Verdicts, EachClientReadsItsOwnDialect) {
  const std::string flat = R"({"permissionDecision":"deny","permissionDecisionReason":"why"})";
  const std::string nested_ask = R"({"hookSpecificOutput":{"permissionDecision":"ask"}})";
  const std::string block = R"({"decision":"block","reason":"why"})";
  const std::string deny = R"({"decision":"deny","reason":"why"})";
  const Case cases[] = {
      {Client::kClaude, {0, "", ""}, Verdict::kPassed},
      {Client::kClaude, {0, kNestedDeny, ""}, Verdict::kRefused, "why"},
      {Client::kClaude, {0, block, ""}, Verdict::kRefused, "why"},
      {Client::kClaude, {2, "", "why\n"}, Verdict::kRefused, "why"},
      {Client::kClaude, {0, nested_ask, ""}, Verdict::kAsked},
      {Client::kClaude, {0, flat, ""}, Verdict::kPassed},
      {Client::kClaude, {64, "", "unknown verb"}, Verdict::kFailed},
      {Client::kCodex, {0, kNestedDeny, ""}, Verdict::kRefused, "why"},
      {Client::kCodex, {2, "", "why"}, Verdict::kRefused, "why"},
      {Client::kCodex, {0, nested_ask, ""}, Verdict::kPassed},
      {Client::kCodex, {0, R"({"decision":"block"})", ""}, Verdict::kPassed},
      {Client::kCodex, {2, "", "lockkeeper: the hook failed. Run: …"}, Verdict::kFailed},
      {Client::kGemini, {0, deny, ""}, Verdict::kRefused, "why"},
      {Client::kGemini, {2, deny, "other"}, Verdict::kRefused, "why"},
      {Client::kGemini, {2, "", "why"}, Verdict::kRefused, "why"},
      {Client::kGemini, {0, kNestedDeny, ""}, Verdict::kPassed},
      {Client::kGemini, {1, "", "oh"}, Verdict::kFailed},
      {Client::kCopilot, {0, flat, ""}, Verdict::kRefused, "why"},
      {Client::kCopilot, {0, "", ""}, Verdict::kPassed},
      {Client::kCopilot, {0, block, ""}, Verdict::kPassed},
      {Client::kCopilot, {1, flat, ""}, Verdict::kFailed},
      {Client::kOpencode, {0, R"({"verdict":"pass"})", ""}, Verdict::kPassed},
      {Client::kOpencode,
       {0, R"({"verdict":"refuse","reason":"why"})", ""},
       Verdict::kRefused,
       "why"},
      {Client::kOpencode, {0, "", ""}, Verdict::kFailed},
      {Client::kOpencode, {1, R"({"verdict":"pass"})", ""}, Verdict::kFailed},
      {Client::kCursor, {0, R"({"permission":"allow"})", ""}, Verdict::kPassed},
      {Client::kCursor,
       {0, R"({"permission":"deny","agent_message":"why"})", ""},
       Verdict::kRefused,
       "why"},
      {Client::kCursor, {0, "", ""}, Verdict::kFailed},
  };
  for (const Case& one : cases) {
    const ReadVerdict read = read_verdict(one.client, one.heard);
    const std::string where = std::string(facts_of(one.client).name) + " " +
                              std::to_string(one.heard.status) + " " + one.heard.out;
    EXPECT_EQ(verdict_name(read.verdict), verdict_name(one.verdict)) << where;
    if (!one.reason.empty()) {
      EXPECT_EQ(read.reason, one.reason) << where;
    }
  }
}

TEST(Verdicts, AnMcpAnswerNamesItsServer) {
  EXPECT_TRUE(
      is_mcp_answer(R"({"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"lockkeeper"}}})"
                    "\n{}"));
  EXPECT_FALSE(is_mcp_answer(R"({"jsonrpc":"2.0","id":1,"error":{"code":1}})"));
  EXPECT_FALSE(is_mcp_answer(""));
  EXPECT_FALSE(is_mcp_answer("Usage: lockkeeper"));
  EXPECT_EQ(mcp_greeting().find('\n'), mcp_greeting().size() - 1) << "one line";
}

}  // namespace
}  // namespace lockkeeper::install
