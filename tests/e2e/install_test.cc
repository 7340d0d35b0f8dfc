// `install`, `init`, `deinit` and what `doctor` says of the coding agents, with a home, a
// repository and coding agents of their own. The hook is a stand-in that asks the real lock table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <map>

#include "support/stage.h"

namespace lockkeeper::stage {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kCopy = "home/.local/share/lockkeeper/bin/lockkeeper";

class Install : public testing::Test {
 protected:
  Install() {
    fs::create_directories(path("home"));
    fs::create_directories(path("bin"));
    // Coding agents that this machine really has are not seen.
    for (const char* const tool : {"cat", "git", "grep", "head", "sh", "sleep", "touch"}) {
      for (const fs::path folder : {"/usr/local/bin", "/usr/bin", "/bin"}) {
        if (!fs::exists(folder / tool) || fs::exists(path("tools/") + tool)) continue;
        fs::create_directories(path("tools"));
        fs::create_symlink(folder / tool, path("tools/") + tool);
      }
    }
    stage_.env["PATH"] = path("bin") + ":" + path("tools");
    stage_.git("repo", {"commit", "-q", "--allow-empty", "-m", "first"});
    client("claude");
    client("codex");
  }

  std::string path(const std::string& name) const { return stage_.path(name); }
  std::string text(const std::string& name) const { return read_text(path(name)); }

  void script(const std::string& name, const std::string& body) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    write_text(path(name), "#!/bin/sh\n" + body);
    fs::permissions(path(name), fs::perms::owner_all);
  }
  void client(const std::string& name) const { script("bin/" + name, "exit 1\n"); }

  // In place of the copy that hooks start; `hook` judges $file, which the payload names.
  void stand_in(const std::string& hook) const {
    script(
        kCopy,
        "case $1 in\n"
        "--version) echo lockkeeper 99.0.0; exit ;;\n"
        "mcp) read -r line; echo '{\"id\":1,\"result\":{\"serverInfo\":{\"name\":\"x\"}}}'; exit "
        ";;\n"
        "esac\n"
        "payload=$(cat)\n"
        "case $payload in *lockkeeper-proof-*Write*|*apply_patch*) ;; *) exit 0 ;; esac\n"
        "file=$(printf %s \"$payload\" | grep -o '[.]lockkeeper-proof-[0-9a-f]*' | head -n 1)\n" +
            hook);
  }
  // As the real one: refuses what is held, and says who holds it.
  std::string judging() const {
    return std::string("if ") + Stage::program() +
           " --agent other --session s check \"$file\" >/dev/null 2>&1; then exit 0; fi\n"
           "echo \"$file is held by somebody\" >&2\nexit 2\n";
  }

  // Every file and folder of the user and the repository, but for git's own, the program, and what
  // remembers that there is a store.
  std::map<std::string, std::string> everything() const {
    std::map<std::string, std::string> found;
    for (const char* const top : {"home", "state", "repo"}) {
      for (auto entry = fs::recursive_directory_iterator(path(top));
           entry != fs::recursive_directory_iterator(); ++entry) {
        const std::string name = fs::relative(entry->path(), path(""));
        const bool gits = name.starts_with("repo/.git/") && !name.starts_with("repo/.git/info");
        const bool stores = name == "state/lockkeeper/realms" || name.ends_with("/epochs");
        if (gits || stores || name.ends_with("/share/lockkeeper")) {
          entry.disable_recursion_pending();
          continue;
        }
        if (name == "state/lockkeeper") continue;
        found[name] = entry->is_regular_file() ? read_text(entry->path()) : "(folder)";
      }
    }
    return found;
  }

  Json clients_of_doctor(int status) {
    const Answer answer = stage_.json("", {"doctor"});
    EXPECT_EQ(answer.status, status) << answer.all();
    return answer.json()["clients"];
  }

  Stage stage_;
};

