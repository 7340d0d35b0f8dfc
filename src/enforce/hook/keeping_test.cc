// What hooks keep of files, so that it can be recovered.
#include "enforce/hook/keeping.h"

#include <filesystem>
#include <utility>

#include "enforce/hook/hook_testing.h"
#include "snapshot/site/realm_keeper.h"
#include "snapshot/vault.h"

namespace lockkeeper::enforce::hook {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Keep : public Hooks {
 protected:
  void edited(const std::string& session, const std::string& file, const std::string& text) {
    const json made = edit(session, file, "t-" + text);
    ASSERT_EQ(refusal(made), "");
    write(file, text);
    run(Client::kClaude, batch(session, {{made, "ok"}}));
  }
  void begin_shell(const std::string& session, const std::string& id) {
    run(Client::kClaude, shell(session, id));
  }
  void end_shell(const std::string& session, const std::string& id) {
    run(Client::kClaude, batch(session, {{shell(session, id), "done"}}));
  }
  // "before old", "after new s1", "found - ": why, content, writer's session.
  std::vector<std::string> kept() {
    std::vector<std::string> lines;
    const auto settings = realm::load_settings(site_.realm, site_.runtime.env);
    const auto vault = snapshot::Vault::find(snapshot::place_of(site_.realm, *settings));
    EXPECT_TRUE(vault);
    if (!vault || !*vault) return lines;
    EXPECT_TRUE((*vault)->each([&](snapshot::Version&& version) {
      std::string what = "-";
      if (version.kind == snapshot::Kind::kFile) {
        what = (*vault)->content(version).value_or("lost");
      } else if (version.kind == snapshot::Kind::kStash) {
        what = version.target;
      }
      lines.push_back(std::string(why_word(version.why)) + " " + what +
                      (version.writer.known() ? " " + version.writer.session : ""));
      return true;
    }));
    return lines;
  }
};

TEST_F(Keep, G2_WhatWasThereBeforeAnEditAndWhatItWrote) {
  write("a.c", "old");
  edited("s1", "a.c", "new");
  EXPECT_THAT(kept(), ElementsAre("before old", "after new s1"));
  edited("s1", "a.c", "newer");
  EXPECT_THAT(kept(), ElementsAre("before old", "after new s1", "after newer s1"))
      << "what is known is not kept again";
}

// Each look at it takes a while, as on a disk that stands still.
class SlowClock : public Clock {
 public:
  Now now() const override {
    Now now = SystemClock().now();
    late_ms_ += 400;
    now.mono_ms += late_ms_;
    return now;
  }

