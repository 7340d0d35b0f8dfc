// Whose work a file has: how it begins to count, and how it ends, with the real git.
#include "enforce/hook/commands_testing.h"

namespace lockkeeper::enforce::hook {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class WhoseWork : public Commands {
 protected:
  // Somebody without hooks.
  void person(const std::string& file, const std::string& text) { write(file, text); }
  void turn(const std::string& session) {
    run(Client::kClaude, claude(session, "UserPromptSubmit"));
  }
  void gone(const std::string& session) { run(Client::kClaude, claude(session, "SessionEnd")); }
  static constexpr const char* kAll[] = {"git stash", "git reset --hard", "git checkout -- a.c",
                                         "git add -A", "git commit -am x"};
  void all_refused(const std::string& why) {
    for (const char* const each : kAll) {
      EXPECT_THAT(refused(each), HasSubstr("(session s1): a.c")) << each << ", " << why;
    }
  }
  void all_pass(const std::string& why) {
    for (const char* const each : kAll) EXPECT_EQ(refused(each), "") << each << ", " << why;
  }
};

TEST_F(WhoseWork, G1_ItsOwnStashTakesNothingAwayFromItsWriter) {
  wrote("s1", "a.c", "changed by s1");
  ran("s1", "stash push -q -- a.c");
  all_pass("nothing of it is there");
  // Hooks of others see the file as it was committed.
  turn("s2");
  ran("s2", "commit -q --allow-empty -m x");
  ran("s1", "stash pop -q");
  over("s1");
  all_refused("it has come back");
}

TEST_F(WhoseWork, G1_WhoeverBringsItBackIsNotItsWriter) {
  wrote("s1", "a.c", "changed by s1");
  over("s1");
  const json made = command("s2", "./tool");
  ASSERT_EQ(refusal(made), "");
  git("diff --output=" + site_.files.at("patch"));
  git("checkout -- a.c");
  git("apply " + site_.files.at("patch"));
  run(Client::kClaude, batch("s2", {{made, "ok"}}));
  all_refused("a tool has put it away and brought it back");
  // The same in two calls.
  const json first = command("s2", "./tool");
  ASSERT_EQ(refusal(first), "");
  git("checkout -- a.c");
  run(Client::kClaude, batch("s2", {{first, "ok"}}));
  all_pass("nothing of it is there");
  const json second = command("s2", "./tool");
  ASSERT_EQ(refusal(second), "");
  git("apply " + site_.files.at("patch"));
  run(Client::kClaude, batch("s2", {{second, "ok"}}));
  all_refused("it has come back in another call");
}

TEST_F(WhoseWork, AfterARevertTheNextWriterIsAlone) {
  wrote("s1", "a.c", "changed by s1");
  over("s1");
  git("checkout -- a.c");
  wrote("s2", "a.c", "changed by s2");
  EXPECT_EQ(refused("git stash"), "");
  EXPECT_THAT(refused("git stash", "s1"), HasSubstr("(session s2): a.c"));
}

TEST_F(WhoseWork, AfterAPersonsCommitTheNextWriterIsAlone) {
  wrote("s1", "a.c", "changed by s1");
  over("s1");
  person("a.c", "changed by s1, and adjusted");
  git("commit -qam adjusted");
  wrote("s2", "a.c", "changed by s2");
  EXPECT_EQ(refused("git stash"), "");
  EXPECT_EQ(refused("git add -A"), "");
}

TEST_F(WhoseWork, WhatWasCommittedAsItWasIsNobodysHoweverItChangesLater) {
  wrote("s1", "a.c", "changed by s1");
  over("s1");
  git("commit -qam as-it-is");
  person("a.c", "changed by a person");
  all_pass("a person's change");
}

TEST_F(WhoseWork, WhatASessionLeftBehindMayBeCommittedButNotDestroyed) {
  wrote("s1", "a.c", "changed by s1");
  gone("s1");
  for (const char* const each : {"git add -A", "git commit -am x", "git add ."}) {
    EXPECT_EQ(refused(each), "") << each;
  }
  for (const char* const each : {"git stash", "git reset --hard", "git checkout -- a.c"}) {
    EXPECT_THAT(refused(each), AllOf(HasSubstr("(session s1): a.c"), HasSubstr("is over"),
                                     HasSubstr("lockkeeper acquire")))
        << each;
  }
  // It may come back.
  turn("s1");
  all_refused("it is here again");
}

TEST_F(WhoseWork, WhoeverLocksTheFileMayDoWithItWhatItLikes) {
  wrote("s1", "a.c", "changed by s1");
  gone("s1");
  take({"claude-code", "s2"}, "a.c");
  all_pass("it holds the file on purpose");
}

TEST_F(WhoseWork, ItsOwnEditAfterTheLockTakesNothingBack) {
  wrote("s1", "a.c", "changed by s1");
  gone("s1");
  take({"claude-code", "s2"}, "a.c");
  turn("s2");
  wrote("s2", "a.c", "changed by s1, and by s2");
  all_pass("it holds the file on purpose");
}

TEST_F(WhoseWork, WhatAPersonChangesIsNotTheNextCommandsDoing) {
  wrote("s1", "a.c", "changed by s1");
  over("s1");
  person("a.c", "changed by a person");
  const json made = command("s2", "ls");
  ASSERT_EQ(refusal(made), "");
  run(Client::kClaude, batch("s2", {{made, "ok"}}));
  EXPECT_THAT(events("overwrote"), IsEmpty());
  EXPECT_THAT(events("changed"), Contains("claude-code a.c"));
  EXPECT_EQ(refused("git stash", "s1"), "") << "its own work, as far as anybody knows";
  EXPECT_THAT(refused("git stash"), HasSubstr("(session s1): a.c"));
}

}  // namespace
}  // namespace lockkeeper::enforce::hook