TEST_F(Install, ShowsTheDifferenceAndDoesNothingTheSecondTime) {
  const Answer first = stage_.as("", {"install", "claude"});
  EXPECT_EQ(first.status, 0) << first.all();
  EXPECT_THAT(first.out,
              AllOf(HasSubstr("+++ "), HasSubstr("settings.local.json"),
                    HasSubstr("installed for Claude Code, in this repository, for you")));
  EXPECT_TRUE(exists(path(kCopy)));
  EXPECT_THAT(text("repo/.git/info/exclude"), HasSubstr("/.claude/settings.local.json\n"));
  const auto after = everything();
  const Answer second = stage_.as("", {"install", "claude"});
  EXPECT_EQ(second.status, 0) << second.all();
  EXPECT_THAT(second.out, HasSubstr("nothing to do for Claude Code"));
  EXPECT_EQ(everything(), after);
}

TEST_F(Install, JsonSaysWhatWasDone) {
  const Json first = stage_.expect(0, "", {"install", "codex"}).json();
  EXPECT_EQ(first["clients"], Json({"codex"}));
  EXPECT_EQ(first["scope"], "project");
  EXPECT_EQ(first["program"]["path"], path(kCopy));
  EXPECT_EQ(first["program"]["action"], "copied");
  EXPECT_EQ(first["dry_run"], false);
  EXPECT_EQ(first["uninstall"], false);
  EXPECT_EQ(first["policy"], nullptr);
  EXPECT_GT(first["changes"].size(), 1U);
  for (const Json& change : first["changes"]) {
    EXPECT_TRUE(change["file"].is_string() && change["diff"].is_string()) << change;
  }
  EXPECT_EQ(first["changes"][0]["action"], "create");
  EXPECT_THAT(first["notes"].dump(), HasSubstr("/hooks")) << "the trust step";
  const Json again = stage_.expect(0, "", {"install", "codex"}).json();
  EXPECT_EQ(again["changes"], Json::array());
  EXPECT_EQ(again["program"]["action"], "up_to_date");
  const Json out = stage_.expect(0, "", {"install", "codex", "--uninstall"}).json();
  EXPECT_EQ(out["uninstall"], true);
  EXPECT_EQ(out["changes"][0]["action"], "delete");
}

TEST_F(Install, ADryRunChangesNothing) {
  const auto before = everything();
  for (const char* const scope : {"--user", "--project", "--shared"}) {
    const Answer told = stage_.as("", {"install", "all", scope, "--policy", "warn", "--dry-run"});
    EXPECT_EQ(told.status, 0) << told.all();
    EXPECT_THAT(told.out, AllOf(HasSubstr("+++ "), HasSubstr("nothing was changed")));
    EXPECT_EQ(everything(), before);
    EXPECT_FALSE(exists(path(kCopy)));
    EXPECT_FALSE(exists(stage_.store()));
  }
}

TEST_F(Install, UninstallLeavesEveryByteAsItWas) {
  stage_.file(".claude/settings.local.json", "{\n  // mine\n  \"model\": \"x\"\n}\n");
  write_text(path("home/.claude.json"), "{\"numStartups\":3}");
  stage_.file("lockkeeper.toml", "# mine\n");
  const auto before = everything();
  for (const char* const scope : {"--user", "--project", "--shared"}) {
    stage_.expect(0, "", {"install", "all", scope, "--policy", "warn"});
    EXPECT_NE(everything(), before) << scope;
    stage_.expect(0, "", {"install", "all", scope, "--uninstall"});
    EXPECT_EQ(everything(), before) << scope;
    EXPECT_FALSE(exists(path(kCopy))) << scope;
    EXPECT_FALSE(exists(stage_.store())) << scope;
  }
}

TEST_F(Install, TheProgramStaysAsLongAsAHookStartsIt) {
  stage_.expect(0, "", {"install", "claude"});
  stage_.expect(0, "", {"install", "codex", "--user"});
  stage_.expect(0, "", {"install", "claude", "--uninstall"});
  EXPECT_TRUE(exists(path(kCopy)));
  stage_.expect(0, "", {"install", "codex", "--user", "--uninstall"});
  EXPECT_FALSE(exists(path(kCopy)));
}