 private:
  mutable std::int64_t late_ms_ = 0;
};

TEST_F(Keep, G2_NoneOfAFewFilesIsLeftOutWhereTheDiskIsSlow) {
  const std::vector<std::string> files = {"a.c", "b.c", "c.c", "d.c", "e.c"};
  for (const std::string& file : files) edited("s1", file, file);
  begin_shell("s2", "r1");
  for (const std::string& file : files) fs::remove(at(file));
  const SlowClock slow;
  const Clock* const usual = std::exchange(site_.runtime.clock, &slow);
  const Said said = run(Client::kClaude, batch("s2", {{shell("s2", "r1"), "done"}}));
  site_.runtime.clock = usual;
  EXPECT_EQ(said.err, "");
  const std::vector<std::string> all = kept();
  EXPECT_EQ(std::ranges::count(all, "after - s2"), 5) << testing::PrintToString(all);
}

TEST_F(Keep, G2_ANewFileBeganWithNothing) {
  edited("s1", "src/new.c", "text");
  EXPECT_THAT(kept(), ElementsAre("before -", "after text s1"));
}

TEST_F(Keep, G2_AnEditThatIsNeverReportedLeavesWhatWasThere) {
  write("a.c", "old");
  ASSERT_EQ(refusal(edit("s1", "a.c", "t1")), "");
  write("a.c", "ha");  // killed halfway
  EXPECT_THAT(kept(), ElementsAre("before old"));
}

TEST_F(Keep, G2_WhatACommandDestroyedWasKeptAndTheCommandIsKnown) {
  edited("s1", "a.c", "work");
  begin_shell("s2", "r1");
  fs::remove(at("a.c"));
  end_shell("s2", "r1");
  EXPECT_THAT(kept(), ElementsAre("before -", "after work s1", "after - s2"));
}

TEST_F(Keep, G2_WhatAPersonMadeOfAnAgentsFileIsKeptBeforeTheNextCommand) {
  edited("s1", "a.c", "work");
  write("a.c", "a person's");
  begin_shell("s2", "r1");
  EXPECT_THAT(kept(), ElementsAre("before -", "after work s1", "before a person's"));
}

TEST_F(Keep, G2_WhatTheOwnersCommandMadeIsTheOwners) {
  edited("s1", "a.c", "work");
  begin_shell("s1", "r1");
  write("a.c", "formatted");
  end_shell("s1", "r1");
  EXPECT_THAT(kept(), ElementsAre("before -", "after work s1", "after formatted s1"));
}

TEST_F(Keep, IfOthersWereBusyNobodyIsNamed) {
  edited("s1", "a.c", "work");
  begin_shell("s3", "r0");
  begin_shell("s2", "r1");
  write("a.c", "somebody's");
  end_shell("s2", "r1");
  EXPECT_THAT(kept(), ElementsAre("before -", "after work s1", "found somebody's"));
}

TEST_F(Keep, ARefusedEditKeepsNothing) {
  write("lockkeeper.toml", "[hook]\npolicy = \"block\"\n");
  edited("s1", "a.c", "work");
  const auto before = kept();
  EXPECT_NE(refusal(edit("s2", "a.c", "t2")), "");
  EXPECT_EQ(kept(), before);
}

TEST_F(Keep, G2_WhatAPolicyLetsPassIsKeptBefore) {
  for (const char* policy : {"warn", "ask"}) {
    write("lockkeeper.toml", std::string("[hook]\npolicy = \"") + policy + "\"\n");
    const std::string file = std::string(policy) + ".c";
    edited("s1", file, "work");
    write(file, "a person's");
    run(Client::kClaude, edit("s2", file, "t2"));
    EXPECT_EQ(kept().back(), "before a person's") << policy;
  }
}

TEST_F(Keep, TheSettingsCanSwitchItOff) {
  write("lockkeeper.toml", "[snapshots]\nenabled = false\n");
  write("a.c", "old");
  edited("s1", "a.c", "new");
  EXPECT_THAT(kept(), IsEmpty());
  EXPECT_FALSE(fs::exists(site_.realm.store_folder + "/snapshots"));
}

TEST_F(Keep, TroubleIsToldOnceAndRefusesNothing) {
  edited("s1", "first.c", "x");
  fs::remove_all(site_.realm.store_folder + "/snapshots");
  fs::create_symlink("/nowhere", site_.realm.store_folder + "/snapshots");
  EXPECT_THAT(told(edit("s1", "a.c", "t1")), HasSubstr("may not be recoverable"));
  EXPECT_EQ(told(edit("s1", "b.c", "t2")), "");
  EXPECT_EQ(refusal(edit("s1", "c.c", "t3")), "");
}

TEST_F(Keep, G2_WhatTheClientSaysWasThereIsKeptIfNothingElseWas) {
  ASSERT_EQ(refusal(edit("s1", "other.c", "t0")), "");  // there is a table
  write("a.c", "new");
  json payload = after(edit("s1", "a.c", "t1"));
  payload["tool_response"] = {{"filePath", at("a.c")}, {"originalFile", "old"}};
  run(Client::kClaude, payload);
  EXPECT_THAT(kept(), ElementsAre("before -", "before old", "after new s1"));
  run(Client::kClaude, payload);
  EXPECT_EQ(kept().size(), 3U);
}

TEST_F(Keep, G2_AnEditThatIsNeverReportedIsKeptByLaterHooksInItsOwnersName) {
  for (const char* hook : {"Stop", "UserPromptSubmit", "SessionEnd", "shell", "others shell"}) {
    const std::string file = std::string(hook) + ".c";
    const std::string session = "a " + file;
    ASSERT_EQ(refusal(edit(session, file, "t " + file)), "");
    write(file, "work in " + file);
    const std::string_view what = hook;
    if (what == "shell") {
      begin_shell(session, "r1");
    } else if (what == "others shell") {
      begin_shell("b", "r2");
    } else {
      run(Client::kClaude, claude(session, hook));
    }
    EXPECT_THAT(kept().back(), HasSubstr("work in " + file + " " + session));
  }
}

TEST_F(Keep, G2_AFailedEditThatHasWrittenIsKept) {
  write("a.c", "old");
  const json made = edit("s1", "a.c", "t1");
  ASSERT_EQ(refusal(made), "");
  write("a.c", "half");
  run(Client::kClaude, batch("s1", {{made, "<tool_use_error>x</tool_use_error>"}}));
  EXPECT_THAT(kept(), ElementsAre("before old", "after half s1"));
}

TEST_F(Keep, G2_WhatACommandPutOverAnEditInFlightIsNotItsWritersAndBothAreKept) {
  write("a.c", "old");
  const json made = call("s1", "Write", {{"file_path", at("a.c")}, {"content", "work"}}, "t1");
  // It would be refused to replace what it has not read.
  edited("s1", "a.c", "read");
  ASSERT_EQ(refusal(made), "");
  site_.clock.ahead_ms += 10;
  write("a.c", "work");
  begin_shell("s2", "r1");
  site_.clock.ahead_ms += 10;
  write("a.c", "the command's");
  end_shell("s2", "r1");
  EXPECT_THAT(told(batch("s1", {{made, "ok"}})), HasSubstr("is not as your last call wrote it"));
  EXPECT_THAT(kept(),
              ElementsAre("before old", "after read s1", "before work s1", "found the command's"));
}

TEST_F(Keep, G2_AnEditBesideACommandIsItsWriters) {
  write("a.c", "old");
  const json made = edit("s1", "a.c", "t1");
  ASSERT_EQ(refusal(made), "");
  site_.clock.ahead_ms += 10;
  begin_shell("s2", "r1");
  write("a.c", "b, as the call says");
  site_.clock.ahead_ms += 10;
  end_shell("s2", "r1");
  EXPECT_EQ(told(batch("s1", {{made, "ok"}})), "");
  for (const std::string& one : kept()) {
    EXPECT_TRUE(one == "before old" || one.ends_with("as the call says s1")) << one;
  }
}

TEST_F(Keep, G2_WhatTwoEditsAtOnceWroteIsEachOnes) {
  write("lockkeeper.toml", "[hook]\npolicy = \"warn\"\n");
  write("a.c", "old");
  ASSERT_EQ(refusal(edit("s1", "a.c", "t1")), "");
  write("a.c", "first");
  run(Client::kClaude, edit("s2", "a.c", "t2"));
  EXPECT_THAT(kept(), ElementsAre("before old", "before first s1"));
}

TEST_F(Keep, G2_WhatWillSoonBeRemovedIsKeptAgain) {
  edited("s1", "a.c", "work");
  for (int day = 0; day < 5; ++day) {
    site_.clock.ahead_ms += std::int64_t{2} * 24 * 3'600'000;
    edited("s" + std::to_string(10 + day), "other.c", "x" + std::to_string(day));
    run(Client::kClaude, claude("s" + std::to_string(10 + day), "SessionEnd"));
  }
  std::size_t copies = 0;
  for (const std::string& one : kept()) copies += one.ends_with("work s1") ? 1U : 0U;
  EXPECT_GT(copies, 1U);
}

TEST_F(Keep, G2_WhatABatchSaysWasThereIsKept) {
  ASSERT_EQ(refusal(edit("s1", "other.c", "t0")), "");  // there is a table
  write("a.c", "new");
  json payload = batch("s1", {{edit("s1", "a.c", "t1"), "ok"}});
  payload["tool_calls"][0]["tool_response"] = {{"originalFile", "old"}};
  run(Client::kClaude, payload);
  EXPECT_THAT(kept(), ElementsAre("before -", "before old", "after new s1"));
}

TEST_F(Keep, TroubleIsToldBeforeACommandToo) {
  edited("s1", "a.c", "x");
  write("a.c", "changed");
  fs::remove_all(site_.realm.store_folder + "/snapshots");
  fs::create_symlink("/nowhere", site_.realm.store_folder + "/snapshots");
  EXPECT_THAT(told(shell("s2", "r1")), HasSubstr("may not be recoverable"));
}

TEST_F(Keep, AStashIsItsCommands) {
  edited("s1", "a.c", "work");
  begin_shell("s2", "r1");
  const std::string seconds = std::to_string(site_.clock.now().wall_ms / 1000);
  const std::string old_entry =
      std::string(40, '0') + " " + std::string(40, 'a') + " A <a@b> 5 +0000\tWIP long ago\n";
  write(".git/logs/refs/stash", old_entry + std::string(40, 'a') + " " + std::string(40, 'b') +
                                    " A <a@b> " + seconds + " +0000\tWIP on main\n");
  end_shell("s2", "r1");
  EXPECT_THAT(kept(), ElementsAre("before -", "after work s1", "after WIP on main s2"));
}

}  // namespace
}  // namespace lockkeeper::enforce::hook
