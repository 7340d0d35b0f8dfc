// How long a claim lasts: until its call has failed, its owner's turn is over, or its client dies.
#include <unistd.h>

#include "enforce/hook/hook_testing.h"
#include "host/test_child.h"

namespace lockkeeper::enforce::hook {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Lifetime : public Hooks {
 protected:
  void edited(const std::string& session, const std::string& file, const std::string& id) {
    ASSERT_EQ(refusal(edit(session, file, id)), "");
    run(Client::kClaude, batch(session, {{edit(session, file, id), "ok"}}));
  }
};

TEST_F(Lifetime, ACallThatFailedOrWasDeniedLeavesNoClaim) {
  for (const char* const response :
       {"<tool_use_error>String to replace not found in file.</tool_use_error>",
        "Claude requested permissions to write to a.c, but you haven't granted it yet."}) {
    ASSERT_EQ(refusal(edit("s1", "a.c", "t1")), "");
    run(Client::kClaude, batch("s1", {{edit("s1", "a.c", "t1"), response}}));
    EXPECT_THAT(held(), IsEmpty()) << response;
  }
}

TEST_F(Lifetime, AHookThatIsCutOffRefusesAnEditAndOtherwiseSaysWhatMayBeMissing) {
  std::vector<Said> last;
  World cut = world(Client::kClaude);
  cut.on_last_word = [&last](const Said& said) { last.push_back(said); };
  const json call = edit("s1", "a.c", "t1");
  answer_hook(cut, call.dump());
  answer_hook(cut, batch("s1", {{call, "ok"}}).dump());
  answer_hook(cut, claude("s1", "SessionEnd").dump());
  ASSERT_EQ(last.size(), 3U);
  EXPECT_THAT(last[0].out, HasSubstr("\"deny\""));
  EXPECT_EQ(last[1].out, "");
  EXPECT_EQ(last[1].exit_code, 0);
  EXPECT_THAT(last[1].err, HasSubstr("may not be recorded under its agent's name"));
  EXPECT_EQ(last[2].out, "");
  EXPECT_EQ(last[2].err,
            "lockkeeper did not answer in time, or crashed. To find out why: lockkeeper doctor\n");
}

TEST_F(Lifetime, TwoEditsOfOneBatchAreBothConfirmed) {
  ASSERT_EQ(refusal(edit("s1", "a.c", "t1")), "");
  ASSERT_EQ(refusal(edit("s1", "b.c", "t2")), "");
  run(Client::kClaude,
      batch("s1", {{edit("s1", "a.c", "t1"), "ok"}, {edit("s1", "b.c", "t2"), "ok"}}));
  EXPECT_THAT(held(), ElementsAre("claude-code s1 a.c", "claude-code s1 b.c"));
  site_.clock.ahead_ms += 61'000;
  EXPECT_NE(refusal(edit("s2", "a.c", "t1")), "");
}

TEST_F(Lifetime, AnEditInAnotherWorktreeIsConfirmedByTheBatch) {
  site_.files.git("repo", "worktree add ../other");
  edited("s1", "a.c", "t0");
  json there = edit("s1", "b.c", "t1");
  there["tool_input"]["file_path"] = site_.files.at("other/b.c");
  ASSERT_EQ(refusal(there), "");
  run(Client::kClaude, batch("s1", {{there, "ok"}}));
  EXPECT_THAT(held(), ElementsAre("claude-code s1 a.c", "claude-code s1 b.c"));
  run(Client::kClaude, claude("s1", "Stop"));
  EXPECT_THAT(held(), IsEmpty());
}

TEST_F(Lifetime, CodexSaysNothingOfAFailedPatchButItsNextOneDoes) {
  ASSERT_EQ(refusal(Client::kCodex, patch("c1", "*** Update File: a.c\n@@\n-a\n+b\n", "x1")), "");
  ASSERT_EQ(refusal(Client::kCodex, patch("c1", "*** Update File: b.c\n@@\n-a\n+b\n", "x2")), "");
  EXPECT_THAT(held(), ElementsAre("codex c1 b.c"));
}

TEST_F(Lifetime, AnInterruptedCallEndsWithTheNextPrompt) {
  ASSERT_EQ(refusal(edit("s1", "a.c", "t1")), "");
  run(Client::kClaude, claude("s1", "UserPromptSubmit"));
  EXPECT_THAT(held(), IsEmpty());
}

TEST_F(Lifetime, AnUnreportedCallGivesWayAfterAMinute) {
  ASSERT_EQ(refusal(edit("s1", "a.c", "t1")), "");
  site_.clock.ahead_ms += 61'000;
  EXPECT_EQ(refusal(edit("s2", "a.c", "t1")), "");
}

TEST_F(Lifetime, ATurnsEndReleasesAndAPausedTurnDoesNot) {
  edited("s1", "a.c", "t1");
  json stop = claude("s1", "Stop");
  stop["background_tasks"] = {{{"id", "b1"}, {"type", "shell"}, {"status", "running"}}};
  run(Client::kClaude, stop);
  EXPECT_THAT(held(), ElementsAre("claude-code s1 a.c"));
  run(Client::kClaude, claude("s1", "Stop"));
  EXPECT_THAT(held(), IsEmpty());
}

TEST_F(Lifetime, ATurnEndsAlsoWhileTheSettingsHaveAMistake) {
  for (const char* const end : {"Stop", "SessionEnd"}) {
    edited("s1", "a.c", "t1");
    write("lockkeeper.toml", "[hook]\npolcy = \"warn\"\n");
    run(Client::kClaude, claude("s1", end));
    std::filesystem::remove(at("lockkeeper.toml"));
    EXPECT_THAT(held(), IsEmpty()) << end;
  }
}

TEST_F(Lifetime, ACallIsReportedAlsoWhileTheSettingsHaveAMistake) {
  ASSERT_EQ(refusal(edit("s1", "a.c", "t1")), "");
  write("lockkeeper.toml", "[hook]\npolcy = \"warn\"\n");
  run(Client::kClaude, batch("s1", {{edit("s1", "a.c", "t1"), "ok"}}));
  std::filesystem::remove(at("lockkeeper.toml"));
  site_.clock.ahead_ms += 61'000;
  EXPECT_THAT(refusal(edit("s2", "a.c", "t1")), HasSubstr("is being edited"));
}

TEST_F(Lifetime, AnIdleClientKeepsNobodyOut) {
  write("lockkeeper.toml", "[hook]\npolicy = \"block\"\n");
  edited("s1", "a.c", "t1");
  json idle = claude("s1", "Notification");
  idle["notification_type"] = "idle_prompt";
  run(Client::kClaude, idle);
  EXPECT_THAT(held(), ElementsAre("claude-code s1 a.c"));
  EXPECT_EQ(refusal(edit("s2", "a.c", "t1")), "");
  EXPECT_THAT(refusal(edit("s1", "a.c", "t2")), HasSubstr("is being edited"));
}

TEST_F(Lifetime, AFileThatWasLeftForFiveMinutesGivesWay) {
  edited("s1", "package.json", "t1");
  site_.clock.ahead_ms += 4 * 60'000;
  EXPECT_NE(refusal(edit("s2", "package.json", "t1")), "");
  site_.clock.ahead_ms += 2 * 60'000;
  EXPECT_EQ(refusal(edit("s2", "package.json", "t2")), "");
  EXPECT_THAT(told(claude("s1", "UserPromptSubmit")), HasSubstr("package.json"));
}

TEST_F(Lifetime, TheClientsDeathFreesItsClaimsAtOnce) {
  host::TestChild client([](const host::ChildEnd& end) {
    end.await();
    return 0;
  });
  client_pid_ = client.pid();
  edited("s1", "a.c", "t1");
  client.kill();
  client_pid_.reset();
  EXPECT_EQ(refusal(edit("s2", "a.c", "t1")), "");
}

TEST_F(Lifetime, LeasesOnPurposeAreNotTouched) {
  take({"claude-code", "s1"}, "docs/");
  edited("s1", "docs/a.md", "t1");
  run(Client::kClaude, claude("s1", "Stop"));
  run(Client::kClaude, claude("s1", "SessionEnd"));
  EXPECT_THAT(held(), ElementsAre("claude-code s1 docs/"));
}

TEST_F(Lifetime, AnEditInAnotherRepositoryEndsWithTheTurnToo) {
  site_.files.init("second");
  edited("s1", "a.c", "t0");
  json there = edit("s1", "b.c", "t1");
  there["tool_input"]["file_path"] = site_.files.at("second/b.c");
  ASSERT_EQ(refusal(there), "");
  run(Client::kClaude, batch("s1", {{there, "ok"}}));
  json other = there;
  other["session_id"] = "s2";
  EXPECT_NE(refusal(other), "");
  run(Client::kClaude, claude("s1", "Stop"));
  EXPECT_EQ(refusal(other), "");
}

TEST_F(Lifetime, WhatOnlyLooksCreatesNothing) {
  for (const char* const name :
       {"SessionStart", "UserPromptSubmit", "Stop", "SessionEnd", "SubagentStart"}) {
    run(Client::kClaude, claude("s1", name));
  }
  run(Client::kClaude, shell("s1", "t1"));
  EXPECT_FALSE(has_store());
}

TEST_F(Lifetime, ARefusedAgentIsWokenOnceIfTheSettingsSaySo) {
  edited("s1", "a.c", "t1");
  ASSERT_NE(refusal(edit("s2", "a.c", "t1")), "");
  int slept = 0;
  const auto release_later = [&](int) {
    if (++slept == 2) run(Client::kClaude, claude("s1", "Stop"));
    return slept < 10;
  };
  const auto wake = [&](const std::string& session) {
    return answer_wake(world(Client::kClaude), claude(session, "Stop").dump(), release_later);
  };
  EXPECT_EQ(wake("s2").exit_code, 0) << "it is off";
  write("lockkeeper.toml", "[hook]\nwake = true\n");
  EXPECT_EQ(wake("s1").exit_code, 0) << "it was refused nothing";
  EXPECT_EQ(slept, 0);
  const Said said = wake("s2");
  EXPECT_EQ(said.exit_code, 2);
  EXPECT_THAT(said.err, HasSubstr("you can edit a.c now"));
  EXPECT_EQ(slept, 2);
  EXPECT_EQ(wake("s2").exit_code, 0) << "once for each file";
}

}  // namespace
}  // namespace lockkeeper::enforce::hook