TEST_F(Install, SharedFilesNameNoMachineAndAWarningSaysThatAllAreArmed) {
  const Answer told = stage_.as("", {"install", "claude", "--shared"});
  EXPECT_EQ(told.status, 0) << told.all();
  EXPECT_THAT(told.err, HasSubstr("every checkout of this repository is armed"));
  EXPECT_THAT(text("repo/.claude/settings.json"),
              AllOf(HasSubstr("lockkeeper hook claude"), Not(HasSubstr(path("home")))));
  EXPECT_FALSE(exists(path(kCopy)));
  stage_.git("repo", {"add", "-A"});
}

TEST_F(Install, AllAreThoseOfThisMachine) {
  EXPECT_EQ(stage_.expect(0, "", {"install", "all", "--dry-run"}).json()["clients"],
            Json({"claude", "codex"}));
  stage_.env["PATH"] = path("tools");
  const Answer none = stage_.expect(66, "", {"install", "all"});
  EXPECT_THAT(none.json()["error"]["message"].get<std::string>(), HasSubstr("no coding agent"));
  fs::create_directories(path("home/.gemini"));
  EXPECT_EQ(stage_.expect(0, "", {"install", "all", "--dry-run"}).json()["clients"],
            Json({"gemini"}));
}

TEST_F(Install, ThePolicyGoesIntoTheFileOfItsScope) {
  write_text(path("repo/lockkeeper.toml"), "# ours\n[lease]\ndefault = \"2h\" # why\n");
  stage_.expect(0, "", {"install", "claude", "--shared", "--policy", "block"});
  EXPECT_EQ(text("repo/lockkeeper.toml"),
            "# ours\n[lease]\ndefault = \"2h\" # why\n\n[hook]\npolicy = \"block\"\n");
  stage_.expect(0, "", {"install", "claude", "--shared", "--policy", "warn"});
  EXPECT_THAT(text("repo/lockkeeper.toml"), HasSubstr("[hook]\npolicy = \"warn\"\n"));
  stage_.expect(0, "", {"install", "codex", "--policy", "ask"});
  EXPECT_EQ(text("repo/.git/lockkeeper/config.toml"), "[hook]\npolicy = \"ask\"\n");
  stage_.expect(0, "", {"install", "claude", "codex", "--user", "--policy", "off"});
  EXPECT_EQ(text("home/.config/lockkeeper/config.toml"), "[hook]\npolicy = \"off\"\n");
  stage_.expect(0, "", {"install", "claude", "--user", "--uninstall"});
  EXPECT_EQ(text("home/.config/lockkeeper/config.toml"), "[hook]\npolicy = \"off\"\n")
      << "Codex still needs it";
  stage_.expect(0, "", {"install", "codex", "--user", "--uninstall"});
  EXPECT_FALSE(exists(path("home/.config/lockkeeper")));
}

TEST_F(Install, WhatMakesNoSenseChangesNothing) {
  const auto before = everything();
  const std::vector<Words> all = {{"install"},
                                  {"install", "emacs"},
                                  {"install", "all", "claude"},
                                  {"install", "claude", "--user", "--shared"},
                                  {"install", "claude", "--policy", "maybe"},
                                  {"install", "claude", "--policy", "warn", "--uninstall"},
                                  {"init", "--yes", "--policy", "maybe"},
                                  {"init", "--yes", "--agents-md", "--no-agents-md"}};
  for (const Words& words : all) {
    const Answer answer = stage_.expect(64, "", words);
    EXPECT_FALSE(answer.json()["error"]["hint"].get<std::string>().empty()) << answer.out;
  }
  const Answer unasked = stage_.expect(64, "", {"init"});
  EXPECT_THAT(unasked.json()["error"]["hint"].get<std::string>(), HasSubstr("init --yes"));
  EXPECT_EQ(everything(), before);
}

