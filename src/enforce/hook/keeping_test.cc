// What hooks keep of files, so that it can be recovered.
#include "enforce/hook/keeping.h"

#include <filesystem>

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
