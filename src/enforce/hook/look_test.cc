// After a shell command: whose work has it changed?
#include "enforce/hook/files.h"
#include "enforce/hook/hook_testing.h"

namespace lockkeeper::enforce::hook {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Look : public Hooks {
 protected:
  void edited(const std::string& session, const std::string& file, const std::string& text) {
    const json made = edit(session, file, "t-" + file);
    ASSERT_EQ(refusal(made), "");
    write(file, text);
    run(Client::kClaude, batch(session, {{made, "ok"}}));
  }
  void begin_shell(const std::string& session, const std::string& id) {
    ASSERT_EQ(run(Client::kClaude, shell(session, id)).out, "");
  }
  std::string end_shell(const std::string& session, const std::string& id) {
    return told(batch(session, {{shell(session, id), "done"}}));
  }
};

TEST_F(Look, WhoeverAloneRanACommandIsBlamedAndBothAreToldOnce) {
  edited("s1", "a.c", "one");
  begin_shell("s2", "r1");
  write("a.c", "sed was here");
  EXPECT_THAT(end_shell("s2", "r1"),
              AllOf(HasSubstr("a.c"), HasSubstr("not as another agent had left it")));
  EXPECT_THAT(events("overwrote"), ElementsAre("claude-code a.c"));
  EXPECT_THAT(told(claude("s1", "UserPromptSubmit")),
              HasSubstr("a.c was changed by a command of mine"));
  begin_shell("s2", "r2");
  EXPECT_EQ(end_shell("s2", "r2"), "");
}

TEST_F(Look, IfSomebodyElseWasBusyNobodyIsBlamed) {
  edited("s1", "a.c", "one");
  begin_shell("s3", "r0");
  begin_shell("s2", "r1");
  write("a.c", "somebody was here");
  EXPECT_THAT(end_shell("s2", "r1"), HasSubstr("a.c"));
  EXPECT_THAT(events("overwrote"), IsEmpty());
  EXPECT_THAT(events("changed"), ElementsAre("claude-code a.c"));
}

TEST_F(Look, ItsOwnFilesBecomeItsOwnTracesAgain) {
  edited("s1", "a.c", "one");
  begin_shell("s1", "r1");
  write("a.c", "formatted");
  EXPECT_EQ(end_shell("s1", "r1"), "");
  EXPECT_THAT(events("changed"), IsEmpty());
  const auto seen = locks({"test", ""}).look(site_.realm.root);
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->traces.size(), 1U);
  EXPECT_EQ(seen->traces.front().owner.session, "s1");
  EXPECT_EQ(seen->traces.front().change.content, Files(site_.realm.root).content("a.c"));
}

TEST_F(Look, AFileThatWasOnlyTouchedIsTheSame) {
  edited("s1", "a.c", "one");
  begin_shell("s2", "r1");
  write("a.c", "one");
  EXPECT_EQ(end_shell("s2", "r1"), "");
}

TEST_F(Look, ADeletedFileIsNoticed) {
  edited("s1", "a.c", "one");
  begin_shell("s2", "r1");
  std::filesystem::remove(at("a.c"));
  EXPECT_THAT(end_shell("s2", "r1"), HasSubstr("a.c"));
}

TEST_F(Look, AWriterInTheMiddleOfACallIsNotReported) {
  edited("s1", "a.c", "one");
  ASSERT_EQ(refusal(edit("s1", "a.c", "t2")), "");
  begin_shell("s2", "r1");
  write("a.c", "two");
  EXPECT_EQ(end_shell("s2", "r1"), "");
  EXPECT_THAT(events("changed"), IsEmpty());
}

TEST_F(Look, TheIdOfTheContentIsGits) {
  write("a.c", "hello\n");
  EXPECT_EQ(Files(site_.realm.root).content("a.c"), "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(Files(site_.realm.root).content("none"), "");
}

}  // namespace
}  // namespace lockkeeper::enforce::hook