TEST_F(Install, OutsideOfRepositoriesOnlyTheUserCanBeMeant) {
  fs::remove_all(path("repo/.git"));
  const Answer refused = stage_.expect(64, "", {"install", "claude"});
  EXPECT_THAT(refused.json()["error"]["hint"].get<std::string>(), HasSubstr("--user"));
  stage_.expect(64, "", {"init", "--yes"});
  stage_.expect(64, "", {"deinit"});
  stage_.expect(0, "", {"install", "claude", "--user"});
  EXPECT_TRUE(exists(path("home/.claude/settings.json")));
}

TEST_F(Install, AHookInTwoScopesIsAWarning) {
  stage_.expect(0, "", {"install", "codex", "--user"});
  const Answer told = stage_.as("", {"install", "codex"});
  EXPECT_EQ(told.status, 0) << told.all();
  EXPECT_THAT(told.err, HasSubstr("lockkeeper install codex --user --uninstall"));
}

TEST_F(Install, InitProvesItselfAndDeinitUndoesItAll) {
  stand_in(judging());
  stage_.file("AGENTS.md", "# Rules\n");
  const auto before = everything();
  const Answer done = stage_.json("", {"init", "--yes", "--agents-md"});
  const Json json = done.json();
  EXPECT_EQ(json["clients"], Json({"claude", "codex"}));
  EXPECT_EQ(json["layouts"], Json::array());
  for (const Json& client : json["proof"]["clients"]) {
    EXPECT_EQ(client["proof"]["verdict"], "refused") << client;
    EXPECT_THAT(client["proof"]["reason"].get<std::string>(), HasSubstr("is held by somebody"));
    EXPECT_EQ(client["fails_closed"], true) << client;
  }
  EXPECT_EQ(json["proof"]["clients"].size(), 2U) << done.out;
  EXPECT_EQ(done.status, 0) << done.all();
  EXPECT_THAT(text("repo/lockkeeper.toml"), HasSubstr("# policy = \"wait\""));
  EXPECT_THAT(text("repo/AGENTS.md"), HasSubstr("# Rules\n\n<!-- lockkeeper: begin -->\n"));
  EXPECT_THAT(text("repo/CLAUDE.md"), HasSubstr("lockkeeper list --tree"));
  EXPECT_EQ(stage_.list()["leases"], Json::array()) << "the proof is over";

  const auto after = everything();
  const Answer again = stage_.as("", {"init", "--yes", "--agents-md"});
  EXPECT_EQ(again.status, 0) << again.all();
  EXPECT_THAT(again.out, AllOf(HasSubstr("nothing to do"), HasSubstr("lockkeeper deinit")));
  EXPECT_EQ(everything(), after);

  const Answer dry = stage_.as("", {"deinit", "--dry-run"});
  EXPECT_EQ(dry.status, 0) << dry.all();
  EXPECT_THAT(dry.out, AllOf(HasSubstr("--- "), HasSubstr("nothing was changed"),
                             HasSubstr("removes " + path("repo/lockkeeper.toml")),
                             Not(HasSubstr("/dev/null"))))
      << "of a file that goes, only its name";
  EXPECT_EQ(everything(), after);
  stage_.expect(0, "", {"deinit"});
  EXPECT_EQ(everything(), before);
  EXPECT_THAT(stage_.as("", {"deinit"}).out, HasSubstr("nothing to do"));
}

TEST_F(Install, InitSaysWhatAgentsWillDo) {
  stand_in(judging());
  const Answer left = stage_.as("", {"init", "--yes"});
  EXPECT_EQ(left.status, 0) << left.all();
  EXPECT_THAT(left.out, AllOf(HasSubstr("to do   codex"), HasSubstr("Installed. Agents that are"),
                              HasSubstr("All others that start from now on respect the locks."),
                              Not(HasSubstr("Done."))));
  fs::remove(path("bin/codex"));
  stage_.expect(0, "", {"deinit"});
  stand_in(judging());
  EXPECT_THAT(stage_.as("", {"init", "--yes"}).out,
              HasSubstr("Done. Agents that start from now on respect the locks."));
  EXPECT_THAT(stage_.as("", {"init", "--yes", "--policy", "off"}).out,
              HasSubstr("No hook does anything as long as [hook] policy is \"off\"."));
  EXPECT_THAT(stage_.as("", {"init", "--yes", "--policy", "warn"}).out,
              AllOf(HasSubstr("Nothing is refused: [hook] policy is \"warn\"."),
                    Not(HasSubstr("respect the locks"))));
}

TEST_F(Install, WhatAllWorktreesShareGoesWithTheLastOfThem) {
  stand_in(judging());
  fs::remove(path("bin/codex"));
  stage_.git("repo", {"worktree", "add", "-q", path("other")});
  const auto there = [&](const Words& words) {
    Launch launch = stage_.launch("", words);
    launch.folder = path("other");
    return stage_.finish(std::move(launch));
  };
  const auto shared = [&] {
    return text("repo/.git/info/exclude") + text("repo/.git/lockkeeper/config.toml");
  };
  const auto before = everything();
  stage_.expect(0, "", {"init", "--yes", "--policy", "warn"});
  const std::string alone = shared();
  EXPECT_THAT(alone, AllOf(HasSubstr("/.claude/settings.local.json\n"), HasSubstr("warn")));
  EXPECT_EQ(there({"init", "--yes"}).status, 0);
  const Answer left = there({"deinit"});
  EXPECT_EQ(left.status, 0) << left.all();
  EXPECT_THAT(
      left.err,
      HasSubstr("what all worktrees share stays, because hooks are installed in " + stage_.repo()));
  EXPECT_EQ(shared(), alone);
  EXPECT_EQ(there({"init", "--yes"}).status, 0);
  EXPECT_EQ(there({"install", "claude", "--uninstall"}).status, 0);
  EXPECT_EQ(shared(), alone);
  EXPECT_EQ(there({"deinit"}).status, 0);
  stage_.expect(0, "", {"deinit"});
  EXPECT_EQ(everything(), before);
  EXPECT_FALSE(exists(path("repo/.git/lockkeeper/config.toml")));
}

TEST_F(Install, HooksThatDoNotReachOtherWorktreesAreNamed) {
  stand_in(judging());
  fs::remove(path("bin/codex"));
  stage_.git("repo", {"worktree", "add", "-q", path("other")});
  const auto without = [&] {
    return stage_.json("", {"doctor"}).json().value("worktrees_without_hooks", Json());
  };
  EXPECT_EQ(without(), Json()) << "there are none here either";
  EXPECT_THAT(stage_.as("", {"init", "--yes"}).out,
              HasSubstr("the hooks of this worktree do not reach " + path("other")));
  EXPECT_EQ(without(), Json({path("other")}));
  Launch launch = stage_.launch("", {"init", "--yes"});
  launch.folder = path("other");
  EXPECT_EQ(stage_.finish(std::move(launch)).status, 0);
  EXPECT_EQ(without(), Json());
}

TEST_F(Install, AChangeOfThePolicyAloneIsOneForAllAgents) {
  stage_.expect(0, "", {"install", "claude", "codex"});
  const Answer told = stage_.as("", {"install", "codex", "--policy", "ask"});
  EXPECT_EQ(told.status, 0) << told.all();
  EXPECT_THAT(told.out, AllOf(HasSubstr("The policy is \"ask\" now, for all agents in this "
                                        "repository, at once."),
                              Not(HasSubstr("installed for")), Not(HasSubstr("start them again"))));
  EXPECT_EQ(told.err, "") << "nothing must be trusted again";
}

TEST_F(Install, ALockkeeperTomlThatWasChangedStaysAndThatIsSaid) {
  stand_in(judging());
  stage_.expect(0, "", {"init", "--yes"});
  write_text(path("repo/lockkeeper.toml"), "[lease]\ndefault = \"2h\"\n");
  EXPECT_THAT(stage_.as("", {"deinit"}).err,
              HasSubstr("lockkeeper.toml has changed since it was created; it stays"));
  EXPECT_TRUE(exists(path("repo/lockkeeper.toml")));
  EXPECT_THAT(stage_.as("", {"deinit"}).err, Not(HasSubstr("lockkeeper.toml"))) << "once";
}

TEST_F(Install, WhereNothingCanBeWrittenNothingIsShownOrChanged) {
  fs::remove_all(path("home/.local"));
  write_text(path("home/.local"), "not a folder");
  const auto before = everything();
  for (const Words& words : {Words{"init", "--yes"}, Words{"install", "claude", "--user"}}) {
    const Answer refused = stage_.as("", words);
    EXPECT_EQ(refused.status, 1) << refused.all();
    EXPECT_THAT(refused.out, Not(HasSubstr("creates")));
    EXPECT_THAT(refused.err,
                AllOf(HasSubstr(path("home/.local") + ": Not a directory; nothing was changed"),
                      HasSubstr("hint: make it writable, or set XDG_")));
    EXPECT_EQ(everything(), before);
  }
}

TEST_F(Install, InitJoinsTheLockFoldersOfOtherToolsAndDeinitLeavesThem) {
  stand_in(judging());
  fs::create_directories(path("repo/spec/.locks/tasks"));
  const auto layouts = [&] { return stage_.expect(0, "", {"layout", "list"}).json()["layouts"]; };
  const Json done = stage_.expect(0, "", {"init", "--yes"}).json();
  ASSERT_EQ(done["layouts"].size(), 1U);
  ASSERT_EQ(layouts().size(), 1U);
  EXPECT_EQ(layouts()[0]["id"], done["layouts"][0]);
  EXPECT_EQ(stage_.expect(0, "", {"init", "--yes"}).json()["layouts"], Json::array());
  EXPECT_EQ(stage_.expect(0, "", {"deinit", "--dry-run"}).json()["layouts"], done["layouts"]);
  ASSERT_EQ(layouts().size(), 1U);
  stage_.expect(0, "", {"deinit"});
  EXPECT_EQ(layouts(), Json::array());
  EXPECT_THAT(stage_.as("", {"deinit"}).out, HasSubstr("nothing to do"));
}

TEST_F(Install, InitWithYesLeavesTheTeamsPagesAlone) {
  stand_in(judging());
  stage_.expect(0, "", {"init", "--yes"});
  EXPECT_FALSE(exists(path("repo/AGENTS.md")) || exists(path("repo/CLAUDE.md")));
  EXPECT_TRUE(exists(path("repo/lockkeeper.toml")));
}

TEST_F(Install, InitAsksAtATerminal) {
  stand_in(judging());
  const auto before = everything();
  const auto answered = [&](const std::string& first, const std::string& second) {
    Launch launch = stage_.launch("", {"init"});
    launch.terminal = true;
    launch.own_session = true;
    Process init(std::move(launch));
    EXPECT_TRUE(eventually([&] { return init.out().find("[y/N]") != std::string::npos; }));
    init.type(first);
    EXPECT_TRUE(eventually([&] { return init.out().find("[Y/n]") != std::string::npos; }));
    init.type(second);
    const int status = init.wait();
    return std::pair(status, init.out());
  };
  EXPECT_EQ(answered("n\n", "n\n").first, 1);
  EXPECT_THAT(answered("n\n", "\x04").second, HasSubstr("[Y/n] \r\nlockkeeper: nothing was"));
  EXPECT_EQ(everything(), before);
  const auto [status, shown] = answered("y\n", "\n");
  EXPECT_EQ(status, 0) << shown;
  EXPECT_THAT(shown, HasSubstr("lockkeeper list --tree"));
  EXPECT_THAT(text("repo/AGENTS.md"), HasSubstr("<!-- lockkeeper: end -->"));
}

TEST_F(Install, InitLeavesAloneWhoHasAHookAlready) {
  stand_in(judging());
  stage_.expect(0, "", {"install", "codex", "--user"});
  const Answer done = stage_.expect(0, "", {"init", "--yes"});
  EXPECT_EQ(done.json()["clients"], Json({"claude"}));
  EXPECT_FALSE(exists(path("repo/.codex")));
}

TEST_F(Install, DoctorShowsARealRefusalAndLetsGo) {
  stand_in(judging());
  stage_.expect(0, "", {"install", "claude"});
  const Answer told = stage_.as("", {"doctor"});
  EXPECT_EQ(told.status, 0) << told.all();
  EXPECT_THAT(told.out, AllOf(HasSubstr("an edit of a held file was refused ("),
                              HasSubstr("the MCP server answers (")));
  const Json client = clients_of_doctor(0)[0];
  EXPECT_EQ(client["client"], "claude");
  EXPECT_EQ(client["scope"], "project");
  EXPECT_EQ(client["hook"], "present");
  EXPECT_EQ(client["mcp"]["answers"], true);
  EXPECT_TRUE(client["proof"]["took_ms"].is_number()) << client;
  EXPECT_EQ(stage_.list()["leases"], Json::array());
  for (const auto& entry : fs::directory_iterator(stage_.repo())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".lockkeeper-proof")) << entry;
  }
}

TEST_F(Install, DoctorSaysWhyThereIsNoRefusal) {
  stand_in("exit 0\n");
  stage_.expect(0, "", {"install", "claude"});
  EXPECT_EQ(clients_of_doctor(1)[0]["proof"]["verdict"], "passed");
  EXPECT_THAT(stage_.as("", {"doctor"}).out, HasSubstr("let an edit of a held file pass"));
  stand_in("echo 'the store cannot be read' >&2; exit 2\n");
  EXPECT_EQ(clients_of_doctor(1)[0]["proof"]["verdict"], "refused");
  EXPECT_THAT(stage_.as("", {"doctor"}).out, HasSubstr("but not because the file is held"));
  stand_in("kill -9 $$\n");
  EXPECT_EQ(clients_of_doctor(1)[0]["proof"]["verdict"], "failed");
  fs::remove(path(kCopy));
  EXPECT_THAT(stage_.as("", {"doctor"}).out,
              AllOf(HasSubstr("is not a program"),
                    HasSubstr("hint: install it again: lockkeeper install claude --project"),
                    Not(HasSubstr("try its command"))));
  EXPECT_EQ(stage_.list()["leases"], Json::array());
}

TEST_F(Install, DoctorNamesWhatTheUserMustTrustAndWhoHasNoHook) {
  stand_in(judging());
  stage_.expect(0, "", {"install", "codex"});
  const Answer told = stage_.as("", {"doctor"});
  EXPECT_EQ(told.status, 77) << told.all();
  EXPECT_THAT(told.out, AllOf(HasSubstr("to do   codex (project): Codex does not trust the hook"),
                              HasSubstr("note    claude: Claude Code is here"),
                              HasSubstr("an edit of a held file was refused")));
}

TEST_F(Install, DoctorLetsGoIfItIsInterrupted) {
  const std::string begun = path("begun");
  stand_in("touch " + begun + "; exec sleep 600\n");
  stage_.expect(0, "", {"install", "claude"});
  Process doctor = stage_.start("", {"doctor"});
  EXPECT_TRUE(eventually([&] { return exists(begun); }));
  EXPECT_EQ(stage_.list()["leases"].size(), 1U);
  EXPECT_EQ(stage_.list()["leases"][0]["agent"], "lockkeeper-doctor");
  doctor.signal(SIGINT);
  EXPECT_EQ(doctor.wait(), 130) << doctor.err();
  EXPECT_EQ(stage_.list()["leases"], Json::array());
}

TEST_F(Install, TheRealMcpServerAnswersTheDoctor) {
  stage_.expect(0, "", {"install", "claude"});
  const Json client = stage_.json("", {"doctor"}).json()["clients"][0];
  EXPECT_EQ(client["mcp"]["answers"], true) << client;
  write_text(path("home/.claude.json"),
             "{\"projects\":{\"" + stage_.repo() +
                 "\":{\"mcpServers\":{\"lockkeeper\":{\"command\":\"/bin/lockkeeper\",\"args\":["
                 "\"mcp\"]}}}}}");
  const Json broken = stage_.json("", {"doctor"}).json()["clients"][0];
  EXPECT_EQ(broken["mcp"]["answers"], false) << broken;
}

}  // namespace
}  // namespace lockkeeper::stage
